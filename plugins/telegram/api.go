package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/upload"
)

const (
	callTimeout = time.Minute // of a call that is no poll, but for the bytes of its files
	maxAnswer   = 16 << 20    // bytes; 100 updates are far below
	maxMends    = 3
)

// api calls the Bot API as one bot. Of the library it uses only what neither logs nor starts a goroutine. None of its
// errors holds the token.
type api struct {
	token    string
	base     string // the server's address, without a slash at its end
	endpoint string // a format of the library: token and method
	client   *http.Client
	redactor redactor
	chats    *chats
}

func newAPI(token, endpoint string) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A connection that died in a laptop's sleep is found by a ping, not by the next long poll's end.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	base := strings.TrimRight(endpoint, "/")
	return &api{
		token:    token,
		base:     base,
		endpoint: base + "/bot%s/%s",
		client: &http.Client{
			Transport: transport,
			// A redirect would take the token to another server, which no Bot API server asks for.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		redactor: newRedactor(token),
		chats:    newChats(),
	}
}

func (a *api) close() { a.client.CloseIdleConnections() }

// call makes one request and returns its result. Its error is a [*callError].
func (a *api) call(ctx context.Context, method string, params tgbotapi.Params) (json.RawMessage, error) {
	response, err := a.request(ctx, method, params)
	if err != nil {
		return nil, err
	}
	return response.Result, nil
}

func (a *api) request(ctx context.Context, method string, params tgbotapi.Params) (*tgbotapi.APIResponse, error) {
	e := &exchange{ctx: ctx, client: a.client}
	bot := tgbotapi.BotAPI{Token: a.token, Client: e}
	bot.SetAPIEndpoint(a.endpoint)
	response, err := bot.MakeRequest(method, params)
	if err != nil {
		return nil, a.failed(method, e, err)
	}
	return response, nil
}

// callChat calls a method for a chat, with files if there are any, and reads its result. What Telegram refuses for
// something that can be mended is mended and tried again; that is safe, for what was refused was not done.
func (a *api) callChat(ctx context.Context, method string, params tgbotapi.Params, result any, files *enclosed) error {
	timeout := callTimeout
	if files != nil {
		timeout += upload.Time(files.bytes)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for range maxMends {
		id := a.chats.current(params["chat_id"])
		params.AddNonEmpty("chat_id", id) // The menu of commands is no chat's.
		if wait := a.chats.patience(id, method); wait > 0 {
			return &callError{method: method, code: http.StatusTooManyRequests, description: "Telegram asked to wait", retryAfter: wait}
		}
		raw, err := a.try(ctx, method, params, files)
		if err == nil {
			return a.read(method, raw, result)
		}
		if !a.mend(method, params, err) {
			return err
		}
	}
	return &callError{method: method, description: "refused again after it was mended"}
}

func (a *api) try(ctx context.Context, method string, params tgbotapi.Params, files *enclosed) (json.RawMessage, error) {
	if files == nil {
		return a.call(ctx, method, params)
	}
	return a.upload(ctx, method, params, files)
}

func (a *api) read(method string, raw json.RawMessage, result any) error {
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return &callError{method: method, description: a.redactor.clean("unreadable result: " + err.Error()), sent: true}
	}
	return nil
}

// mend notes what a refusal says of the chat, and changes params so that the call may succeed, if it can.
func (a *api) mend(method string, params tgbotapi.Params, err error) bool {
	refused, ok := errors.AsType[*callError](err)
	if !ok {
		return false
	}
	switch {
	case refused.reason() == chat.RateLimited:
		a.chats.limited(params["chat_id"], method, refused.retryAfter)
		return false
	case refused.migratedTo != 0:
		a.chats.move(params["chat_id"], strconv.FormatInt(refused.migratedTo, 10))
		return true
	case refused.code == http.StatusBadRequest && refused.says("entit", "url"):
		return without(params, "entities", "caption_entities") // The text alone is better than nothing.
	case refused.code == http.StatusBadRequest && refused.says("to be replied", "reply_message", "reply message"):
		return without(params, "reply_parameters")
	default:
		return false
	}
}

// without takes some of the params out, and tells whether there were any.
func without(params tgbotapi.Params, names ...string) (changed bool) {
	for _, name := range names {
		if _, ok := params[name]; ok {
			delete(params, name)
			changed = true
		}
	}
	return changed
}

// failed says what became of a call that the library returned an error for.
func (a *api) failed(method string, e *exchange, err error) *callError {
	failure := &callError{method: method, sent: e.sent.Load()}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			failure.ended = ended
		}
	}
	refused, isAnswer := errors.AsType[*tgbotapi.Error](err)
	switch transport, isTransport := errors.AsType[*url.Error](err); {
	case isAnswer && refused.Code == 0 && refused.RetryAfter == 0, e.answered && !isAnswer:
		failure.description = fmt.Sprintf("api_endpoint did not answer like a Bot API server (HTTP %d)", e.status)
	case isAnswer:
		failure.code, failure.description = refused.Code, a.redactor.clean(refused.Message)
		failure.retryAfter = time.Duration(refused.RetryAfter) * time.Second
		failure.migratedTo = refused.MigrateToChatID
	case isTransport:
		failure.description = a.redactor.clean(transport.Err.Error()) // Without the address.
	default:
		failure.description = a.redactor.clean(err.Error())
	}
	return failure
}

// exchange is the library's HTTP client for one request. It adds the context that the library does not know, and notes
// how far the request came.
type exchange struct {
	ctx      context.Context //nolint:containedctx // It lives for one call.
	client   *http.Client
	sent     atomic.Bool // it may have reached the server
	answered bool        // an answer came to its end
	status   int
}

// Do implements tgbotapi.HTTPClient.
func (e *exchange) Do(r *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(e.ctx, &httptrace.ClientTrace{
		// A request is tried on another connection only if nothing of it was sent on the first.
		GetConn: func(string) { e.sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { e.sent.Store(true) },
	})
	response, err := e.client.Do(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	e.answered, e.status = true, response.StatusCode
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
