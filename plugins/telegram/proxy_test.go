package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestThroughAProxy runs itself once more with HTTPS_PROXY set, which a process reads once.
func TestThroughAProxy(t *testing.T) {
	t.Parallel()
	const token = "1:telegram-token-of-the-proxy-test"
	if os.Getenv("CLAWHOST_TEST_PROXIED") != "" {
		a := newAPI(token, "https://telegram.invalid")
		defer a.close()
		_, err := a.call(t.Context(), "getMe", nil)
		if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "hunter2") {
			t.Fatalf("got %v", err)
		}
		return
	}
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestThroughAProxy$")
	command.Env = append(os.Environ(), "CLAWHOST_TEST_PROXIED=yes", "HTTPS_PROXY="+strings.Replace(proxy.URL, "//", "//user:hunter2@", 1), "NO_PROXY=")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if got := <-asked; got != "CONNECT telegram.invalid:443" {
		t.Errorf("the proxy was asked to %s", got)
	}
}
