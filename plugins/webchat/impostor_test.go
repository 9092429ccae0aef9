//go:build e2e

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/plugins/webchat/internal/proof"
)

// impostor is another program that has taken the address of the web chat. It says yes to everything, and answers a page with what the
// web chat itself would say to a page that has another token.
type impostor struct {
	server *http.Server
	served chan error
	asked  chan string // what it received, a request each
}

func impersonate(t *testing.T, address string) *impostor {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	i := &impostor{served: make(chan error, 1), asked: make(chan string, 1000)}
	key := proof.NewKey(strings.Repeat("k", 43))
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a part is something, too
		authorization := r.Header.Get("Authorization")
		i.asked <- strings.Join([]string{r.Method, r.URL.RequestURI(), authorization, string(body)}, " ")
		hello := proof.NewHello()
		respond(w, http.StatusOK, proof.Welcome{Session: strings.Repeat("A", 32), Proof: key.Server(address, hello, strings.Repeat("A", 32))})
	})
	i.server = &http.Server{Handler: mux}
	go func() { i.served <- i.server.Serve(listener) }()
	return i
}

// awaitAnother waits until the page has asked once more.
func (i *impostor) awaitAnother(ctx context.Context) {
	before := i.drain()
	select {
	case last := <-i.asked:
		before = append(before, last)
	case <-ctx.Done():
	}
	for _, was := range before {
		i.asked <- was
	}
}

func (i *impostor) drain() (all []string) {
	for len(i.asked) > 0 {
		all = append(all, <-i.asked)
	}
	return all
}

// leave gives the address free. All that it received must be nonces, each another one.
func (i *impostor) leave(t *testing.T) {
	t.Helper()
	if err := i.server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-i.served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	all := i.drain()
	nonceOnly := regexp.MustCompile(`^POST /api/session  \{"nonce":"[A-Za-z0-9_-]{43}"\}$`)
	for n, asked := range all {
		if !nonceOnly.MatchString(asked) || slices.Contains(all[:n], asked) {
			t.Errorf("the impostor got %q", asked)
		}
	}
	if len(all) < 2 {
		t.Errorf("the impostor was asked %d times", len(all))
	}
}
