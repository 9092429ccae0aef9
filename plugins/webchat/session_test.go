package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/plugins/webchat/internal/proof"
	"github.com/clawhost/clawhost/plugins/webchat/webchattest"
)

// plain makes a request as it is, and returns the status and the body.
func plain(t *testing.T, method, url, authorization, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(said)
}

func TestNothingWithoutProof(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, request := range []string{
		"GET /api/history", "GET /api/events", "GET /api/state", "POST /api/messages", "POST /api/buttons", "POST /api/edits", "POST /api/stop", "POST /api/typing",
		"POST /api/files", "GET /api/files/a", "PUT /api/conversations/main", "DELETE /api/conversations/a", "GET /api/session", "GET /api/none",
		"GET /api/history?token=" + b.token,
	} {
		method, path, _ := strings.Cut(request, " ")
		for _, authorization := range []string{
			"", "Bearer " + b.token, b.token, proof.Scheme, proof.Scheme + " " + b.token, proof.Scheme + " :::", proof.Scheme + " :1::" + b.token,
		} {
			if status, _ := plain(t, method, b.base+path, authorization, "{}"); status != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d", request, strings.ReplaceAll(authorization, b.token, "TOKEN"), status)
			}
		}
	}
	if status, _ := plain(t, "GET", b.base+"/", "", ""); status != http.StatusOK {
		t.Errorf("the page itself: %d", status)
	}
}

// hail begins a session by hand.
func hail(t *testing.T, b *bundle, hello proof.Hello) proof.Welcome {
	t.Helper()
	body, err := json.Marshal(hello)
	if err != nil {
		t.Fatal(err)
	}
	status, said := plain(t, "POST", b.base+proof.SessionPath, "", string(body))
	var welcome proof.Welcome
	if err := json.Unmarshal([]byte(said), &welcome); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, said, err)
	}
	return welcome
}

// A request counts for one session, once, at one address, with one body. What was made for anything else is refused.
func TestRequestCannotBeReused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	authority := strings.TrimPrefix(b.base, "http://")
	key := proof.NewKey(b.token)
	session := hail(t, b, proof.NewHello()).Session
	message := func(text string) string {
		return encodeJSON(map[string]any{"id": uuid.NewString(), "text": text})
	}
	var number uint64
	honest := func(body string) proof.Request {
		number++
		return proof.Request{Session: session, Number: number, Method: "POST", URI: "/api/messages", Sum: proof.Sum([]byte(body))}
	}
	send := func(r proof.Request, mac, body string) int {
		status, _ := plain(t, "POST", b.base+"/api/messages", r.Header(mac), body)
		return status
	}
	said := message("hello")
	first := honest(said)
	if status := send(first, key.Request(authority, first), said); status != http.StatusOK {
		t.Fatalf("an honest request: %d", status)
	}
	if status := send(first, key.Request(authority, first), said); status != http.StatusUnauthorized {
		t.Errorf("the same again: %d", status)
	}
	for name, forge := range map[string]func(r *proof.Request) (address string){
		"another address":          func(*proof.Request) string { return "127.0.0.1:1" },
		"another name":             func(*proof.Request) string { return "localhost" + authority[strings.LastIndex(authority, ":"):] },
		"another method":           func(r *proof.Request) string { r.Method = "PUT"; return authority },
		"another path":             func(r *proof.Request) string { r.URI = "/api/stop"; return authority },
		"another query":            func(r *proof.Request) string { r.URI += "?a=b"; return authority },
		"another process' session": func(r *proof.Request) string { r.Session = strings.Repeat("A", 32); return authority },
		"no session":               func(r *proof.Request) string { r.Session = ""; return authority },
		"number 0":                 func(r *proof.Request) string { r.Number = 0; return authority },
	} {
		body := message("forged: " + name)
		r := honest(body)
		address := forge(&r)
		if status := send(r, key.Request(address, r), body); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	r := honest(message("a"))
	if status := send(r, key.Request(authority, r), message("exchanged")); status != http.StatusBadRequest {
		t.Errorf("another body: %d", status)
	}
	hello := proof.NewHello()
	r = honest(said)
	if status := send(r, hail(t, b, hello).Proof, said); status != http.StatusUnauthorized {
		t.Errorf("the server's own proof: %d", status)
	}
	r = honest(said)
	if status := send(r, proof.NewKey(b.token+"x").Request(authority, r), said); status != http.StatusUnauthorized {
		t.Errorf("another token: %d", status)
	}
	if texts := b.host.texts(); len(texts) != 1 || texts[0] != "hello" {
		t.Errorf("submitted: %q", texts)
	}
}

// An upload whose bytes are not those that were vouched for does not become a file.
func TestAnExchangedUploadIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := proof.Request{
		Session: hail(t, b, proof.NewHello()).Session, Number: 1, Method: "POST", URI: "/api/files?name=a.txt", Sum: proof.Sum([]byte("the one that was meant")),
	}
	mac := proof.NewKey(b.token).Request(strings.TrimPrefix(b.base, "http://"), r)
	for _, size := range []int{10, 1 << 20} {
		request, err := http.NewRequestWithContext(t.Context(), r.Method, b.base+r.URI, bytes.NewReader(bytes.Repeat([]byte("x"), size)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/octet-stream")
		request.Header.Set("Authorization", r.Header(mac))
		transport := &http.Transport{DisableKeepAlives: true}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Errorf("%d bytes: %s", size, answer.Status)
		}
		r.Number++
		mac = proof.NewKey(b.token).Request(strings.TrimPrefix(b.base, "http://"), r)
	}
}

// The server's proof fits one nonce, one session and one address.
func TestTheServerProvesItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	authority := strings.TrimPrefix(b.base, "http://")
	key := proof.NewKey(b.token)
	hello := proof.NewHello()
	first, second := hail(t, b, hello), hail(t, b, hello)
	if first.Session == second.Session || first.Proof == second.Proof {
		t.Error("two sessions are one")
	}
	if first.Proof != key.Server(authority, hello, first.Session) {
		t.Error("the proof does not hold")
	}
	for name, other := range map[string]string{
		"nonce":   key.Server(authority, proof.NewHello(), first.Session),
		"session": key.Server(authority, hello, second.Session),
		"address": key.Server("127.0.0.1:1", hello, first.Session),
	} {
		if first.Proof == other {
			t.Errorf("the proof fits another %s", name)
		}
	}
	for _, body := range []string{"", "{}", `{"nonce":""}`, `{"nonce":"` + strings.Repeat("a", 42) + `"}`, `{"nonce":"` + strings.Repeat("a", 42) + `\n"}`} {
		if status, _ := plain(t, "POST", b.base+proof.SessionPath, "", body); status != http.StatusBadRequest {
			t.Errorf("%q: %d", body, status)
		}
	}
	if status, _ := plain(t, "POST", b.base+proof.SessionPath, "", strings.Repeat(" ", 2*maxHello)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long hello: %d", status)
	}
}

// A token of the config that is short works as any other.
func TestAShortToken(t *testing.T) {
	t.Parallel()
	short := proof.NewKey("sixteen-letters!")
	raw := proof.NewKey(strings.Repeat("a", 43))
	hello := proof.NewHello()
	if short.Server("a", hello, "s") != proof.NewKey("sixteen-letters!").Server("a", hello, "s") || short.Server("a", hello, "s") == raw.Server("a", hello, "s") {
		t.Error("a short token has no key of its own")
	}
}

// Who does not know the token can begin sessions without end, and takes nothing by it: not from the server's memory, and not from
// the pages that have one.
func TestManySessions(t *testing.T) {
	t.Parallel()
	key := proof.NewKey(strings.Repeat("k", 43))
	s := newSessions(key, "here")
	request := func(number, of uint64) bool { return s.admit(proof.Request{Session: s.id(number), Number: of}) }
	s.issued = 1
	if !request(1, 1) || request(1, 1) || !request(1, 2) {
		t.Error("a session does not take each request once")
	}
	s.issued += 1_000_000
	if len(s.used) != 1 || !request(1, 3) {
		t.Errorf("%d sessions are kept after many that were only begun", len(s.used))
	}
	for i := range uint64(maxSessions) {
		if !request(s.issued-i, 1) {
			t.Fatalf("session %d", i)
		}
	}
	if len(s.used) != maxSessions {
		t.Errorf("%d sessions are kept", len(s.used))
	}
	if request(1, 1) || request(1, 4) {
		t.Error("a session that was forgotten goes on, so what it has done can be done again")
	}
}

// A window takes each number once, in any order, and never one twice.
func TestWindow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var w window
		taken := map[uint64]bool{}
		highest := uint64(0)
		for range 5000 {
			var n uint64
			switch random.IntN(10) {
			case 0:
				n = highest + 1 + random.Uint64N(3*windowSize)
			case 1:
				n = random.Uint64N(highest + 2)
			default:
				n = highest + 20 - min(highest+19, random.Uint64N(1100))
			}
			want := n > 0 && !taken[n] && n+windowSize > highest
			if got := w.take(n); got != want {
				t.Fatalf("seed %d: take(%d) = %v with %d the highest, taken before: %v", seed, n, got, highest, taken[n])
			}
			if want {
				taken[n], highest = true, max(highest, n)
			}
		}
	}
	var w window
	if w.take(0) || w.take(^uint64(0)) {
		t.Error("a number that is none was taken")
	}
}

// A page continues after a restart of the plugin, and rejects a server that has another token.
func TestAPageStartsAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "before")
	page := b.page
	b.stop()
	page.Close() // else its next post may meet the end of a connection that was kept
	b = startAt(t, b.dir, strings.TrimPrefix(b.base, "http://"), nil)
	b.page = page
	b.say(t, "after")
	b.page = webchattest.New(strings.Repeat("x", 43))
	r, err := http.NewRequestWithContext(t.Context(), "GET", b.base+"/api/state", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.page.RoundTrip(r); err == nil || !strings.Contains(err.Error(), webchattest.ErrStranger.Error()) {
		t.Errorf("a page with another token: %v", err)
	}
}
