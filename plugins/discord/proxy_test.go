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
	const token = "discord-token-of-the-proxy-test"
	if os.Getenv("CLAWHOST_TEST_PROXIED") != "" {
		r, err := newREST(token, "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		failed := r.call(t.Context(), "GET user", http.MethodGet, "users/@me", nil, nil)
		_, dialled := dial(t.Context(), r.transport, "wss://gateway.discord.gg")
		for _, err := range []error{failed, dialled} {
			if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
		}
		return
	}
	asked := make(chan string, 10)
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
	for _, want := range []string{"CONNECT discord.com:443", "CONNECT gateway.discord.gg:443"} {
		if got := <-asked; got != want {
			t.Errorf("the proxy was asked to %s, want %s", got, want)
		}
	}
}
