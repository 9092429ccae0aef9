package admin_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
)

// patience bounds a wait for an answer.
const patience = 20 * time.Second

// thinker answers no question. It returns when the client has disconnected. For "much" it shows a large answer meanwhile.
type thinker struct {
	desk
	asked chan struct{}
	gone  chan struct{}
}

func (h *thinker) Ask(ctx context.Context, _ gateway.Caller, p gateway.Prompt) iter.Seq2[gateway.Progress, error] {
	return func(yield func(gateway.Progress, error) bool) {
		if p.Text == "much" {
			for text := strings.Repeat("tea ", 1<<18); ctx.Err() == nil; text += text[:4] {
				yield(gateway.Progress{Text: text}, nil)
			}
		}
		h.asked <- struct{}{}
		<-ctx.Done()
		h.gone <- struct{}{}
		yield(gateway.Progress{}, ctx.Err())
	}
}

// serveTCP serves the HTTP interface of a bundle and returns its address.
func serveTCP(t *testing.T, b *bundle, g admin.Gateway) string {
	t.Helper()
	var log journal.Journal
	server := admin.New(admin.Options{
		Socket: b.socket(), Store: b.store, Host: b.host(), Plugins: supervisor{b}, Peers: peers{b}, Gateway: g,
		Remote: admin.Remote{Listen: "127.0.0.1:0", Token: token, Hosts: []string{"claw.example"}},
	}, hclog.New(&hclog.LoggerOptions{Output: &log}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	at := regexp.MustCompile(`programs are served by HTTP: address=(\S+)`)
	if err := log.Await(t.Context(), nil, 0, at); err != nil {
		t.Fatal(err)
	}
	return at.FindStringSubmatch(log.String())[1]
}

// dial connects and writes a text. The connection stays open until the test ends.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Logf("the connection was closed: %v", err)
	}
	return conn
}

const bearer = "Authorization: Bearer " + token + "\r\n"

// get makes a request on a new connection and returns the status.
func get(t *testing.T, address, path, header string) string {
	t.Helper()
	conn := dial(t, address, "GET "+path+" HTTP/1.1\r\nHost: "+address+"\r\n"+header+"Connection: close\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if strings.Contains(string(text), token) {
		t.Errorf("%s shows the token: %s", path, text)
	}
	return response.Status
}

// Whatever connections without the token send, and however many there are, programs and probes are served.
// Behaviour: program-http-flood.
func TestUnauthenticatedConnectionsBlockNoOthers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"silent":                     "",
		"half a line":                "GET /v1/st",
		"half a header":              "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n",
		"half a body":                "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{",
		"half a body for a probe":    "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{",
		"kept alive":                 "GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a probe that is kept":       "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"foreign, and kept":          "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n",
		"many, without reading":      strings.Repeat("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 1000),
		"a wrong token, half a body": "POST /v1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong\r\nContent-Length: 9\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serveTCP(t, setup(t), &desk{})
			for range 600 {
				dial(t, address, text)
			}
			for path, header := range map[string]string{"/v1/status": bearer, "/healthz": "", "/readyz": ""} {
				if status := get(t, address, path, header); status != "200 OK" {
					t.Errorf("%s: %s", path, status)
				}
			}
		})
	}
}

// Requests with the token keep out no probes, and idle connections no other programs. Beyond 64 requests at the same time a
// program gets 503.
// Behaviour: program-http-flood.
func TestBusyProgramsBlockNoProbe(t *testing.T) {
	t.Parallel()
	for range 2 {
		h := &thinker{asked: make(chan struct{}, 100), gone: make(chan struct{}, 100)}
		address := serveTCP(t, setup(t), h)
		for range 70 {
			conn := dial(t, address, "GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n"+bearer+"\r\n")
			if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || response.StatusCode != 200 || response.Close {
				t.Fatalf("a program: %+v, %v", response, err)
			}
		}
		const question = `{"text":"think"}`
		for range 64 {
			dial(t, address, fmt.Sprintf("POST /v1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %d\r\n\r\n%s", bearer, len(question), question))
			<-h.asked
		}
		if status := get(t, address, "/v1/status", bearer); status != "503 Service Unavailable" {
			t.Errorf("one request more: %s", status)
		}
		if status := get(t, address, "/v1/status", ""); status != "401 Unauthorized" {
			t.Errorf("without the token: %s", status)
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if status := get(t, address, path, ""); status != "200 OK" {
				t.Errorf("%s: %s", path, status)
			}
		}
	}
}

// A request without the token is answered before its body has been read, and the connection ends.
// Behaviour: program-http-flood.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	address := serveTCP(t, setup(t), &desk{})
	for _, head := range []string{
		"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
		"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\n",
		"POST /v1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
		"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
		"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET /v1/status HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	} {
		conn := dial(t, address, head)
		read := bufio.NewReader(conn)
		response, err := http.ReadResponse(read, nil)
		if err != nil || response.StatusCode != 401 || !response.Close {
			t.Errorf("%q: %+v, %v", head, response, err)
			continue
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Errorf("%q: the answer: %v", head, err)
		}
		if _, err := read.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%q: then comes %v", head, err)
		}
	}
}

// A page of another site in a browser on this machine gets nothing, even with the token.
// Behaviour: program-http-browser.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	_, d, h := remote(t)
	for _, test := range []struct {
		host, origin string
		code         int
	}{
		{"127.0.0.1:8765", "", 200},
		{"[::1]:8765", "", 200},
		{"[fe80::1]", "", 200},
		{"192.0.2.7", "", 200},
		{"localhost:8765", "", 200},
		{"LOCALHOST", "", 200},
		{"claw.example:8765", "", 200},
		{"Claw.Example.", "", 200},
		{"claw.example", "https://claw.example", 200},
		{"127.0.0.1:8765", "http://127.0.0.1:8765", 200},
		{"evil.example", "", 403},
		{"evil.example:8765", "http://evil.example:8765", 403},
		{"127.0.0.1.evil.example", "", 403},
		{"localhost.evil.example", "", 403},
		{"claw.example.evil.example", "", 403},
		{"127.0.0.1:8765", "http://evil.example", 403},
		{"127.0.0.1:8765", "http://127.0.0.1:1", 403},
		{"127.0.0.1:8765", "null", 403},
		{"claw.example", "https://claw.example.evil.example", 403},
	} {
		for _, path := range []string{"/v1/status", "/healthz", "/readyz"} {
			headers := []string{"Authorization", "Bearer " + token, "Host", test.host}
			if test.origin != "" {
				headers = append(headers, "Origin", test.origin)
			}
			if w := ask(t, h, "GET", path, "", headers...); w.Code != test.code {
				t.Errorf("%s of %q from %q: %d, want %d: %s", path, test.host, test.origin, w.Code, test.code, w.Body)
			}
		}
	}
	for _, foreign := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"}} {
		w := ask(t, h, "POST", "/v1/messages", `{"to": "tg:1", "text": "hello"}`, append(foreign, "Authorization", "Bearer "+token)...)
		if w.Code != 403 || len(d.sent) > 0 {
			t.Errorf("%q: %d, sent %v", foreign, w.Code, d.sent)
		}
	}
}

// Behaviour: program-http-agent.
func TestATokenOfATool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tool.Store(true)
	address := serveTCP(t, b, &desk{})
	if status := get(t, address, "/v1/status", bearer); status != "403 Forbidden" {
		t.Errorf("a tool with the token: %s", status)
	}
	if status := get(t, address, "/v1/status", ""); status != "401 Unauthorized" {
		t.Errorf("a tool without it: %s", status)
	}
}

// pipes is a listener for connections within the process, which work with synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.close(); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// end is the server's end of a pipe, with a unique address.
type end struct {
	net.Conn
	at     net.Addr
	closed chan struct{}
	close  func()
}

func (e end) LocalAddr() net.Addr { return e.at }

func (e end) Close() error { e.close(); return e.Conn.Close() }

// dial connects. Closed is closed once the server has closed its end.
func (p *pipes) dial() (conn net.Conn, closed <-chan struct{}) {
	client, server := net.Pipe()
	done := make(chan struct{})
	p.conns <- end{server, &net.UnixAddr{Name: "pipe"}, done, sync.OnceFunc(func() { close(done) })}
	return client, done
}

// A connection on which nothing happens is closed after a limited time, but not while a program waits for its answer.
// Behaviour: program-http-flood.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	const post = "POST /v1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer
	for name, test := range map[string]struct {
		text string
		read bool          // what the server writes
		ends time.Duration // when the server closes the connection; zero: it does not within a day
	}{
		"silent":                {"", true, 5 * time.Second},
		"half a header":         {"GET /healthz HTTP/1.1\r\nHo", true, 5 * time.Second},
		"half a body":           {post + "Content-Length: 100\r\n\r\n{", true, 30 * time.Second},
		"half a body, no token": {"POST /v1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{", true, 2 * time.Second},
		"an idle program":       {"GET /v1/none HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer + "\r\n", true, 2 * time.Minute},
		"a slow answer":         {post + "Content-Length: 16\r\n\r\n" + `{"text":"think"}`, true, 0},
		"a refusal, unread":     {"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", false, 30 * time.Second},
		"an answer, unread":     {post + "Content-Length: 15\r\n\r\n" + `{"text":"much"}`, false, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &thinker{asked: make(chan struct{}, 1), gone: make(chan struct{}, 1)}
				server := admin.New(admin.Options{Gateway: h, Remote: admin.Remote{Token: token}}, hclog.NewNullLogger())
				ctx, cancel := context.WithCancel(t.Context())
				listener, ended := newPipes(), make(chan error, 1)
				go func() { ended <- server.ServeConnections(ctx, listener) }()
				conn, closed := listener.dial()
				began := time.Now()
				go func() {
					if _, err := io.WriteString(conn, test.text); err == nil && test.read {
						_, _ = io.Copy(io.Discard, conn)
					}
				}()
				select {
				case <-closed:
					if took := time.Since(began); took != test.ends {
						t.Errorf("closed after %v, want %v", took, test.ends)
					}
				case <-time.After(24 * time.Hour):
					if test.ends != 0 {
						t.Errorf("open after a day, want closed after %v", test.ends)
					}
				}
				_ = conn.Close()
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
