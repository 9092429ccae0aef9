// Package webchattest is a page of the web chat for tests in Go: it makes requests as the page's own scripts do.
package webchattest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/clawhost/clawhost/plugins/webchat/internal/proof"
)

// ErrStranger is returned where who answers does not know the token.
var ErrStranger = proof.ErrStranger

// Page makes requests of web chats that have its token. It begins sessions by itself. It is an [http.RoundTripper].
type Page struct {
	key *proof.Key
	via *http.Transport

	mu       sync.Mutex
	sessions map[string]*session // by host:port
}

type session struct {
	id     string
	number uint64
}

// New returns a page with a token.
func New(token string) *Page {
	return &Page{key: proof.NewKey(token), via: &http.Transport{}, sessions: make(map[string]*session)}
}

// RoundTrip makes a request once the server has proved itself. Where the server does not know the session any more, as
// after it was restarted, a new one is started. The answer proves itself as it is read; its status is proven.
func (p *Page) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
	}
	for begun := false; ; {
		signed := r.Clone(r.Context())
		own, fresh, err := p.authorize(signed, proof.Sum(body))
		if err != nil {
			return nil, err
		}
		begun = begun || fresh
		signed.Body = io.NopCloser(bytes.NewReader(body))
		signed.ContentLength = int64(len(body))
		answer, err := p.via.RoundTrip(signed)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusUnauthorized {
			return p.proven(answer, own)
		}
		if begun {
			return answer, nil
		}
		if err := answer.Body.Close(); err != nil {
			return nil, err
		}
		p.forget(r.URL.Host, own.Session)
	}
}

// proven returns an answer without its proofs, once its first part has proved itself. The page's own files have none, nor has the
// refusal of what seems to come from another page, which is not examined further.
func (p *Page) proven(answer *http.Response, to proof.Request) (*http.Response, error) {
	if !strings.HasPrefix(to.URI, "/api/") || answer.StatusCode == http.StatusForbidden {
		return answer, nil
	}
	body := bufio.NewReader(p.key.Reader(answer.Body, answer.Request.URL.Host, proof.Answer{
		Session: to.Session, Number: to.Number, Status: answer.StatusCode, Type: answer.Header.Get("Content-Type"),
	}))
	if _, err := body.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, answer.Body.Close())
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{body, answer.Body}
	answer.ContentLength = -1
	answer.Header.Del("Content-Length")
	return answer, nil
}

// Authorize gives a request whose body has the SHA-256 sum what the server wants to see. The request is made by another way.
func (p *Page) Authorize(r *http.Request, sum [sha256.Size]byte) error {
	_, _, err := p.authorize(r, base64.RawURLEncoding.EncodeToString(sum[:]))
	return err
}

func (p *Page) authorize(r *http.Request, sum string) (own proof.Request, fresh bool, err error) {
	own = proof.Request{Method: r.Method, URI: r.URL.RequestURI(), Sum: sum}
	if own.Session, own.Number, fresh, err = p.next(r); err != nil {
		return own, false, err
	}
	r.Header.Set("Authorization", own.Header(p.key.Request(r.URL.Host, own)))
	return own, fresh, nil
}

// Close ends the connections that wait for a request.
func (p *Page) Close() { p.via.CloseIdleConnections() }

// next returns a session with the number of its next request, and whether it has just begun.
func (p *Page) next(r *http.Request) (id string, number uint64, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[r.URL.Host]
	if s == nil {
		if id, err = p.begin(r); err != nil {
			return "", 0, false, err
		}
		s, fresh = &session{id: id}, true
		p.sessions[r.URL.Host] = s
	}
	s.number++
	return s.id, s.number, fresh, nil
}

func (p *Page) forget(host, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[host]; s != nil && s.id == id {
		delete(p.sessions, host)
	}
}

// begin begins a session with the server that a request is for.
func (p *Page) begin(of *http.Request) (id string, err error) {
	hello := proof.NewHello()
	body, err := json.Marshal(hello)
	if err != nil {
		return "", err
	}
	url := of.URL.Scheme + "://" + of.URL.Host + proof.SessionPath
	r, err := http.NewRequestWithContext(of.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := p.via.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var welcome proof.Welcome
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("begin a session: %s", answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(&welcome); err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	if !proof.Equal(welcome.Proof, p.key.Server(of.URL.Host, hello, welcome.Session)) {
		return "", ErrStranger
	}
	return welcome.Session, nil
}
