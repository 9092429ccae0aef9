package credential_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/claude/credential"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

const (
	key      = "sk-ant-canary-one"
	otherKey = "sk-ant-canary-two"
)

// listen starts a proxy before an API. It ends with the test.
func listen(t testing.TB, upstream string, keys ...string) (*credential.Proxy, *journal.Journal) {
	t.Helper()
	log := new(journal.Journal)
	p, err := credential.Listen(credential.Options{Keys: keys, Upstream: upstream}, hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "canary") {
			t.Errorf("the log shows a key:\n%s", log)
		}
	})
	return p, log
}

// serve starts an API. It ends before the proxies that were started after it.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// post asks for an answer of the model.
func post(ctx context.Context, p *credential.Proxy, token, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", token)
	return http.DefaultClient.Do(req)
}

// answered asks and returns the status and the whole answer.
func answered(t testing.TB, p *credential.Proxy, token, body string) (int, string) {
	t.Helper()
	answer, err := post(t.Context(), p, token, body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Behaviour: api-keys.
func TestWhoIsLetThrough(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	p, _ := listen(t, serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) }), key)
	token, revoke := p.Issue()
	defer revoke()
	other, revokeOther := p.Issue()
	revokeOther()
	revokeOther()
	if token == other || len(token) < 32 {
		t.Errorf("the tokens are %q and %q", token, other)
	}
	for name, tc := range map[string]struct {
		header, value string
		want          int
	}{
		"as a key":         {"X-Api-Key", token, 200},
		"as a bearer":      {"Authorization", "Bearer " + token, 200},
		"none":             {"X-Nothing", token, 401},
		"empty":            {"X-Api-Key", "", 401},
		"empty bearer":     {"Authorization", "Bearer ", 401},
		"another":          {"X-Api-Key", token[:len(token)-1] + "_", 401},
		"longer":           {"X-Api-Key", token + "x", 401},
		"shorter":          {"X-Api-Key", token[:len(token)-1], 401},
		"revoked":          {"X-Api-Key", other, 401},
		"the key itself":   {"X-Api-Key", key, 401},
		"as a basic login": {"Authorization", "Basic " + token, 401},
	} {
		before := asked.Load()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/v1/messages", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(tc.header, tc.value)
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != tc.want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, tc.want)
		}
		if tc.want == 401 && (asked.Load() != before || !strings.Contains(string(text), `"authentication_error"`)) {
			t.Errorf("%s: the API was asked %d times, and the answer is %s", name, asked.Load()-before, text)
		}
	}
}

// The API sees the request as claude wrote it, but for the token, and claude sees the answer as it is.
func TestWhatIsForwarded(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Request-Id", "req_1")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "theirs")
		w.Header().Set("Location", "https://elsewhere.test/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	p, _ := listen(t, upstream+"/gateway", key)
	token, revoke := p.Issue()
	defer revoke()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/v1/messages?beta=true", strings.NewReader("the question"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Authorization": {"Bearer " + token}, "Anthropic-Version": {"2023-06-01"}, "User-Agent": {"claude-cli"}, "Accept-Encoding": {"gzip, br"},
		"Connection": {"X-Mine"}, "X-Mine": {"mine"}, "X-Forwarded-For": {"10.0.0.1"}, "Content-Type": {"application/json"},
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	want := http.Header{
		"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}, "User-Agent": {"claude-cli"}, "Content-Type": {"application/json"},
		"Accept-Encoding": {"identity"}, "Content-Length": {"12"},
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got.RequestURI != "/gateway/v1/messages?beta=true" || "http://"+got.Host != upstream || string(body) != "the question" {
		t.Errorf("the API was asked for %s at %s with %q", got.RequestURI, got.Host, body)
	}
	if answer.StatusCode != http.StatusTemporaryRedirect || answer.Header.Get("Request-Id") != "req_1" || answer.Header.Get("X-Hop") != "" {
		t.Errorf("the answer is %d, %v", answer.StatusCode, answer.Header)
	}
}

// Each piece of an answer is passed on before the next one is there, and a cut is passed on as one.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"text/event-stream", "application/octet-stream"} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			next := make(chan struct{})
			p, _ := listen(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				for i := range 3 {
					<-next
					fmt.Fprintf(w, "data: %d\n", i)
					_ = http.NewResponseController(w).Flush()
				}
				<-next
				panic(http.ErrAbortHandler)
			}), key)
			token, revoke := p.Issue()
			defer revoke()
			answer, err := post(t.Context(), p, token, "{}") // returns with the headers alone
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			lines := bufio.NewReader(answer.Body)
			for i := range 3 {
				next <- struct{}{}
				if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("data: %d\n", i) {
					t.Fatalf("line %d is %q, %v", i, line, err)
				}
			}
			next <- struct{}{}
			if rest, err := lines.ReadString('\n'); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("a stream that was cut ended well: %q, %v", rest, err)
			}
		})
	}
}

// What no client waits for any more is ended at the API, too: the client's own end, its token's, and the proxy's.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *credential.Proxy, cancel, revoke func()){
		"the client has gone":  func(_ *credential.Proxy, cancel, _ func()) { cancel() },
		"the token is revoked": func(_ *credential.Proxy, _, revoke func()) { revoke() },
		"the proxy is closed":  func(p *credential.Proxy, _, _ func()) { _ = p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			p, _ := listen(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				close(ended)
			}), key)
			token, revoke := p.Issue()
			defer revoke()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answer, err := post(ctx, p, token, "{}")
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			end(p, cancel, revoke)
			if _, err := io.ReadAll(answer.Body); err == nil {
				t.Error("the answer ended well")
			}
			<-ended
		})
	}
}

func TestClosedProxyForwardsNothing(t *testing.T) {
	t.Parallel()
	p, _ := listen(t, serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the API was asked") }), key)
	token, _ := p.Issue()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	late, _ := p.Issue()
	for _, token := range []string{token, late} {
		if answer, err := post(t.Context(), p, token, "{}"); err == nil {
			t.Errorf("a closed proxy answered %d", answer.StatusCode)
			answer.Body.Close()
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	var size atomic.Int64
	p, _ := listen(t, serve(t, func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		size.Store(n)
	}), key)
	token, revoke := p.Issue()
	defer revoke()
	if status, _ := answered(t, p, token, strings.Repeat("x", 64<<20)); status != 200 || size.Load() != 64<<20 {
		t.Errorf("64 MB were answered with %d, and %d bytes arrived", status, size.Load())
	}
	size.Store(0)
	if status, text := answered(t, p, token, strings.Repeat("x", 64<<20+1)); status != 413 || !strings.Contains(text, "request_too_large") || size.Load() != 0 {
		t.Errorf("more was answered with %d %s, and %d bytes arrived", status, text, size.Load())
	}
}

// A connection that fails behind the proxy fails before it.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	p, log := listen(t, gone.URL, key)
	token, revoke := p.Issue()
	defer revoke()
	if answer, err := post(t.Context(), p, token, "{}"); err == nil {
		answer.Body.Close()
		t.Errorf("answered %d", answer.StatusCode)
	}
	if !strings.Contains(log.String(), "the model's API cannot be reached") {
		t.Errorf("the log: %s", log)
	}
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for _, options := range []credential.Options{
		{},
		{Keys: []string{key}, Upstream: "ftp://canary.test"},
		{Keys: []string{key}, Upstream: "canary.test"},
		{Keys: []string{key}, Upstream: "https://"},
		{Keys: []string{key}, Upstream: "https://user:canary@api.test"},
		{Keys: []string{key}, Upstream: "https://canary.test:port"},
	} {
		p, err := credential.Listen(options, hclog.NewNullLogger())
		if err == nil {
			t.Errorf("%q was taken", options.Upstream)
			_ = p.Close()
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error shows the address: %v", err)
		}
	}
}

// With the API's stand-in behind it: a refused key, one that works, a limit that both have reached, and a stream.
func TestProxyInFrontOfTheMessagesAPI(t *testing.T) {
	t.Parallel()
	server := messagesapi.New(messagesapi.Options{Key: otherKey})
	t.Cleanup(server.Close)
	p, log := listen(t, server.URL(), key, otherKey)
	token, revoke := p.Issue()
	defer revoke()
	ask := `{"model":"claude-x","stream":true,"messages":[{"role":"user","content":"hello there"}]}`
	if status, text := answered(t, p, token, ask); status != 200 || !strings.Contains(text, `"text":"there"`) || !strings.Contains(text, "message_stop") {
		t.Errorf("answered %d %s", status, text)
	}
	if !strings.Contains(log.String(), "key=1 of=2 cause=auth") {
		t.Errorf("the log: %s", log)
	}
	server.Enqueue(messagesapi.RateLimited(0))
	if status, text := answered(t, p, token, ask); status != 429 || !strings.Contains(text, "rate_limit_error") {
		t.Errorf("answered %d %s", status, text)
	}
	if n := len(server.Messages()); n != 3 {
		t.Errorf("the API was asked %d times, want 3", n)
	}
	for _, r := range server.Requests() {
		if strings.Contains(string(r.Body), token) {
			t.Error("the API was told the token")
		}
	}
}

// Many processes at once, coming and going, while keys are refused.
func TestConcurrentProcesses(t *testing.T) {
	t.Parallel()
	var refused atomic.Int32
	p, _ := listen(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Api-Key") != otherKey {
			refused.Add(1)
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write(text)
	}), key, otherKey)
	const processes, requests = 8, 25
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			token, revoke := p.Issue()
			defer revoke()
			for j := range requests {
				want := fmt.Sprintf("question %d of %d", j, i)
				answer, err := post(t.Context(), p, token, want)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if answer.StatusCode != 200 || string(text) != want || err != nil {
					t.Errorf("%s was answered %d %s, %v", want, answer.StatusCode, text, err)
				}
			}
		})
	}
	wg.Wait()
	if n := refused.Load(); n < 1 || n > processes {
		t.Errorf("the refused key was used %d times, want once for each process at most", n)
	}
}

// A request costs this much more than without the proxy: compare the two.
func BenchmarkRequest(b *testing.B) {
	body := strings.Repeat("x", 20<<10) // a lean prompt
	upstream := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "data: hello\n\n")
	})
	p, _ := listen(b, upstream, key)
	token, revoke := p.Issue()
	defer revoke()
	for name, address := range map[string]string{"direct": upstream, "proxied": p.URL()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, address+"/v1/messages", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("X-Api-Key", token)
				answer, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		})
	}
}
