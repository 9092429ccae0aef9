package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

const (
	// callTimeout limits a REST call, without the time for its files.
	callTimeout = 20 * time.Second
	// maxAnswer is the maximum size of a response, in bytes.
	maxAnswer = 8 << 20
)

// rest calls Discord's REST API with the library's session. It never waits: a rate-limited call returns the time to wait,
// and the caller decides.
type rest struct {
	session   *discordgo.Session
	token     string
	transport *transport
	limits    *limits
}

// newREST returns a client of Discord, or of the test server if there is one.
func newREST(token, endpoint string) (*rest, error) {
	session, err := discordgo.New("Bot " + token)
	if err != nil {
		return nil, err
	}
	session.ShouldRetryOnRateLimit = false
	session.MaxRestRetries = 0
	session.LogLevel = -1 // it also returns what it logs
	base, _ := http.DefaultTransport.(*http.Transport)
	to := &transport{base: base.Clone()}
	if endpoint != "" {
		to.base.Proxy = nil
		to.host = strings.TrimPrefix(endpoint, "http://")
	}
	return &rest{session: session, token: token, transport: to, limits: newLimits()}, nil
}

func (r *rest) close() { r.transport.base.CloseIdleConnections() }

// call sends body as JSON and decodes the response into result; both may be nil. Its error is a [*callError]. The path is
// relative to the API's version.
func (r *rest) call(ctx context.Context, what, method, path string, body, result any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return newCallError(what, http.StatusBadRequest, "the request cannot be encoded")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	x := &exchange{to: r.transport, limits: r.limits, route: routeOf(what, path)}
	return r.do(ctx, x, what, method, path, "application/json", raw, result)
}

// upload is call with a form of files as its body.
func (r *rest) upload(ctx context.Context, what, path string, form *upload.Form, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+upload.Time(form.Length))
	defer cancel()
	x := &exchange{to: r.transport, limits: r.limits, route: routeOf(what, path), form: form}
	err := r.do(ctx, x, what, http.MethodPost, path, form.ContentType, []byte{}, result)
	if e, ok := errors.AsType[*callError](err); ok {
		e.Files = true
		if cause := form.Err(); cause != nil && e.Status == 0 && e.Ended == nil {
			return r.unread(what, cause) // Discord received an incomplete request
		}
	}
	return err
}

func (r *rest) do(ctx context.Context, x *exchange, what, method, path, contentType string, raw []byte, result any) error {
	if wait := r.limits.wait(x.route); wait > 0 {
		e := newCallError(what, http.StatusTooManyRequests, "Discord asked to wait")
		e.RetryAfter = wait
		return e
	}
	client := &http.Client{Transport: x, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	// The library's own rate limiter sleeps with a lock held, and no context ends that.
	bucket := discordgo.NewRatelimiter().LockBucket(path)
	answer, err := r.session.RequestWithLockedBucket(method, discordgo.EndpointAPI+path, contentType, raw, bucket, 0,
		discordgo.WithClient(client), discordgo.WithContext(ctx))
	if err != nil {
		return r.failed(ctx, what, x, err)
	}
	if result != nil && json.Unmarshal(answer, result) != nil {
		return newCallError(what, x.status, "the response cannot be decoded")
	}
	return nil
}

// failed converts an error, without text that could be secret.
func (r *rest) failed(ctx context.Context, what string, x *exchange, err error) *callError {
	e := newCallError(what, x.status, http.StatusText(x.status))
	e.Sent = x.progress.Sent()
	if x.status == 0 {
		e.Ended = ctx.Err()
		e.Message = r.clean(network.WithoutAddress(err).Error()) // the address of a response to an interaction has a token
		return e
	}
	if x.status == http.StatusTooManyRequests {
		e.Message, e.RetryAfter = "too many requests", network.Seconds(x.header.Get("Retry-After"))
		limited, own := errors.AsType[*discordgo.RateLimitError](err)
		if own && limited.RetryAfter > 0 {
			e.RetryAfter = limited.RetryAfter // the header has whole seconds only
		}
		// A response that is not Discord's own JSON is from the proxy before it, which blocks all routes.
		r.limits.refused(x.route, !own || x.header.Get("X-RateLimit-Global") == "true", e.RetryAfter)
	}
	if refusal, ok := errors.AsType[*discordgo.RESTError](err); ok {
		if refusal.Message != nil {
			e.code = refusal.Message.Code
			if refusal.Message.Message != "" {
				e.Message = r.clean(refusal.Message.Message)
			}
		}
		e.details = string(refusal.ResponseBody)
	}
	return e
}

func (r *rest) clean(text string) string { return strings.ReplaceAll(text, r.token, "<token>") }

// transport sends requests to Discord, or to the test server. It refuses other hosts.
type transport struct {
	base *http.Transport
	host string // of the test server; empty: Discord
}

// hosts are the hosts of the API and of people's files.
var hosts = map[string]bool{"discord.com": true, "cdn.discordapp.com": true, "media.discordapp.net": true}

// RoundTrip implements http.RoundTripper. A test server replaces all of Discord's hosts, and may have further ones on this
// machine, as for files.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	discord := request.URL.Scheme == "https" && hosts[request.URL.Host]
	test := t.host != "" && request.URL.Scheme == "http" && loopback(request.URL.Hostname())
	if !discord && !test {
		return nil, errors.New("this is not a host of Discord")
	}
	if discord && t.host != "" {
		request = request.Clone(request.Context())
		request.URL.Scheme, request.URL.Host = "http", t.host
	}
	return t.base.RoundTrip(request)
}

// exchange records how far a request got, and streams its files: the library needs bodies as a whole.
type exchange struct {
	to     *transport
	limits *limits
	route  string
	form   *upload.Form // nil: the library's body
	status int
	header http.Header

	progress network.Progress
}

// RoundTrip implements http.RoundTripper.
func (x *exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	request = request.Clone(x.progress.Context(request.Context()))
	if x.form != nil {
		request.Body, request.ContentLength = x.form, x.form.Length
	}
	response, err := x.to.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	x.status, x.header = response.StatusCode, response.Header.Clone()
	x.limits.learn(x.route, x.header)
	// The library would otherwise sleep according to these rate limit headers.
	for _, name := range []string{
		"X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Global",
		"X-RateLimit-Reset-After", "Retry-After",
	} {
		response.Header.Del(name)
	}
	response.Body = network.Bound(response.Body, maxAnswer, errors.New("the response is too long"))
	return response, nil
}
