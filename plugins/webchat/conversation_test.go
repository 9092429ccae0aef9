package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/chat"
)

// sayIn posts a new message of a conversation that must be taken.
func (b *bundle) sayIn(t *testing.T, conversation, text string) {
	t.Helper()
	body := map[string]string{"id": uuid.NewString(), "conversation": conversation, "text": text}
	if answer := b.request(t, http.MethodPost, "/api/messages", body, nil); answer.StatusCode != http.StatusOK {
		t.Fatalf("post %q: %s", text, answer.Status)
	}
}

// listed returns the titles of the conversations, in the order of their beginning.
func (b *bundle) listed() []string {
	list, _ := b.journal.conversations()
	slices.SortFunc(list, func(a, b summary) int { return strings.Compare(a.Title, b.Title) })
	var titles []string
	for _, s := range list {
		titles = append(titles, s.Title)
	}
	return titles
}

func thread(id string) chat.Address {
	return chat.Address{Channel: "webchat", Chat: "local", Thread: chat.ThreadID(id)}
}

// Behaviour: session-thread-own.
func TestConversationsStayApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := uuid.NewString(), uuid.NewString()
	b.say(t, "in the first")
	b.sayIn(t, one, "  Plan a   trip\nto Rome")
	b.sayIn(t, two, "Fix the build")
	if _, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: thread(one), Text: "gladly"}); err != nil {
		t.Fatal(err)
	}
	var threads []chat.ThreadID
	for _, e := range b.host.events {
		threads = append(threads, e.Thread)
		if e.Isolated != (e.Thread != "") || e.Chat.ID != "local" || e.Sender.ID != "local" {
			t.Errorf("event %+v", e)
		}
	}
	if diff := cmp.Diff([]chat.ThreadID{"", chat.ThreadID(one), chat.ThreadID(two)}, threads); diff != "" {
		t.Error(diff)
	}
	check := func(b *bundle) {
		t.Helper()
		for query, want := range map[string][]string{
			"":                     {"user accepted in the first"},
			"?conversation=" + one: {"user accepted   Plan a   trip\nto Rome", "agent  <p>gladly</p>"},
			"?conversation=" + two: {"user accepted Fix the build"},
		} {
			messages, _ := b.history(t, query)
			if diff := cmp.Diff(want, describeAll(messages), cmpopts.AcyclicTransformer("trim", strings.Fields)); diff != "" {
				t.Error(diff)
			}
		}
		if diff := cmp.Diff([]string{"Fix the build", "Main", "Plan a trip"}, b.listed()); diff != "" {
			t.Error(diff)
		}
	}
	check(b)
	b.stop()
	check(start(t, b.dir, nil))
}

func TestRenameAndDeleteAConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := uuid.NewString()
	b.say(t, "stays")
	b.sayIn(t, id, "goes")
	stream := b.events(t, 0)
	do := func(method, path, title string, want int) {
		t.Helper()
		answer := b.request(t, method, "/api/conversations/"+path, map[string]string{"title": title}, func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
		})
		if answer.StatusCode != want {
			t.Errorf("%s %s %q: %s, want %d", method, path, title, answer.Status, want)
		}
	}
	do("PUT", id, "Holidays", 200)
	do("PUT", "main", "Home", 200)
	do("PUT", id, " \n", 400)
	do("PUT", uuid.NewString(), "Nobody's", 404)
	do("DELETE", "main", "", 404)
	do("DELETE", uuid.NewString(), "", 404)
	if diff := cmp.Diff([]string{"Holidays", "Home"}, b.listed()); diff != "" {
		t.Error(diff)
	}
	do("DELETE", id, "", 200)
	do("DELETE", id, "", 404)
	for list := ""; list != `[{"id":"","title":"Home"`; {
		name, data := stream.any()
		if list = string(data[:min(len(data), 24)]); name == "conversations" && strings.Contains(string(data), id) {
			list = ""
		}
	}
	check := func(b *bundle, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, b.listed()); diff != "" {
			t.Error(diff)
		}
		if messages, _ := b.history(t, "?conversation="+id); len(messages) != len(want)-1 {
			t.Errorf("what is left in it: %v", describeAll(messages))
		}
		if messages, _ := b.history(t, ""); len(messages) != 1 {
			t.Errorf("what is left elsewhere: %v", describeAll(messages))
		}
	}
	check(b, "Home")
	b.stop()
	again := start(t, b.dir, nil)
	check(again, "Home")
	// What the agent says in it after that is not lost: it is there again.
	if _, err := again.Send(t.Context(), chat.Outgoing{Key: "late", To: thread(id), Text: "I am done"}); err != nil {
		t.Fatal(err)
	}
	check(again, "Conversation", "Home")
}

// A message that waits for the host goes with its conversation, and the host never gets it.
func TestDeletingForgetsWhatWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, dir, nil)
	b.stop()
	j, _, err := openJournal(filepath.Join(dir, "messages.jsonl"), newBroadcast())
	if err != nil {
		t.Fatal(err)
	}
	id := chat.ThreadID(uuid.NewString())
	if _, _, err := j.say(record{ID: "a", Thread: id, Text: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := j.forget(id); err != nil {
		t.Fatal(err)
	}
	if waiting := j.waiting(); len(waiting) > 0 {
		t.Errorf("waiting: %v", waiting)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	b = start(t, dir, nil)
	b.say(t, "b")
	if diff := cmp.Diff([]string{"b"}, b.host.texts()); diff != "" {
		t.Error(diff)
	}
}

func TestConversationsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range maxConversations - 1 {
		b.sayIn(t, uuid.NewString(), fmt.Sprint(i))
	}
	body := map[string]string{"id": uuid.NewString(), "conversation": uuid.NewString(), "text": "one more"}
	if answer := b.request(t, http.MethodPost, "/api/messages", body, nil); answer.StatusCode != http.StatusConflict {
		t.Errorf("one more: %s", answer.Status)
	}
	_, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: thread(uuid.NewString()), Text: "one more"})
	if f := new(chat.Failure); !errors.As(err, &f) || f.Reason != chat.ChatNotFound || f.MaybeDelivered {
		t.Errorf("one more of the agent's: %v", err)
	}
	b.say(t, "in one that is there")
}

func TestTitleOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "Conversation",
		" \n hello\nthere":        "hello",
		"a\tb   c":                "a b c",
		"\xff":                    "Conversation",
		strings.Repeat("ü", 100):  strings.Repeat("ü", 79) + "…",
		strings.Repeat("ab ", 80): strings.TrimSpace(strings.Repeat("ab ", 26)) + " a…",
	} {
		if got := titleOf(text); got != want {
			t.Errorf("titleOf(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestATitleHasNoMarkdownAndIsOfNoCommand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		said []string // "<" is an answer
		want string
	}{
		"heading":              {[]string{"# Plan"}, "Plan"},
		"styles":               {[]string{"Fix **x** and `y` _now_, see [this](https://x.org)"}, "Fix x and y now, see this"},
		"code":                 {[]string{"```go\nfunc main() {}\n```\nWhat is it?"}, "func main() {}"},
		"no markup":            {[]string{"is snake_case_here 2 * 3 <b>?"}, "is snake_case_here 2 * 3 <b>?"},
		"long markup":          {[]string{strings.Repeat("*ü* ", 1000)}, strings.Repeat("ü ", 39) + "ü…"},
		"command":              {[]string{"/cd x"}, "/cd x"},
		"command, message":     {[]string{"/cd x", "/new", "**Look** at it", "and at that"}, "Look at it"},
		"path":                 {[]string{"/etc/hosts is wrong", "why?"}, "/etc/hosts is wrong"},
		"message, command":     {[]string{"hello", "/status", "more"}, "hello"},
		"answer, then message": {[]string{"<", "thanks"}, "thanks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal(t)
			defer func() { _ = j.close() }()
			for n, text := range test.said {
				var err error
				if text == "<" {
					_, _, err = j.answer(record{Key: "1", Thread: "one", Text: "good morning"})
				} else {
					_, _, err = j.say(record{ID: chat.MessageID(fmt.Sprint(n)), Thread: "one", Text: text})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			j, _ = reopen(t, j)
			if got := j.threads["one"].Title; got != test.want {
				t.Errorf("title %q, want %q", got, test.want)
			}
			if err := j.rename("one", "My `own`"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := j.say(record{ID: "later", Thread: "one", Text: "later"}); err != nil {
				t.Fatal(err)
			}
			if got := j.threads["one"].Title; got != "My `own`" {
				t.Errorf("renamed, then %q", got)
			}
		})
	}
}

// Wherever a crash cuts the file off, what is left is a beginning of what happened, and it goes on from there.
func TestJournalOutlivesACutAnywhere(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	defer j.close()
	one, two := chat.ThreadID("one"), chat.ThreadID("two")
	var happened []string // what there is after each line
	note := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		happened = append(happened, contents(j))
	}
	happened = append(happened, contents(j))
	add := func(_ record, _ bool, err error) { t.Helper(); note(err) }
	add(j.say(record{ID: "a", Text: "a"}))
	// A conversation begins with its first message; a cut between the two leaves it empty.
	happened = append(happened, "=Main[a] one=b[]")
	add(j.say(record{ID: "b", Thread: one, Text: "b"}))
	note(j.update("b", setText("B")))
	note(j.rename(one, "first"))
	happened = append(happened, "=Main[a] one=first[B] two=Conversation[]")
	add(j.answer(record{Key: "1", Thread: two, Text: "c", Buttons: [][]chat.Button{{{Label: "l", Data: "d"}}}}))
	note(j.forget(one))
	add(j.answer(record{Key: "2", Text: "d"}))
	whole, err := os.ReadFile(j.lines.path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut <= len(whole); cut += 3 {
		path := filepath.Join(t.TempDir(), "messages.jsonl")
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		next, damaged, err := openJournal(path, newBroadcast())
		if err != nil || damaged != 0 {
			t.Fatalf("cut at %d: %d damaged, %v", cut, damaged, err)
		}
		lines := strings.Count(string(whole[:cut]), "\n")
		if got, want := contents(next), happened[lines]; got != want {
			t.Errorf("cut at %d, after %d lines: %s, want %s", cut, lines, got, want)
		}
		if _, _, err := next.answer(record{Key: "new", Text: "new"}); err != nil {
			t.Fatal(err)
		}
		before := contents(next)
		next, damaged = reopen(t, next)
		if got := contents(next); got != before || damaged != 0 {
			t.Errorf("cut at %d and opened again: %s, want %s; %d damaged", cut, got, before, damaged)
		}
		if err := next.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// contents writes what a journal holds.
func contents(j *journal) string {
	list, _ := j.conversations()
	slices.SortFunc(list, func(a, b summary) int { return strings.Compare(string(a.ID), string(b.ID)) })
	var all []string
	for _, c := range list {
		page, _ := j.before(c.ID, 0, 100)
		all = append(all, fmt.Sprintf("%s=%s[%s]", c.ID, c.Title, texts(page)))
	}
	return strings.Join(all, " ")
}
