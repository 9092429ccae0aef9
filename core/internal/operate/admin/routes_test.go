package admin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk"
)

// counter is a plugin with commands on the command line that answers requests by HTTP.
type counter struct{}

func (counter) RunCLI(_ context.Context, c sdk.CLICall) (sdk.CLIResult, error) {
	return sdk.CLIResult{Stdout: fmt.Sprintf("%q %q %d", c.Args, c.Stdin, c.Width), Stderr: "careful\n", Code: 7}, nil
}

func (counter) HTTPHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var names []string
		for name, values := range r.Header {
			names = append(names, name+"="+strings.Join(values, "|"))
		}
		slices.Sort(names)
		fmt.Fprintf(w, "%s %s %s\n%s\n%s", r.Method, r.Host, r.URL.RequestURI(), strings.Join(names, "\n"), body)
	})
	mux.HandleFunc("/hostile", func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{
			"Set-Cookie", "Clear-Site-Data", "Transfer-Encoding", "Connection", "Service-Worker-Allowed", "Content-Length", "Trailer:Set-Cookie",
			"Nel", "Report-To", "Www-Authenticate", "Alt-Svc", "X-Accel-Redirect", "X Odd",
		} {
			w.Header()[name] = []string{"7"}
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src *")
		w.Header().Set("X-Fine", "yes\r\nX-Split: no")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "<script>steal()</script>")
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.FormValue("to"), http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20+1)) })
	mux.HandleFunc("/panics", func(http.ResponseWriter, *http.Request) { panic("x") })
	return mux
}

// counters returns a bundle whose plugin counter runs, and its HTTP interface; that of the block shut is not served.
func counters(t *testing.T) (*bundle, http.Handler) {
	t.Helper()
	b, _, h := remote(t,
		&config.Plugin{Label: "counter", Enabled: true, ServeHTTP: true}, &config.Plugin{Label: "shut", Enabled: true},
		&config.Plugin{Label: "down", Enabled: true, ServeHTTP: true}, &config.Plugin{Label: "plain", Enabled: true, ServeHTTP: true},
	)
	open := func(context.Context, sdk.Env, struct{}) (counter, error) { return counter{}, nil }
	for _, name := range []string{"counter", "shut"} {
		plugintest.Run(t, b.plugins, name, sdk.Service(open))
	}
	plugintest.Run(t, b.plugins, "plain", sdk.OnMessage(func(context.Context, sdk.MessageReceived) error { return nil }))
	return b, h
}

// Behaviour: plugin-http.
func TestRequestsForPlugins(t *testing.T) {
	t.Parallel()
	_, h := counters(t)
	w := ask(t, h, "PUT", "/plugins/counter/headers?a=%2Fb", "body",
		"X-Clawhost", "key", "Cookie", "session=secret", "Authorization", "bearer  "+token, "Connection", "X-Hop, close", "X-Hop", "dropped", "Te", "trailers", "X-Sent", "kept")
	want := "PUT 127.0.0.1 /headers?a=%2Fb\nX-Forwarded-Prefix=/plugins/counter\nX-Sent=kept\nbody"
	if diff := cmp.Diff(want, w.Body.String()); w.Code != http.StatusOK || diff != "" {
		t.Errorf("%d (-want +got):\n%s", w.Code, diff)
	}
	if w := ask(t, h, "GET", "/plugins/counter/headers", "", "Authorization", "Bearer of-the-plugin"); !strings.Contains(w.Body.String(), "Authorization=Bearer of-the-plugin") {
		t.Errorf("a token of the plugin's own: %s", w.Body)
	}
	for path, code := range map[string]int{
		"/plugins/counter/nothing": http.StatusNotFound, "/plugins/shut/headers": http.StatusNotFound, "/plugins/nobody/": http.StatusNotFound,
		"/plugins/down/headers": http.StatusServiceUnavailable, "/plugins/plain/headers": http.StatusServiceUnavailable,
		"/plugins/counter/large": http.StatusServiceUnavailable, "/plugins/counter/panics": http.StatusServiceUnavailable,
	} {
		if w := ask(t, h, "GET", path, ""); w.Code != code {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, code)
		}
	}
	if w := ask(t, h, "POST", "/plugins/counter/headers", strings.Repeat("x", 1<<20+1)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: %d", w.Code)
	}
	if w := ask(t, h, "GET", "/%70lugins/c%6funter/headers%2f", ""); !strings.Contains(w.Body.String(), "404") && w.Code != http.StatusNotFound {
		t.Errorf("an encoded path: %d %s", w.Code, w.Body)
	}
	for to, want := range map[string]string{"/x": "/plugins/counter/x", "//evil.example": "//evil.example", "https://a.example/": "https://a.example/"} {
		if w := ask(t, h, "GET", "/plugins/counter/away?to="+to, ""); w.Header().Get("Location") != want {
			t.Errorf("a redirect to %s leads to %q, want %q", to, w.Header().Get("Location"), want)
		}
	}
	if w := ask(t, h, "POST", "/plugins/counter/headers", "", "Origin", "null"); w.Code != http.StatusOK {
		t.Errorf("from a page of the plugin: %d", w.Code)
	}
	for path, origin := range map[string]string{"/plugins/counter/headers": "https://evil.example", "/v1/status": "null"} {
		if w := ask(t, h, "POST", path, "", "Origin", origin); w.Code != http.StatusForbidden {
			t.Errorf("%s from a page of %s: %d", path, origin, w.Code)
		}
	}
	if w := ask(t, h, "TRACE", "/plugins/counter/headers", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("TRACE: %d", w.Code)
	}
	if w := ask(t, h, "GET", "/plugins/counter/headers", "", "Host", "evil.example"); w.Code != http.StatusForbidden {
		t.Errorf("for another host: %d", w.Code)
	}
}

// A page of a plugin cannot act as the host's: it sets no cookies, and its scripts have an origin of their own.
// Behaviour: plugin-http.
func TestHostileResponseOfAPlugin(t *testing.T) {
	t.Parallel()
	_, h := counters(t)
	w := ask(t, h, "GET", "/plugins/counter/hostile", "")
	want := http.Header{
		"Content-Type": {"text/html"}, "Content-Security-Policy": {"default-src *", "sandbox allow-scripts allow-forms allow-popups allow-downloads"},
		"X-Content-Type-Options": {"nosniff"}, "Connection": {"close"},
	}
	w.Header().Del("X-Fine")
	w.Header().Del("Date")
	if diff := cmp.Diff(want, w.Header()); w.Code != http.StatusTeapot || diff != "" {
		t.Errorf("%d (-want +got):\n%s", w.Code, diff)
	}
	// On the wire no header is split.
	server := httptest.NewServer(h)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/plugins/counter/hostile", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "<script>steal()</script>" || response.Header.Get("X-Split") != "" {
		t.Errorf("%q, %v, with %v", body, err, response.Header)
	}
}

// Behaviour: plugin-cli.
func TestCommandLinesOfPlugins(t *testing.T) {
	t.Parallel()
	b, _ := counters(t)
	h := admin.New(admin.Options{Store: b.store, Host: b.host(), Plugins: supervisor{b}, Peers: peers{b}}, hclog.NewNullLogger()).LocalHandler()
	for _, test := range []struct {
		body string
		code int
		want string
	}{
		{`{"plugin": "counter", "args": ["a b", "-"], "stdin": "dGVh", "width": 80}`, http.StatusOK, `{"stdout":"[\"a b\" \"-\"] \"tea\" 80","stderr":"careful\n","code":7}`},
		{`{"plugin": "nobody"}`, http.StatusNotFound, `{"error":"no plugin \"nobody\" is enabled"}`},
		{`{"plugin": "plain"}`, http.StatusNotFound, `{"error":"the plugin plain has no commands of its own"}`},
		{`{"plugin": "down"}`, http.StatusUnprocessableEntity, "{\"error\":\"the plugin down does not run; `clawhost plugin list` says why\"}"},
		{`{"plugin": "counter", "args": ["` + strings.Repeat("x", 64<<10+1) + `"]}`, http.StatusUnprocessableEntity, `{"error":"a plugin's command line has at most 64 KiB of arguments and 1024 KiB of input"}`},
	} {
		if w := ask(t, h, "POST", "/v1/plugins/cli", test.body); w.Code != test.code || strings.TrimSpace(w.Body.String()) != test.want {
			t.Errorf("%.60s: %d %s, want %d %s", test.body, w.Code, w.Body, test.code, test.want)
		}
	}
}
