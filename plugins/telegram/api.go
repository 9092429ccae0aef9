package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

const (
	callTimeout = time.Minute // of a call other than a poll, without the time for its files
	maxAnswer   = 16 << 20    // bytes; 100 updates are far below
	maxFixes    = 3
)

// api calls the Bot API as one bot. It uses only the parts of the library that neither log nor start goroutines. No error
// contains the token.
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
	// A connection that died while a laptop slept is detected by a ping, not by the end of the next long poll.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	base := strings.TrimRight(endpoint, "/")
	return &api{
		token:    token,
		base:     base,
		endpoint: base + "/bot%s/%s",
		client: &http.Client{
			Transport: transport,
			// A redirect would send the token to another server. No Bot API server redirects.
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

// callChat calls a method for a chat, with files if there are any, and reads its result. If Telegram refuses something that
// can be corrected, it is corrected and retried; that is safe, because a refused call had no effect.
func (a *api) callChat(ctx context.Context, method string, params tgbotapi.Params, result any, files *enclosed) error {
	timeout := callTimeout
	if files != nil {
		timeout += upload.Time(files.bytes)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for range maxFixes {
		id := a.chats.current(params["chat_id"])
		params.AddNonEmpty("chat_id", id) // the menu of commands has no chat
		if wait := a.chats.patience(id, method); wait > 0 {
			e := newCallError(method, http.StatusTooManyRequests, "Telegram asked to wait")
			e.RetryAfter = wait
			return e
		}
		raw, err := a.try(ctx, method, params, files)
		if err == nil {
			return a.read(method, raw, result)
		}
		if !a.correct(method, params, err) {
			return err
		}
	}
	return newCallError(method, 0, "refused again after it was corrected")
}

func (a *api) try(ctx context.Context, method string, params tgbotapi.Params, files *enclosed) (raw json.RawMessage, err error) {
	ctx, end := sdk.Span(ctx, "Bot API "+method)
	defer func() { end(err) }()
	if files == nil {
		return a.call(ctx, method, params)
	}
	raw, err = a.upload(ctx, method, params, files)
	if e, ok := errors.AsType[*callError](err); ok {
		e.Files = true
	}
	return raw, err
}

func (a *api) read(method string, raw json.RawMessage, result any) error {
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		e := newCallError(method, 0, a.redactor.clean("unreadable result: "+err.Error()))
		e.Sent = true
		return e
	}
	return nil
}

// correct records what a refusal says about the chat, and changes params so that the call may succeed, if possible.
func (a *api) correct(method string, params tgbotapi.Params, err error) bool {
	refused, ok := errors.AsType[*callError](err)
	if !ok {
		return false
	}
	switch {
	case refused.Reason() == chat.RateLimited:
		a.chats.limited(params["chat_id"], method, refused.RetryAfter)
		return false
	case refused.migratedTo != 0:
		a.chats.move(params["chat_id"], strconv.FormatInt(refused.migratedTo, 10))
		return true
	case refused.Status == http.StatusBadRequest && refused.says("entit", "url"):
		return without(params, "entities", "caption_entities") // plain text is better than nothing
	case refused.Status == http.StatusBadRequest && refused.says("to be replied", "reply_message", "reply message"):
		return without(params, "reply_parameters")
	default:
		return false
	}
}

// without removes some of the params and reports whether any were set.
func without(params tgbotapi.Params, names ...string) (changed bool) {
	for _, name := range names {
		if _, ok := params[name]; ok {
			delete(params, name)
			changed = true
		}
	}
	return changed
}

// failed converts an error of the library to a [*callError].
func (a *api) failed(method string, e *exchange, err error) *callError {
	failure := newCallError(method, 0, "")
	failure.Sent = e.progress.Sent()
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			failure.Ended = ended
		}
	}
	refused, isAnswer := errors.AsType[*tgbotapi.Error](err)
	switch {
	case isAnswer && refused.Code == 0 && refused.RetryAfter == 0, e.answered && !isAnswer:
		failure.Message = fmt.Sprintf("api_endpoint did not answer like a Bot API server (HTTP %d)", e.status)
	case isAnswer:
		failure.Status, failure.Message = refused.Code, a.redactor.clean(refused.Message)
		failure.RetryAfter = time.Duration(refused.RetryAfter) * time.Second
		failure.migratedTo = refused.MigrateToChatID
	default:
		failure.Message = a.redactor.clean(network.WithoutAddress(err).Error())
	}
	return failure
}

// exchange is the library's HTTP client for one request. It adds the context, which the library does not support, and
// records how far the request got.
type exchange struct {
	ctx      context.Context // exchange is used for one call
	client   *http.Client
	progress network.Progress
	answered bool // whether the response was read to its end
	status   int
}

// Do implements tgbotapi.HTTPClient.
func (e *exchange) Do(r *http.Request) (*http.Response, error) {
	response, err := e.client.Do(r.WithContext(e.progress.Context(e.ctx)))
	if err != nil {
		return nil, err
	}
	answer := network.Bound(response.Body, maxAnswer, errors.New("the response is too long"))
	defer answer.Close()
	body, err := io.ReadAll(answer)
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	e.answered, e.status = true, response.StatusCode
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
