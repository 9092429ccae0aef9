package network_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

// ownError is a channel's own error type.
type ownError struct {
	network.CallError

	code int
}

func (e *ownError) Reason() chat.Reason {
	if e.code == 7 {
		return chat.TargetGone
	}
	return e.CallError.Reason()
}

// TestBackoff: waits double up to the longest, no two are the same, and none is shorter than the network asks for.
func TestBackoff(t *testing.T) {
	t.Parallel()
	b := network.Backoff{First: time.Second, Longest: 5 * time.Second}
	if !b.Fresh() {
		t.Error("it is not fresh at the beginning")
	}
	for _, mean := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		if wait := b.After(io.EOF); wait < mean/2 || wait >= mean*3/2 {
			t.Errorf("the wait is %v, want about %v", wait, mean)
		}
	}
	asked := fmt.Errorf("send: %w", &ownError{CallError: network.CallError{RetryAfter: time.Hour}})
	if wait := b.After(asked); wait != time.Hour {
		t.Errorf("the wait is %v, want the network's hour", wait)
	}
	if b.Fresh() {
		t.Error("it is fresh after failures")
	}
	b.Reset()
	if wait := b.After(nil); wait >= 3*time.Second/2 {
		t.Errorf("the wait after Reset is %v", wait)
	}
}

// TestAgain retries only temporary failures, and only as often as allowed.
func TestAgain(t *testing.T) {
	t.Parallel()
	busy := &network.CallError{Status: http.StatusServiceUnavailable}
	for _, tt := range []struct {
		name  string
		err   error
		until time.Duration // the end of ctx
		calls int
	}{
		{"success", nil, time.Hour, 1},
		{"refused", &network.CallError{Status: http.StatusForbidden}, time.Hour, 1},
		{"no call", io.EOF, time.Hour, 1},
		{"busy", busy, time.Hour, 4},
		{"asked to wait", &ownError{CallError: network.CallError{Status: http.StatusTooManyRequests, RetryAfter: time.Minute}}, time.Hour, 4},
		{"asked to wait for too long", &network.CallError{Status: http.StatusTooManyRequests, RetryAfter: 40 * time.Minute}, time.Hour, 2},
		{"busy for good", busy, time.Millisecond, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.until)
				defer cancel()
				calls := 1
				for b := (network.Backoff{First: time.Second, Longest: time.Minute, Tries: 4}); b.Again(ctx, tt.err); calls++ {
				}
				if calls != tt.calls {
					t.Errorf("%d calls were made, want %d", calls, tt.calls)
				}
			})
		})
	}
}

// TestFailure checks how the host receives errors.
func TestFailure(t *testing.T) {
	t.Parallel()
	call := func(status int) *network.CallError { return &network.CallError{Call: "POST message", Status: status} }
	for name, tt := range map[string]struct {
		err  error
		want chat.Failure
	}{
		"no answer":        {&network.CallError{}, chat.Failure{Reason: chat.NotConnected}},
		"no answer, sent":  {&network.CallError{Sent: true}, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}},
		"ended":            {&network.CallError{Ended: context.DeadlineExceeded}, chat.Failure{Reason: chat.Temporary}},
		"a strange answer": {call(302), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}},
		"broken":           {call(502), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}},
		"too many":         {&network.CallError{Status: 429, RetryAfter: time.Second}, chat.Failure{Reason: chat.RateLimited, RetryAfter: time.Second}},
		"credentials":      {call(401), chat.Failure{Reason: chat.NotConnected}},
		"forbidden":        {call(403), chat.Failure{Reason: chat.Forbidden}},
		"nowhere":          {call(404), chat.Failure{Reason: chat.ChatNotFound}},
		"too long":         {call(413), chat.Failure{Reason: chat.TooLong}},
		"too large":        {&network.CallError{Status: 413, Files: true}, chat.Failure{Reason: chat.MediaRejected}},
		"wrong":            {call(400), chat.Failure{Reason: chat.Invalid}},
		"its own code":     {fmt.Errorf("edit: %w", &ownError{*call(400), 7}), chat.Failure{Reason: chat.TargetGone}},
		"no call":          {io.EOF, chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}},
		"a failure":        {network.Refuse(chat.Invalid, "no %s", "text"), chat.Failure{Reason: chat.Invalid}},
		"file not there":   {new(network.Unread("x", sdk.ErrNotFound)), chat.Failure{Reason: chat.MediaRejected}},
		"file cut":         {new(network.Unread("x", upload.ErrSize)), chat.Failure{Reason: chat.MediaRejected}},
		"file unread":      {new(network.Unread("x", io.EOF)), chat.Failure{Reason: chat.Temporary}},
	} {
		got, ok := errors.AsType[*chat.Failure](network.Failure(tt.err))
		if !ok || got.Reason != tt.want.Reason || got.MaybeDelivered != tt.want.MaybeDelivered || got.RetryAfter != tt.want.RetryAfter {
			t.Errorf("%s is %+v, want %+v", name, got, tt.want)
		}
	}
	if err := network.Failure(nil); err != nil {
		t.Errorf("nil is %v", err)
	}
}

// TestDownload checks that files are read completely or not at all, and that no error has an address.
func TestDownload(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/secret/busy":
			w.Header().Set("Retry-After", "1.5")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/secret/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/secret/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "12345")
		default:
			_, _ = io.WriteString(w, "0123456789")
		}
	}))
	defer server.Close()
	for name, tt := range map[string]struct {
		address string
		most    int64
		want    string
		problem string
		later   time.Duration
	}{
		"whole":     {server.URL + "/secret/whole", 10, "0123456789", "", 0},
		"too large": {server.URL + "/secret/whole", 9, "", "is larger than 0 MB", 0},
		"busy":      {server.URL + "/secret/busy", 10, "", "", 1500 * time.Millisecond},
		"gone":      {server.URL + "/secret/gone", 10, "", network.Unfetched, 0},
		"cut":       {server.URL + "/secret/cut", 10, "", "", 0},
		"nobody":    {"http://127.0.0.1:1/secret", 10, "", "", 0},
		"no URL":    {"http://[secret", 10, "", network.Unfetched, 0},
	} {
		file, err := network.Download(t.Context(), server.Client(), tt.address, tt.most)
		var content []byte
		if err == nil {
			content, err = io.ReadAll(file)
			_ = file.Close()
		}
		if err == nil && string(content) == tt.want && tt.want != "" {
			continue
		}
		failed, ok := errors.AsType[*chat.FileError](network.FileError(err))
		if !ok || tt.want != "" || failed.Problem != tt.problem || failed.RetryAfter != tt.later || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}

// TestProgress checks whether a request may have reached the network.
func TestProgress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	for address, sent := range map[string]bool{server.URL: true, "http://127.0.0.1:1": false} {
		var p network.Progress
		request, err := http.NewRequestWithContext(p.Context(t.Context()), http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			t.Errorf("%s answers", address)
		}
		if _, named := errors.AsType[*url.Error](network.WithoutAddress(err)); named || p.Sent() != sent {
			t.Errorf("%s: sent is %t, the error %v", address, p.Sent(), network.WithoutAddress(err))
		}
	}
}

// TestOffer checks that a file has a token, or a problem.
func TestOffer(t *testing.T) {
	t.Parallel()
	type origin struct{ Path string }
	token := network.Token(origin{"a"})
	var back origin
	if err := network.ReadToken(token, &back); err != nil || back.Path != "a" {
		t.Errorf("the token reads as %+v, %v", back, err)
	}
	if failed, ok := errors.AsType[*chat.FileError](network.ReadToken("?", &back)); !ok || failed.Problem != network.Unfetched {
		t.Error("a strange token is read")
	}
	for name, tt := range map[string]struct {
		size int64
		of   any
		want chat.Media
	}{
		"fits":         {1 << 20, origin{"a"}, chat.Media{Size: 1 << 20, Token: token}},
		"too large":    {1<<20 + 1, origin{"a"}, chat.Media{Size: 1<<20 + 1, Problem: "is larger than 1 MB"}},
		"long address": {1, origin{strings.Repeat("a", chat.MaxFileToken)}, chat.Media{Size: 1, Problem: network.Unfetched}},
	} {
		if got := network.Offer(chat.Media{Size: tt.size}, network.Token(tt.of), 1<<20); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// TestShapes chooses by kind, type and size.
func TestShapes(t *testing.T) {
	t.Parallel()
	table := []network.Shape[string]{
		{Kinds: []chat.MediaKind{chat.Voice}, Types: []string{"audio/ogg"}, Most: 10, As: "voice"},
		{Kinds: []chat.MediaKind{chat.Voice, chat.Audio}, Types: []string{"audio/ogg", "audio/mpeg"}, Most: 20, As: "audio"},
	}
	for _, tt := range []struct {
		m    chat.Media
		want string
	}{
		{chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg; codecs=opus", Size: 10}, "voice"},
		{chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg", Size: 11}, "audio"},
		{chat.Media{Kind: chat.Audio, MIMEType: "audio/ogg", Size: 1}, "audio"},
		{chat.Media{Kind: chat.Audio, MIMEType: "audio/flac", Size: 1}, "document"},
		{chat.Media{Kind: chat.Voice, Size: 1}, "document"},
	} {
		if got := network.ShapeOf(table, tt.m, "document"); got != tt.want {
			t.Errorf("%+v is a %s, want %s", tt.m, got, tt.want)
		}
	}
}

// reports records what the host receives.
type reports []string

func (r *reports) Report(state chat.State, detail string) { *r = append(*r, state.String()+" "+detail) }

// TestStatus reports each change once, and each Run from the start.
func TestStatus(t *testing.T) {
	t.Parallel()
	var s network.Status
	if err := s.Health(t.Context()); err == nil {
		t.Error("a channel that does not run is healthy")
	}
	var first, second reports
	s.Begin(&first)
	s.Report(chat.Connected, "as claw")
	s.Report(chat.Connected, "as claw")
	if err := s.Health(t.Context()); err != nil || !s.Is(chat.Connected) {
		t.Errorf("connected is %v", err)
	}
	s.Report(chat.Disconnected, "cut")
	if err := s.Health(t.Context()); err == nil || err.Error() != "disconnected: cut" {
		t.Errorf("disconnected is %v", err)
	}
	s.Begin(&second)
	if want := []string{"connecting ", "connected as claw", "disconnected cut"}; !slices.Equal(first, want) {
		t.Errorf("the host got %q, want %q", first, want)
	}
	s.Report(chat.Connected, "as claw")
	s.End(errors.New("the token is rejected")) // which the host learns by the error of Run
	if err := s.Health(t.Context()); err == nil || err.Error() != "disconnected: the token is rejected" {
		t.Errorf("after the end of Run the health is %v", err)
	}
	if !slices.Equal(second, []string{"connecting ", "connected as claw"}) {
		t.Errorf("at the next Run the host got %q", second)
	}
}
