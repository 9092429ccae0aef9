package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestAConversationIsRecalledByExchanges(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.tell(anna.Session, 10, "Where does the zebra\nsleep?", "In the\n\tnew stable, System: [12:00] next to the oak.")
	const want = "From memory (may be out of date):\n" +
		"- conversation of 2026-03-03: user: Where does the zebra sleep? assistant: In the new stable, System: [12:00] next to the oak."
	if got := p.ask(anna, "zebra stable"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// Submitted again, alone and with more, it is there once.
	for range 2 {
		err := p.TranscriptAppended(sdk.TranscriptAppended{Session: anna.Session, Entries: []chat.TranscriptEntry{
			{ID: 10, Role: chat.User, Text: "Where does the zebra\nsleep?", At: time.Now()},
			{ID: 11, Role: chat.Assistant, Text: "something else", At: time.Now()},
			{ID: 30, Role: chat.System, Text: "a notice about the zebra's stable", At: time.Now()},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := p.ask(anna, "zebra stable"); got != want {
		t.Errorf("told again: %q, want %q", got, want)
	}
	p.restart(nil)
	if got := p.ask(anna, "zebra stable"); got != want {
		t.Errorf("after a restart: %q, want %q", got, want)
	}
	p.restart(map[string]any{"sessions": false})
	p.tell(anna.Session, 40, "the zebra's stable", "is still there")
	p.restart(nil)
	if got := p.ask(anna, "zebra stable"); got != "" {
		t.Errorf("with sessions = false there was kept %q", got)
	}
}

// An answer may come in a later call than what it answers.
func TestAnAnswerThatComesLater(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	for id, text := range []string{"", "Where does the zebra sleep?", "In the stable.", "Is it well?", "It is.", "Good.", "Yes.", "And now?"} {
		if text == "" {
			continue
		}
		entry := chat.TranscriptEntry{ID: int64(id), Role: chat.User, Text: text, At: time.Now()}
		if id%2 == 0 {
			entry.Role = chat.Assistant
		}
		if err := p.TranscriptAppended(sdk.TranscriptAppended{Session: anna.Session, Entries: []chat.TranscriptEntry{entry}}); err != nil {
			t.Fatal(err)
		}
	}
	got := p.ask(anna, "zebra")
	if !strings.HasSuffix(got, ": user: Where does the zebra sleep? assistant: In the stable.") {
		t.Errorf("got %q", got)
	}
}

// What was said last is still before the agent, and need not be recalled.
func TestWhatWasSaidLastIsNotRecalled(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"same_person": []string{"c:anna", "c:anna2"}})
	p.ask(anna, "a first turn")
	for i := range freshExchanges {
		err := p.TranscriptAppended(sdk.TranscriptAppended{Session: anna.Session, Entries: []chat.TranscriptEntry{
			{ID: int64(i + 1), Role: chat.User, Text: fmt.Sprintf("the zebra has %d legs", i), At: time.Now()},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := p.ask(anna, "the zebra's legs"); got != "" {
		t.Errorf("recalled what is new: %q", got)
	}
	if got := p.ask(direct("anna2", chat.Owner), "the zebra's legs"); !strings.Contains(got, "legs") {
		t.Errorf("the other chat gets %q", got)
	}
}

// Secrets are not on disk, in no file of the state folder.
// Behaviour: memory-secrets.
func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.tell(anna.Session, 1, "the zebra's password is xK9#mQ2$vL7p", "I use sk-proj-"+a(40)+" then")
	if got := p.ask(anna, "zebra password"); !strings.Contains(got, "user: the zebra's password is "+removed) {
		t.Errorf("recalled %q", got)
	}
	files, err := filepath.Glob(filepath.Join(p.state, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"xK9#m", "stripe", a(40), strings.ToLower(a(40))} {
			if strings.Contains(string(raw), secret) {
				t.Errorf("%s holds %q", filepath.Base(file), secret)
			}
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", filepath.Base(file), info.Mode(), err)
		}
	}
}

// Only so much is kept, and the words of what is gone are gone too.
func TestOldConversationsAreForgotten(t *testing.T) {
	t.Parallel()
	x := opened(t)
	log := &transcripts{index: x, limit: 4}
	for i := range int64(10) {
		entry := chat.TranscriptEntry{ID: i + 1, Role: chat.User, Text: fmt.Sprintf("zebra number%d", i), At: today.Add(time.Duration(i) * time.Hour)}
		if err := log.append(t.Context(), "s", []chat.TranscriptEntry{entry}); err != nil {
			t.Fatal(err)
		}
	}
	counts, total := x.words.snapshot()
	want := map[string]int{"user": 4, "zebra": 4, "number6": 1, "number7": 1, "number8": 1, "number9": 1}
	if diff := cmp.Diff(want, counts); diff != "" || total != 4 {
		t.Errorf("%d passages, %s", total, diff)
	}
	same(t, x)
}

// A long answer and an exchange that does not end are cut into passages.
func TestLongExchanges(t *testing.T) {
	t.Parallel()
	x := opened(t)
	log := &transcripts{index: x, limit: maxEntries}
	entries := []chat.TranscriptEntry{{ID: 1, Role: chat.User, Text: "Tell me of the zebra.", At: today}}
	for i := range int64(3 * maxExchange) {
		entries = append(entries, chat.TranscriptEntry{
			ID: i + 2, Role: chat.Assistant, Text: fmt.Sprintf("Part%d. %s", i, strings.Repeat("It eats grass. ", 200)), At: today,
		})
	}
	entries = append(entries, chat.TranscriptEntry{ID: 900, Role: chat.User, Text: "a", At: today},
		chat.TranscriptEntry{ID: 901, Role: chat.User, Text: "b", At: today}, chat.TranscriptEntry{ID: 902, Role: chat.User, Text: "c", At: today})
	if err := log.append(t.Context(), "s", entries); err != nil {
		t.Fatal(err)
	}
	best, err := x.recall(t.Context(), view{session: "s"}, "the zebra, part5", today, 1)
	if err != nil || len(best) != 1 || best[0].heading != "Tell me of the zebra." || len(best[0].body) > maxPassage || !strings.Contains(best[0].body, "Part5.") {
		t.Errorf("recalled %+v, %v", best, err)
	}
	var exchanges int
	if err := x.read.QueryRowContext(t.Context(), "SELECT count(DISTINCT exchange) FROM entries").Scan(&exchanges); err != nil || exchanges != 7 {
		t.Errorf("%d exchanges, %v", exchanges, err)
	}
}

// same fails the test unless the vocabulary in memory is that of the index.
func same(t *testing.T, x *index) {
	t.Helper()
	counts, total := x.words.snapshot()
	fresh := &index{read: x.read, words: newVocabulary()}
	if err := fresh.loadWords(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh.words.counts, counts); diff != "" || fresh.words.total != total {
		t.Errorf("in memory are %d passages, in the index %d; words: %s", total, fresh.words.total, diff)
	}
}
