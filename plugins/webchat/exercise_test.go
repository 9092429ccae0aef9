package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
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

	"github.com/clawhost/clawhost/plugins/webchat/webchattest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

func TestExercise(t *testing.T) {
	const token = "exercised-token-0123456789-0123456789-0123456789"
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
		Without: []sdktest.Feature{sdktest.Absences, sdktest.Accounts, sdktest.Groups, sdktest.Reactions, sdktest.Deletions, sdktest.Answers, sdktest.Cuts},
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

// Behaviour: demo-shown.
func TestThePageIsToldWhetherAStandInAnswers(t *testing.T) {
	t.Parallel()
	for _, demo := range []bool{true, false} {
		h := sdktest.New(t, sdk.NewChannel(limits, open))
		h.Demo = demo
		h.Configure(map[string]string{"listen": "127.0.0.1:0"})
		link := h.Run().WaitFor(chat.Connected).URL
		base, token, _ := strings.Cut(link, "/#token=")
		page := webchattest.New(token)
		t.Cleanup(page.Close)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/state", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := page.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		var state struct {
			Demo *bool `json:"demo"`
		}
		err = json.NewDecoder(answer.Body).Decode(&state)
		answer.Body.Close()
		if err != nil || state.Demo == nil || *state.Demo != demo {
			t.Errorf("the page is told %v, %v; want %v", state.Demo, err, demo)
		}
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
	base string
	page *webchattest.Page
	life *opened

	mu           sync.Mutex
	acknowledged map[string]bool
	ids          map[string]string // of messages, by text
	written      chan [3]string    // path, id and what else is in the body
}

func newBrowser(t testing.TB, address, token string, life *opened) *browser {
	b := &browser{
		base: "http://" + address, page: webchattest.New(token), life: life,
		acknowledged: make(map[string]bool), ids: make(map[string]string),
		written: make(chan [3]string, 100),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var posting sync.WaitGroup
	posting.Go(func() { b.post(ctx) })
	t.Cleanup(func() {
		cancel()
		posting.Wait()
		b.page.Close()
	})
	return b
}

func (b *browser) Deliver(_ chat.ID, text string) { b.write(text, map[string]any{}) }

// write has a message be posted; rest is what it has in addition to its text.
func (b *browser) write(text string, rest map[string]any) {
	id := uuid.NewString()
	b.mu.Lock()
	b.ids[text] = id
	b.mu.Unlock()
	rest["text"] = text
	b.written <- [3]string{"/api/messages", id, encodeJSON(rest)}
}

func (b *browser) Attach(_ chat.ID, caption string, f sdktest.File) {
	answer, err := b.do(context.Background(), http.MethodPost, "/api/files?name="+url.QueryEscape(f.Name), f.Content, "application/octet-stream")
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	var stored file
	if err := json.NewDecoder(answer.Body).Decode(&stored); err != nil {
		panic(err)
	}
	b.write(caption, map[string]any{"files": []chat.MediaRef{stored.Ref}})
}

func (b *browser) Files(chat.ID) []string {
	var files []string
	for _, m := range b.history("") {
		for _, f := range m.Files {
			answer, err := b.do(context.Background(), http.MethodGet, "/api/files/"+string(f.Ref), nil, "")
			if err != nil {
				panic(err)
			}
			content, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil {
				panic(err)
			}
			files = append(files, string(content))
		}
	}
	return files
}

// second is the conversation after the first.
const second chat.ThreadID = "00000000-0000-4000-8000-000000000001"

func (*browser) Thread() (chat.ID, chat.ThreadID) { return chatID, second }

func (b *browser) DeliverThread(text string) {
	b.write(text, map[string]any{"conversation": second})
}

func (b *browser) SentThread() []string { return textsOf(b.history(second)) }

// now is what a page shows to go on in the first conversation.
func (b *browser) now() liveView {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	views, _ := b.life.c.live.since(0, time.Now())
	for _, view := range views {
		if view.Conversation == "" {
			return view
		}
	}
	return liveView{}
}

func (b *browser) Type(chat.ID) {
	answer, err := b.do(context.Background(), http.MethodPost, "/api/typing", []byte(`{"conversation":""}`), "application/json")
	if err != nil {
		panic(err)
	}
	answer.Body.Close()
}

func (b *browser) Typed(chat.ID) bool { return b.now().Typing > 0 }

func (b *browser) Draft(chat.ID) string { return bare(b.now().HTML) }

func (b *browser) Mark(_ chat.ID, id chat.MessageID) string {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	m, _ := b.life.c.journal.get(id)
	return m.Reaction
}

func (b *browser) Revise(_ chat.ID, text, changed string) {
	b.mu.Lock()
	id := b.ids[text]
	b.mu.Unlock()
	b.written <- [3]string{"/api/edits", uuid.NewString(), encodeJSON(map[string]any{"message": id, "text": changed})}
}

func encodeJSON(v map[string]any) string {
	encoded, _ := json.Marshal(v) // strings and lists of them always encode
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
	answer, err := b.do(ctx, http.MethodPost, path, body, "application/json")
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

func (b *browser) do(ctx context.Context, method, path string, body []byte, kind string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", kind)
	r.Close = true
	return (&http.Client{Transport: b.page}).Do(r)
}

func (b *browser) Acknowledged(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acknowledged[text]
}

var tag = regexp.MustCompile(`<[^>]*>`)

func (b *browser) Sent(chat.ID) []string { return textsOf(b.history("")) }

// history is what the agent has said in a conversation; nothing, if the channel does not answer.
func (b *browser) history(id chat.ThreadID) []message {
	answer, err := b.do(context.Background(), http.MethodGet, "/api/history?limit=200&conversation="+string(id), nil, "")
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var got struct{ Messages []message }
	if json.NewDecoder(answer.Body).Decode(&got) != nil {
		return nil
	}
	return slices.DeleteFunc(got.Messages, func(m message) bool { return m.From != agent || m.Deleted })
}

func textsOf(messages []message) []string {
	var texts []string
	for _, m := range messages {
		texts = append(texts, bare(m.HTML))
	}
	return texts
}

// bare is what a person reads.
func bare(page string) string {
	return html.UnescapeString(strings.TrimSpace(tag.ReplaceAllString(page, "")))
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

// Remove deletes a message behind the channel's back, as only its own journal could.
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
			b.written <- [3]string{"/api/buttons", uuid.NewString(), encodeJSON(map[string]any{"message": string(id), "data": button.Data})}
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
