package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

func TestExercise(t *testing.T) {
	const token = "exercised-token-0123456789"
	var life opened
	sdktest.Exercise(t, sdktest.Setup{
		Component: sdk.NewChannel(limits, life.open),
		New: func(t testing.TB) (sdktest.Network, any) {
			address := freeAddress(t)
			return newBrowser(t, address, token, &life), map[string]string{"listen": address, "token": token}
		},
		Chats: []chat.ID{"local"},
		// Its network is this machine, which fails by its disk alone.
		Never: []chat.Reason{
			chat.RateLimited, chat.NotConnected, chat.ChatNotFound, chat.Forbidden, chat.TooLong, chat.MediaRejected, chat.TargetGone,
			chat.Invalid,
		},
		Without: []sdktest.Feature{sdktest.Absences, sdktest.Reactions},
		BadConfigs: []any{
			map[string]string{"listen": "0.0.0.0:7080"},
			map[string]string{"listen": "nowhere"},
			map[string]string{"listen": "127.0.0.1:0", "token": "too-short"},
			map[string]int{"title": 1},
		},
		Secrets: []string{token, "too-short"},
	})
}

func TestReportsItsURL(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.NewChannel(limits, open))
	h.Configure(map[string]string{"listen": "127.0.0.1:0"})
	state := h.Run().WaitFor(chat.Connected)
	u, err := url.Parse(state.URL)
	if err != nil {
		t.Fatal(err)
	}
	token, found := strings.CutPrefix(u.Fragment, "token=")
	if !found || len(token) != 43 || u.RawQuery != "" || state.Detail != "listening on "+u.Host {
		t.Errorf("got a token of %d bytes, query %q, detail %q", len(token), u.RawQuery, state.Detail)
	}
	if strings.Contains(h.Logs(), token) {
		t.Error("the token is in the log")
	}
}

// opened is the channel that was opened last.
type opened struct {
	mu sync.Mutex
	c  *channel
}

func (o *opened) open(ctx context.Context, env sdk.Env, cfg config) (*channel, error) {
	c, err := open(ctx, env, cfg)
	if err == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.c = c
	}
	return c, err
}

// browser is the page as a [sdktest.Network]: it posts what was written, in order, each until the server has taken it.
type browser struct {
	base, token string
	life        *opened

	mu           sync.Mutex
	acknowledged map[string]bool
	written      chan [3]string // path, id and what else is in the body
}

func newBrowser(t testing.TB, address, token string, life *opened) *browser {
	b := &browser{
		base: "http://" + address, token: token, life: life,
		acknowledged: make(map[string]bool),
		written:      make(chan [3]string, 100),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var posting sync.WaitGroup
	posting.Go(func() { b.post(ctx) })
	t.Cleanup(func() {
		cancel()
		posting.Wait()
	})
	return b
}

func (b *browser) Deliver(_ chat.ID, text string) {
	b.written <- [3]string{"/api/messages", uuid.NewString(), encodeJSON(map[string]string{"text": text})}
}

func encodeJSON(v map[string]string) string {
	encoded, _ := json.Marshal(v) // strings always encode
	return string(encoded)
}

func (b *browser) post(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case m := <-b.written:
			for !b.taken(ctx, m[0], m[1], m[2]) {
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

func (b *browser) taken(ctx context.Context, path, id, rest string) bool {
	body := []byte(fmt.Sprintf(`{"id":%q,%s`, id, rest[1:]))
	answer, err := b.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var said struct{ Text string }
	_ = json.Unmarshal(body, &said)
	b.acknowledged[said.Text] = true
	return true
}

func (b *browser) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	r.Header.Set("Content-Type", "application/json")
	r.Close = true
	return (&http.Client{Transport: transport}).Do(r)
}

func (b *browser) Acknowledged(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acknowledged[text]
}

var tag = regexp.MustCompile(`<[^>]*>`)

func (b *browser) Sent(chat.ID) []string {
	answer, err := b.do(context.Background(), http.MethodGet, "/api/history?limit=200", nil)
	if err != nil {
		return []string{err.Error()}
	}
	defer answer.Body.Close()
	var got struct{ Messages []message }
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		return []string{fmt.Sprint(answer.Status, err)}
	}
	var texts []string
	for _, m := range got.Messages {
		if m.From == agent && !m.Deleted {
			texts = append(texts, html.UnescapeString(strings.TrimSpace(tag.ReplaceAllString(m.HTML, ""))))
		}
	}
	return texts
}

// Menu returns the commands that a page would be given.
func (b *browser) Menu() []string {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	commands, _ := b.life.c.menu.list()
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

// Remove deletes a message behind the channel's back, as nobody but its own journal could.
func (b *browser) Remove(_ chat.ID, id chat.MessageID) {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	if err := b.life.c.journal.update(id, func(r *record) error {
		r.Text, r.Deleted = "", true
		return nil
	}); err != nil {
		panic(err)
	}
}

// Press presses a button, again and again until the server has taken it.
func (b *browser) Press(_ chat.ID, id chat.MessageID, label string) {
	b.life.mu.Lock()
	m, _ := b.life.c.journal.get(id)
	b.life.mu.Unlock()
	for _, button := range slices.Concat(m.Buttons...) {
		if button.Label == label {
			b.written <- [3]string{"/api/buttons", uuid.NewString(), encodeJSON(map[string]string{"message": string(id), "data": button.Data})}
		}
	}
}

// Refuse makes the disk refuse: the page itself never does.
func (b *browser) Refuse(chat.ID) chat.Reason {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	j := b.life.c.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	readOnly, err := os.Open(j.lines.path)
	if err != nil {
		panic(err)
	}
	j.lines.file.Close()
	j.lines.file = readOnly
	return chat.Temporary
}

// Fail is Refuse: the next message is not the last one that is refused.
func (b *browser) Fail(to chat.ID, reason chat.Reason) bool { return b.Refuse(to) == reason }

// freeAddress returns an address that nothing listened on a moment ago.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
