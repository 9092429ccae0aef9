package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/chat"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	host := strings.TrimPrefix(b.base, "http://")
	port := host[strings.LastIndex(host, ":"):]
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	tests := map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"a request of the page":     {"GET", "/api/history", nil, 200},
		"by localhost":              {"GET", "/api/history", func(r *http.Request) { r.Host = "localhost" + port }, 403},
		"by localhost, the page":    {"GET", "/", func(r *http.Request) { r.Host = "localhost" + port }, 307},
		"by a bound name":           {"GET", "/api/history", func(r *http.Request) { r.Host = "evil.example" + port }, 403},
		"by another port":           {"GET", "/api/history", func(r *http.Request) { r.Host = "localhost:1" }, 403},
		"by a name, the page":       {"GET", "/", func(r *http.Request) { r.Host = "evil.example" + port }, 403},
		"from another page":         {"POST", "/api/messages", header("Origin", "http://evil.example"), 403},
		"from another local server": {"POST", "/api/messages", header("Origin", "http://127.0.0.1:1"), 403},
		"from another scheme":       {"POST", "/api/messages", header("Origin", "https://"+host), 403},
		"from a sandbox":            {"POST", "/api/messages", header("Origin", "null"), 403},
		"reading, from another":     {"GET", "/api/history", header("Origin", "http://evil.example"), 403},
		"no such file":              {"GET", "/api/files/a", nil, 404},
		"a path for a file":         {"GET", "/api/files/..%2ftoken", nil, 404},
		"uploading from elsewhere":  {"POST", "/api/files", header("Origin", "http://evil.example"), 403},
		"deleting from elsewhere":   {"DELETE", "/api/conversations/a", header("Origin", "http://evil.example"), 403},
		"a form":                    {"POST", "/api/messages", header("Content-Type", "application/x-www-form-urlencoded"), 415},
		"plain text":                {"POST", "/api/messages", header("Content-Type", "text/plain"), 415},
		"another method":            {"DELETE", "/api/messages", nil, 405},
		"no such path":              {"GET", "/api/secrets", nil, 404},
		"posting to the page":       {"POST", "/", nil, 405},
		"a file beside the page":    {"GET", "/main.go", nil, 404},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := b.request(t, test.method, test.path, map[string]string{"id": "a", "text": "b"}, test.change)
			if answer.StatusCode != test.want {
				t.Errorf("%s %s: got %d, want %d", test.method, test.path, answer.StatusCode, test.want)
			}
			h := answer.Header
			if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers: %v", h)
			}
		})
	}
	if texts := b.host.texts(); len(texts) > 0 {
		t.Errorf("submitted: %q", texts)
	}
}

func TestPageFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, want := range map[string]string{
		"/": "text/html", "/app.js": "text/javascript", "/style.css": "text/css", "/theme.js": "text/javascript", "/icon.svg": "image/svg+xml",
	} {
		answer := b.request(t, http.MethodGet, path, nil, nil)
		if got := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || !strings.HasPrefix(got, want) {
			t.Errorf("GET %s: %d, %s", path, answer.StatusCode, got)
		}
	}
}

func TestPostChecksTheMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tests := map[string]struct {
		id, text string
		want     int
	}{
		"no id":            {"", "a", 400},
		"no UUID":          {"../../etc", "a", 400},
		"an id of others":  {strings.ToUpper(uuid.NewString()), "a", 400},
		"no text":          {uuid.NewString(), "", 400},
		"only space":       {uuid.NewString(), " \n\t", 400},
		"the largest":      {uuid.NewString(), strings.Repeat("a", maxBody-100), 200},
		"larger than that": {uuid.NewString(), strings.Repeat("a", maxBody), 413},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if status, got := b.post(t, test.id, test.text); status != test.want {
				t.Errorf("got %d %v, want %d", status, got, test.want)
			}
		})
	}
	answer := b.request(t, http.MethodPost, "/api/messages", "no object", nil)
	if answer.StatusCode != 400 {
		t.Errorf("no object: %d", answer.StatusCode)
	}
}

// Behaviour: typing-networks.
func TestThePageTellsWhoIsTyping(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conversation := uuid.NewString()
	for _, test := range []struct {
		body   any
		status int
	}{
		{map[string]any{"conversation": ""}, 200},
		{map[string]any{"conversation": conversation, "stopped": true}, 200},
		{map[string]any{"conversation": "main"}, 400},
		{map[string]any{"conversation": strings.Repeat("x", 100_000)}, 400},
		{map[string]any{"conversation": 1}, 400},
		{"no object", 400},
	} {
		if answer := b.request(t, http.MethodPost, "/api/typing", test.body, nil); answer.StatusCode != test.status {
			t.Errorf("%v: %d, want %d", test.body, answer.StatusCode, test.status)
		}
	}
	you := chat.Typing{Chat: chat.Chat{ID: "local", Kind: chat.Direct}, Sender: chat.Sender{ID: "local", DisplayName: "You"}}
	stopped := you
	stopped.Thread, stopped.Stopped = chat.ThreadID(conversation), true
	if diff := cmp.Diff([]chat.Typing{you, stopped}, b.host.typed); diff != "" {
		t.Errorf("the host learned (-want +got):\n%s", diff)
	}
	if len(b.host.events) > 0 {
		t.Errorf("submitted: %+v", b.host.events)
	}
}

func TestTheSameIDIsTheSameMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := uuid.NewString()
	_, first := b.post(t, id, "once")
	_, second := b.post(t, id, "once")
	b.stop()
	b = start(t, b.dir, nil)
	status, third := b.post(t, id, "once")
	if first["duplicate"] != false || second["duplicate"] != true || third["duplicate"] != true || status != 200 {
		t.Errorf("got %v, %v, %d %v", first, second, status, third)
	}
	messages, _ := b.history(t, "")
	if diff := cmp.Diff([]string{"user accepted once"}, describeAll(messages)); diff != "" {
		t.Error(diff)
	}
	if texts := b.host.texts(); len(texts) > 0 {
		t.Errorf("submitted again: %q", texts)
	}
}

func TestRejected(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), func(context.Context, chat.Event) (chat.Verdict, error) { return chat.Rejected, nil })
	id := uuid.NewString()
	for range 2 {
		if status, got := b.post(t, id, "no"); status != 422 || got["error"] == nil {
			t.Errorf("got %d %v", status, got)
		}
	}
	messages, _ := b.history(t, "")
	if diff := cmp.Diff([]string{"user rejected no"}, describeAll(messages)); diff != "" {
		t.Error(diff)
	}
}

// The answer to a post comes after the host has the message, not before.
func TestPostAnswersAfterSubmit(t *testing.T) {
	t.Parallel()
	asked, let := make(chan struct{}), make(chan struct{})
	b := start(t, t.TempDir(), func(context.Context, chat.Event) (chat.Verdict, error) {
		close(asked)
		<-let
		return chat.Accepted, nil
	})
	answered := make(chan int, 1)
	go func() {
		status, _ := b.post(t, uuid.NewString(), "wait")
		answered <- status
	}()
	<-asked
	messages, _ := b.history(t, "")
	if diff := cmp.Diff([]string{"user pending wait"}, describeAll(messages)); diff != "" {
		t.Error(diff)
	}
	select {
	case status := <-answered:
		t.Errorf("answered %d while the host was deciding", status)
	default:
	}
	close(let)
	if status := <-answered; status != 200 {
		t.Errorf("got %d", status)
	}
}

func TestTooManyWaiting(t *testing.T) {
	t.Parallel()
	j, _, err := openJournal(t.TempDir()+"/messages.jsonl", newBroadcast())
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	for i := range maxWaiting {
		if _, _, err := j.say(record{ID: chat.MessageID(fmt.Sprint("u", i))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := j.say(record{ID: "one more"}); err == nil {
		t.Error("one more was kept")
	}
	if _, added, err := j.say(record{ID: "u0"}); err != nil || added {
		t.Errorf("the first again: added %v, %v", added, err)
	}
}

func TestButtons(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows := [][]chat.Button{{{Label: "Yes", Data: "y"}, {Label: "No", Data: "n"}}}
	receipt, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: local, Text: "Well?", Buttons: rows})
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := b.history(t, "")
	if diff := cmp.Diff([][]button{{{"Yes", "y"}, {"No", "n"}}}, messages[0].Buttons); diff != "" {
		t.Error(diff)
	}
	press := func(id, message, data string) int {
		body := map[string]string{"id": id, "message": message, "data": data}
		return b.request(t, http.MethodPost, "/api/buttons", body, nil).StatusCode
	}
	id, message := uuid.NewString(), string(receipt.IDs[0])
	for name, test := range map[string]struct{ got, want int }{
		"a button":          {press(id, message, "n"), 200},
		"again":             {press(id, message, "n"), 200},
		"another data":      {press(uuid.NewString(), message, "rm -rf"), 404},
		"another message":   {press(uuid.NewString(), "m99", "n"), 404},
		"an id that is not": {press("x", message, "n"), 400},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %d, want %d", name, test.got, test.want)
		}
	}
	var pressed []chat.Body
	for _, e := range b.host.events {
		pressed = append(pressed, e.Body)
	}
	if diff := cmp.Diff([]chat.Body{chat.ButtonPress{MessageID: receipt.IDs[0], Data: "n"}}, pressed); diff != "" {
		t.Error(diff)
	}
}

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 7 {
		b.send(t, fmt.Sprint(i))
	}
	var got []string
	for query := "?limit=3"; ; {
		messages, more := b.history(t, query)
		got = append(describeAll(messages), got...)
		if !more {
			break
		}
		query = fmt.Sprintf("?limit=3&before=%d", messages[0].Seq)
	}
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprintf("agent  <p>%d</p>", i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{"?limit=0", "?limit=-1", "?limit=x", "?before=-1", "?before=99999999999999999999"} {
		if answer := b.request(t, http.MethodGet, "/api/history"+query, nil, nil); answer.StatusCode != 400 {
			t.Errorf("%s: %d", query, answer.StatusCode)
		}
	}
}

// What a page asks for besides messages reaches the host once, and a refusal is shown.
func TestStopAndEdit(t *testing.T) {
	t.Parallel()
	refuses := false
	b := start(t, t.TempDir(), func(_ context.Context, e chat.Event) (chat.Verdict, error) {
		if _, message := e.Body.(chat.Message); !message && refuses {
			return chat.Rejected, nil
		}
		return chat.Accepted, nil
	})
	conversation := uuid.NewString()
	b.sayIn(t, conversation, "slow")
	said := b.host.events[0].Body.(chat.Message).ID
	theirs := b.send(t, "the agent's")
	id := uuid.NewString()
	tests := []struct {
		name, path string
		body       map[string]any
		refuses    bool
		want       int
	}{
		{"stop", "stop", map[string]any{"id": id, "conversation": conversation}, false, 200},
		{"stop again", "stop", map[string]any{"id": id, "conversation": conversation}, false, 200},
		{"stop nowhere", "stop", map[string]any{"id": uuid.NewString(), "conversation": uuid.NewString()}, false, 400},
		{"stop without an id", "stop", map[string]any{"conversation": conversation}, false, 400},
		{"stop, refused", "stop", map[string]any{"id": uuid.NewString(), "conversation": conversation}, true, 422},
		{"edit", "edits", map[string]any{"id": uuid.NewString(), "message": said, "text": "slower"}, false, 200},
		{"edit too late", "edits", map[string]any{"id": uuid.NewString(), "message": said, "text": "too late"}, true, 422},
		{"edit to nothing", "edits", map[string]any{"id": uuid.NewString(), "message": said, "text": " "}, false, 400},
		{"edit the agent's", "edits", map[string]any{"id": uuid.NewString(), "message": theirs, "text": "mine"}, false, 400},
		{"edit nothing", "edits", map[string]any{"id": uuid.NewString(), "message": "m99", "text": "a"}, false, 400},
		{"edit without an id", "edits", map[string]any{"message": said, "text": "a"}, false, 400},
	}
	for _, test := range tests {
		refuses = test.refuses
		if answer := b.request(t, http.MethodPost, "/api/"+test.path, test.body, nil); answer.StatusCode != test.want {
			t.Errorf("%s: %s, want %d", test.name, answer.Status, test.want)
		}
	}
	var got []chat.Body
	for _, e := range b.host.events[1:] {
		got = append(got, e.Body)
		if e.Thread != chat.ThreadID(conversation) {
			t.Errorf("event %+v", e)
		}
	}
	if diff := cmp.Diff([]chat.Body{chat.StopRequest{}, chat.Edited{ID: said, Text: "slower"}}, got); diff != "" {
		t.Error(diff)
	}
	b.stop()
	b = start(t, b.dir, nil)
	if messages, _ := b.history(t, "?conversation="+conversation); len(messages) != 1 || messages[0].Text != "slower" || !messages[0].Edited {
		t.Errorf("after the edit: %+v", messages)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream := b.events(t, 0)
	if err := b.SetCommands(t.Context(), []chat.CommandSpec{{Name: "new", Usage: "/new", Summary: "start again"}}); err != nil {
		t.Fatal(err)
	}
	for name := ""; name != "commands"; {
		name, _ = stream.any()
	}
	b.send(t, "hello")
	answer := b.request(t, http.MethodGet, "/api/state", nil, nil)
	var got struct {
		Title         string
		Conversations []summary
		Commands      []command
		Limits        map[string]int
		Last          int64
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Title != "Claw" || got.Last != 1 || len(got.Conversations) != 1 || got.Conversations[0].Last != 1 ||
		got.Limits["file_bytes"] != maxUpload || got.Limits["files"] != maxFiles {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]command{{"new", "/new", "start again"}}, got.Commands); diff != "" {
		t.Error(diff)
	}
}

// A disk that takes nothing fails each change, and none of them is half made.
func TestChangesThatCannotBeKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.send(t, "as it was")
	func() {
		b.journal.mu.Lock()
		defer b.journal.mu.Unlock()
		readOnly, err := os.Open(b.journal.lines.path)
		if err != nil {
			t.Fatal(err)
		}
		b.journal.lines.file.Close()
		b.journal.lines.file = readOnly
	}()
	for name, err := range map[string]error{
		"edit":   b.Edit(t.Context(), local, id, "changed", nil),
		"delete": b.Delete(t.Context(), local, id),
		"react":  b.React(t.Context(), local, id, "👍"),
	} {
		var failure *chat.Failure
		if !errors.As(err, &failure) || failure.Reason != chat.Temporary {
			t.Errorf("%s: %v", name, err)
		}
	}
	for path, body := range map[string]any{"edits": map[string]any{}, "messages": map[string]any{"id": uuid.NewString(), "text": "a"}} {
		if answer := b.request(t, http.MethodPost, "/api/"+path, body, nil); answer.StatusCode < 400 {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	if answer := b.request(t, http.MethodPut, "/api/conversations/main", map[string]any{"title": "Home"}, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json")
	}); answer.StatusCode != 500 {
		t.Errorf("rename: %s", answer.Status)
	}
	messages, _ := b.history(t, "")
	if diff := cmp.Diff([]string{"agent  <p>as it was</p>"}, describeAll(messages)); diff != "" || b.listed()[0] != "Main" {
		t.Error(diff, b.listed())
	}
}
