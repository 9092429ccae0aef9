package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk"
)

// TestThroughAProxy runs itself once more with HTTPS_PROXY set, which a process reads once. The config's proxy goes before
// it. Errors have no password.
// Behaviour: whatsapp-proxy.
func TestThroughAProxy(t *testing.T) {
	t.Parallel()
	if configured, proxied := os.LookupEnv("CLAWHOST_TEST_PROXY"); proxied {
		ask(t, configured)
		return
	}
	for name, inConfig := range map[string]bool{"config": true, "environment": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, asked := newProxy(t)
			configured, inherited := "", proxy
			if inConfig {
				configured, inherited = proxy, "http://127.0.0.1:1"
			}
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestThroughAProxy$")
			command.Env = append(os.Environ(), "CLAWHOST_TEST_PROXY="+configured, "HTTPS_PROXY="+inherited, "NO_PROXY=")
			if output, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			close(asked)
			var got []string
			for what := range asked {
				got = append(got, what)
			}
			slices.Sort(got)
			if diff := cmp.Diff([]string{"CONNECT files.invalid:443", "CONNECT web.invalid:443"}, got); diff != "" {
				t.Errorf("the proxy was asked (-want +got):\n%s", diff)
			}
		})
	}
}

// newProxy is a proxy that lets no connection through, and what it is asked.
func newProxy(t *testing.T) (address string, asked chan string) {
	t.Helper()
	asked = make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	return strings.Replace(proxy.URL, "//", "//user:hunter2@", 1), asked
}

// ask has both clients of a channel go out.
func ask(t *testing.T, proxy string) {
	t.Helper()
	c, err := open(t.Context(), sdk.Env{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, config{Proxy: sdk.NewSecret(proxy)})
	if err != nil {
		t.Fatal(err)
	}
	for address, client := range map[string]*http.Client{"https://web.invalid": c.web, "https://files.invalid": c.files} {
		response, err := client.Get(address)
		if err == nil {
			_ = response.Body.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}
