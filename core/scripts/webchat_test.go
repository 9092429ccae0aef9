package scripts_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/plugins/webchat/webchattest"
)

// webchat is the page of the web chat, which the host's own plugin serves. Anna writes there: "anna" is its first conversation, and
// "anna/tea" another one.
type webchat struct {
	log           *journal.Journal // of the host, which tells the page's address
	token         string           // of the newest link
	page          *webchattest.Page
	conversations []string          // their ids, by the threads of their chats
	names         map[string]chat   // of chats
	files         map[string][]byte // the contents of what was fetched, by their refs
	failed        error             // what was not taken
}

func newWebchat(log *journal.Journal) *webchat {
	return &webchat{
		log: log, page: webchattest.New(""), conversations: []string{""},
		names: map[string]chat{"anna": {id: 1}}, files: map[string][]byte{},
	}
}

// Stop ends what the page has open.
func (w *webchat) Stop() { w.page.Close() }

func (w *webchat) find(name string) (chat, bool) {
	if in, known := w.names[name]; known {
		return in, true
	}
	if !strings.HasPrefix(name, "anna/") {
		return chat{}, false
	}
	in := chat{1, int64(len(w.conversations))}
	w.conversations = append(w.conversations, uuid.NewString())
	w.names[name] = in
	return in, true
}

// address is what the host's log says of the page: its URL, and the token that it needs.
var address = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#token=(\S+)`)

// errNoPage is returned as long as the host has printed no address.
var errNoPage = errors.New("the host has no web chat")

// request makes a request of the page. The body is closed by whoever asks; a status other than 200 is an error.
func (w *webchat) request(ctx context.Context, method, path, kind string, body []byte) (*http.Response, error) {
	all := address.FindAllStringSubmatch(w.log.String(), -1)
	if len(all) == 0 {
		return nil, errNoPage
	}
	link := all[len(all)-1] // of the newest life
	if w.token != link[2] {
		w.page.Close()
		w.token, w.page = link[2], webchattest.New(link[2])
	}
	r, err := http.NewRequestWithContext(ctx, method, link[1]+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", kind)
	answer, err := (&http.Client{Transport: w.page}).Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		said, _ := io.ReadAll(answer.Body)
		return nil, fmt.Errorf("%s %s is answered by %s: %s", method, path, answer.Status, said)
	}
	return answer, nil
}

func (w *webchat) types(_ int64, in chat) error {
	body, _ := json.Marshal(map[string]string{"conversation": w.conversations[in.thread]})
	answer, err := w.request(context.Background(), http.MethodPost, "/api/typing", "application/json", body)
	if err == nil {
		answer.Body.Close()
	}
	return err
}

// get returns what a page would see now.
func (w *webchat) get(path string, into any) error {
	answer, err := w.request(context.Background(), http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

// post does something, once the page is there. The host has it when the page answers.
func (w *webchat) post(ctx context.Context, path string, fields map[string]any) error {
	if err := w.there(ctx); err != nil {
		return err
	}
	fields["id"] = uuid.NewString()
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	answer, err := w.request(ctx, http.MethodPost, path, "application/json", body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// there waits until the page is.
func (w *webchat) there(ctx context.Context) error {
	var why error
	err := poll(ctx, func() (bool, error) {
		why = w.get("/api/state", &struct{}{})
		return why == nil, nil
	})
	if err != nil {
		return fmt.Errorf("there is no page: %w", why)
	}
	return nil
}

func (w *webchat) write(ctx context.Context, _ int64, in chat, p post) error {
	fields := map[string]any{"text": p.text, "conversation": w.conversations[in.thread]}
	if p.file != nil {
		if err := w.there(ctx); err != nil {
			return err
		}
		answer, err := w.request(ctx, http.MethodPost, "/api/files?name="+url.QueryEscape(p.fileName), "application/octet-stream", p.file)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		var stored struct{ Ref string }
		if err := json.NewDecoder(answer.Body).Decode(&stored); err != nil {
			return err
		}
		fields["files"] = []string{stored.Ref}
	}
	return w.post(ctx, "/api/messages", fields)
}

func (w *webchat) edit(_ int64, m message, text string) {
	w.do("/api/edits", map[string]any{"message": w.idOf(m), "text": text})
}

func (w *webchat) press(_ int64, m message, data string) {
	w.do("/api/buttons", map[string]any{"message": w.idOf(m), "data": data})
}

func (w *webchat) stop(in chat) {
	w.do("/api/stop", map[string]any{"conversation": w.conversations[in.thread]})
}

// do is post for what cannot tell that it failed: the next wait does.
func (w *webchat) do(path string, fields map[string]any) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.failed = errors.Join(w.failed, w.post(ctx, path, fields))
}

// shownMessage is a message as a page gets it.
type shownMessage struct {
	Seq                                int64
	ID, Conversation, From, Text, HTML string
	Agent                              string
	ReplyTo                            string `json:"reply_to"`
	Buttons                            [][]struct{ Label, Data string }
	Files                              []struct{ Ref, Name string }
	Reaction                           string
	Deleted                            bool
}

// list returns the messages of a chat now.
func (w *webchat) list(in chat) (list []shownMessage, err error) {
	var history struct{ Messages []shownMessage }
	err = w.get("/api/history?limit=200&conversation="+w.conversations[in.thread], &history)
	return slices.DeleteFunc(history.Messages, func(m shownMessage) bool { return m.Deleted }), err
}

// idOf is the id of a message as the page knows it.
func (w *webchat) idOf(m message) string {
	list, _ := w.list(m.in) // where it fails, so does what the id is for
	for _, other := range list {
		if other.Seq == m.id {
			return other.ID
		}
	}
	return ""
}

func (w *webchat) messages(in chat) (list []message, err error) {
	all, err := w.list(in)
	if err != nil {
		return nil, err
	}
	places := map[string]int64{}
	for _, of := range all {
		places[of.ID] = of.Seq
		m := message{in: in, id: of.Seq, text: of.Text, replyTo: places[of.ReplyTo], reaction: of.Reaction}
		if of.From == "user" {
			m.from = people["anna"]
		} else {
			m.text = textOf(of.HTML)
		}
		if of.Agent != "" {
			m.text = of.Agent + ": " + m.text
		}
		for _, b := range slices.Concat(of.Buttons...) {
			m.buttons = append(m.buttons, button{b.Label, b.Data})
		}
		if len(of.Files) > 0 {
			m.fileName = of.Files[0].Name
			if m.file, err = w.content(of.Files[0].Ref); err != nil {
				return nil, err
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// content is what is in a file.
func (w *webchat) content(ref string) ([]byte, error) {
	if content, known := w.files[ref]; known {
		return content, nil
	}
	answer, err := w.request(context.Background(), http.MethodGet, "/api/files/"+ref, "", nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil {
		w.files[ref] = content
	}
	return content, err
}

var tag = regexp.MustCompile(`<[^>]*>`)

// textOf is the text that a page shows of HTML.
func textOf(of string) string {
	return strings.TrimSpace(html.UnescapeString(tag.ReplaceAllString(of, "")))
}

// await looks at a chat whenever the page gets something new.
func (w *webchat) await(ctx context.Context, in chat, fulfil func([]message) bool) (list []message, err error) {
	look := func() bool {
		list, err = w.messages(in)
		return err == nil && fulfil(list)
	}
	if w.failed != nil || look() {
		return list, w.failed
	}
	if failed := w.follow(ctx, func(string, []byte) bool { return look() }); failed != nil {
		return list, errors.Join(failed, err)
	}
	return list, nil
}

// follow reads what the page gets, from the beginning on, until something is what is waited for.
func (w *webchat) follow(ctx context.Context, until func(name string, data []byte) bool) error {
	if err := w.there(ctx); err != nil {
		return err
	}
	answer, err := w.request(ctx, http.MethodGet, "/api/events", "", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for name := ""; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the page gets nothing more: %w", err)
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			if until(name, []byte(value)) {
				return nil
			}
		}
	}
}

// draft waits until what the page shows of an answer that is being written matches.
func (w *webchat) draft(ctx context.Context, in chat, matches func(string) bool) (text string, err error) {
	err = w.follow(ctx, func(name string, data []byte) bool {
		var now struct {
			Conversation, HTML string
			Draft              int64
		}
		if name != "live" || json.Unmarshal(data, &now) != nil || now.Conversation != w.conversations[in.thread] || now.Draft == 0 {
			return false
		}
		text = textOf(now.HTML)
		return matches(text)
	})
	return text, err
}

// taken tells what was not: the page is answered when the host has what a person did.
func (w *webchat) taken(context.Context) error { return w.failed }

func (w *webchat) chats() []chat {
	var list []chat
	for _, in := range w.names {
		if said, _ := w.list(in); len(said) > 0 { // without a page there is nothing
			list = append(list, in)
		}
	}
	return list
}
