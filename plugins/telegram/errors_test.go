package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// TestFailures sends against each way in which a call can fail.
func TestFailures(t *testing.T) {
	t.Parallel()
	refuse := telegramtest.Refuse
	for _, c := range []struct {
		name      string
		fault     telegramtest.Fault
		want      chat.Failure
		delivered bool
	}{
		{"429", telegramtest.TooManyRequests(7 * time.Second), chat.Failure{Reason: chat.RateLimited, RetryAfter: 7 * time.Second}, false},
		{"blocked", refuse(403, "Forbidden: bot was blocked by the user"), chat.Failure{Reason: chat.Forbidden}, false},
		{"kicked", refuse(403, "Forbidden: bot was kicked from the supergroup chat"), chat.Failure{Reason: chat.Forbidden}, false},
		{"no rights", refuse(400, "Bad Request: not enough rights to send text messages to the chat"), chat.Failure{Reason: chat.Forbidden}, false},
		{"closed topic", refuse(400, "Bad Request: TOPIC_CLOSED"), chat.Failure{Reason: chat.Forbidden}, false},
		{"no chat", refuse(400, "Bad Request: chat not found"), chat.Failure{Reason: chat.ChatNotFound}, false},
		{"no topic", refuse(400, "Bad Request: message thread not found"), chat.Failure{Reason: chat.ChatNotFound}, false},
		{"too long", refuse(400, "Bad Request: message is too long"), chat.Failure{Reason: chat.TooLong}, false},
		{"too long for a proxy", refuse(413, "Request Entity Too Large"), chat.Failure{Reason: chat.TooLong}, false},
		{"reply gone", refuse(400, "Bad Request: message to be replied not found"), chat.Failure{Reason: chat.TargetGone}, false},
		{"anything else", refuse(400, "Bad Request: strange things"), chat.Failure{Reason: chat.Invalid}, false},
		{"token revoked", refuse(401, "Unauthorized"), chat.Failure{Reason: chat.NotConnected}, false},
		{"Telegram broken", refuse(500, "Internal Server Error"), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"gateway broken", telegramtest.NotJSON(502), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"a login page", telegramtest.NotJSON(200), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"cut before", telegramtest.CutBefore(), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"cut after", telegramtest.CutAfter(), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := telegramtest.New(t)
			s.User(7)
			ch := newChannel(t, s)
			s.Fail("sendMessage", 1, c.fault)
			_, err := ch.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "hello"})
			got, ok := errors.AsType[*chat.Failure](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(c.want, *got, cmpopts.IgnoreFields(chat.Failure{}, "Err")); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if delivered := len(s.Replies(7)) > 0; delivered != c.delivered {
				t.Errorf("delivered: %t", delivered)
			}
		})
	}
}

func TestFailureOfAServerThatIsAway(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	c := newChannel(t, s)
	s.User(7)
	send := func(ctx context.Context) *chat.Failure {
		_, err := c.Send(ctx, chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "hello"})
		f, ok := errors.AsType[*chat.Failure](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		return f
	}
	s.Fail("sendMessage", 1, telegramtest.HangAfter())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if _, err := s.AwaitReplies(ctx, 7, 1); err == nil {
			cancel()
		}
	}()
	if f := send(ctx); f.Reason != chat.Temporary || !f.MaybeDelivered || !errors.Is(f, context.Canceled) {
		t.Errorf("given up after the request was written: %v, maybe delivered %t", f, f.MaybeDelivered)
	}
	if f := send(ctx); f.MaybeDelivered {
		t.Errorf("given up before it began: %v, maybe delivered", f)
	}
	s.Down()
	if f := send(t.Context()); f.Reason != chat.NotConnected || f.MaybeDelivered {
		t.Errorf("connection refused: %v, maybe delivered %t", f, f.MaybeDelivered)
	}
}

func TestErrorsThatMeanDone(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	c, to := newChannel(t, s), chat.Address{Chat: "7"}
	receipt, err := c.Send(t.Context(), chat.Outgoing{To: to, Text: "**hello**"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Edit(t.Context(), to, receipt.IDs[0], "*better*", nil); err != nil {
			t.Errorf("edit: %v", err)
		}
	}
	if got := s.Replies(7)[0]; got.Text != "better" || got.Edits != 1 || got.Entities[0].Type != "italic" {
		t.Errorf("edited to %+v", got)
	}
	for range 2 {
		if err := c.Delete(t.Context(), to, receipt.IDs[0]); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if got := s.Replies(7); len(got) != 0 {
		t.Errorf("not deleted: %+v", got)
	}
	gone, _ := errors.AsType[*chat.Failure](c.Edit(t.Context(), to, receipt.IDs[0], "too late", nil))
	if gone == nil || gone.Reason != chat.TargetGone {
		t.Errorf("edit of a deleted message: %v", gone)
	}
}

// TestNoErrorHoldsTheToken has the transport fail in many ways, each with the request's address or the token in its
// error, and servers that say the token back.
func TestNoErrorHoldsTheToken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.StringMatching(`[1-9][0-9]{0,9}`).Draw(rt, "id")
		secret := rapid.StringMatching(`[A-Za-z0-9_-]{8,40}`).Draw(rt, "secret")
		token := id + ":" + secret
		said := rapid.SampledFrom([]string{
			token, url.QueryEscape(token), strings.ToLower(url.QueryEscape(":")) + secret, secret, "/bot" + token + "/getMe",
		}).Draw(rt, "said")
		failing := rapid.SampledFrom([]func(*http.Request) (*http.Response, error){
			func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("dial %s: %s", r.URL, said) },
			func(r *http.Request) (*http.Response, error) {
				return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: errors.New(said)}
			},
			func(r *http.Request) (*http.Response, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(r.URL.Path + said)}
			},
			func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded },
			saying(`{"ok":false,"error_code":400,"description":"no `+said+`"}`, 400),
			saying(`{"ok":false,"error_code":401,"description":"`+said+`"}`, 401),
			saying(`{"ok":true,"result":{"message_id":"`+said+`"}}`, 200),
			saying("<html>"+said, 502),
			func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(strings.NewReader("{"), broken(said)))}, nil
			},
			func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"http://\x7f" + r.URL.Path}}, Body: http.NoBody}, nil
			},
		}).Draw(rt, "failure")
		a := newAPI(token, "http://127.0.0.1:1")
		a.client.Transport = roundTrip(failing)
		var result tgbotapi.Message
		err := a.callChat(t.Context(), "sendMessage", tgbotapi.Params{"chat_id": "7"}, &result, nil)
		if err == nil {
			rt.Fatal("no error")
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, text := range []string{e.Error(), fmt.Sprintf("%+v %#v", e, e), network.Failure(e).Error()} {
				if strings.Contains(text, secret) {
					rt.Fatalf("the token %s is in %q", token, text)
				}
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func saying(body string, status int) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

type broken string

func (b broken) Read([]byte) (int, error) { return 0, errors.New(string(b)) }

// TestRedirectIsNotFollowed: another server would get the token.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path + r.Referer() }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	a := newAPI("1:T", server.URL)
	defer a.close()
	if _, err := a.call(t.Context(), "getMe", nil); err == nil {
		t.Error("followed")
	}
	select {
	case got := <-reached:
		t.Errorf("the other server was asked: %s", got)
	default:
	}
}

// TestInstancesAreApart: two bots in one process have nothing in common, so neither sees the other's messages or token.
func TestInstancesAreApart(t *testing.T) {
	t.Parallel()
	first, second := telegramtest.New(t), telegramtest.New(t)
	first.User(7)
	second.User(7)
	a, b := newChannel(t, first), newChannel(t, second)
	for _, c := range []*channel{a, b} {
		run(t, c, newInbox())
	}
	if _, err := a.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "from a"}); err != nil {
		t.Fatal(err)
	}
	if a.api.client.Transport == b.api.client.Transport {
		t.Error("they share a transport")
	}
	if got := second.Replies(7); len(got) != 0 {
		t.Errorf("the second bot sent %+v", got)
	}
}
