package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/chat"
)

func reopen(t interface {
	Helper()
	Fatal(...any)
}, j *journal,
) (_ *journal, damaged int) {
	t.Helper()
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	j, damaged, err := openJournal(j.lines.path, newBroadcast())
	if err != nil {
		t.Fatal(err)
	}
	return j, damaged
}

func newJournal(t *testing.T) *journal {
	t.Helper()
	j, _, err := openJournal(filepath.Join(t.TempDir(), "messages.jsonl"), newBroadcast())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.close() })
	return j
}

func answers(t *testing.T, j *journal, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, _, err := j.answer(record{Key: fmt.Sprint(i), Text: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func texts(records []record) string {
	var all []string
	for _, r := range records {
		all = append(all, r.Text)
	}
	return strings.Join(all, " ")
}

// A line that was cut off by a crash was not acknowledged: it is dropped, and the next line takes its place.
func TestJournalDropsATornLine(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	answers(t, j, 0, 1)
	if _, _, err := j.answer(record{Key: "1", Text: strings.Repeat("long ", 100)}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(j.lines.path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < 40; cut += 13 {
		if err := os.WriteFile(j.lines.path, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		next, damaged := reopen(t, j)
		answers(t, next, 7, 8)
		next, again := reopen(t, next)
		got, _ := next.before("", 0, 10)
		if texts(got) != "0 7" || damaged != 0 || again != 0 {
			t.Errorf("cut by %d: got %q, damaged %d and %d", cut, texts(got), damaged, again)
		}
		j = next
	}
	_ = j.close()
}

// Nothing is left of a line whose write failed, even if the next one is shorter.
func TestJournalCutsOffAFailedWrite(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	answers(t, j, 0, 1)
	j.lines.torn = true
	if _, err := j.lines.file.WriteAt([]byte(strings.Repeat("x", 500)+"\n"), j.lines.size); err != nil {
		t.Fatal(err)
	}
	answers(t, j, 1, 2)
	j, damaged := reopen(t, j)
	defer j.close()
	if got, _ := j.before("", 0, 10); texts(got) != "0 1" || damaged != 0 {
		t.Errorf("got %q, damaged %d", texts(got), damaged)
	}
}

func TestJournalLeavesOutDamagedLines(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	answers(t, j, 0, 3)
	whole, err := os.ReadFile(j.lines.path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines[1] = "\x00\x00\n"
	if err := os.WriteFile(j.lines.path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	j, damaged := reopen(t, j)
	defer j.close()
	if got, _ := j.before("", 0, 10); texts(got) != "0 2" || damaged != 1 {
		t.Errorf("got %q, damaged %d", texts(got), damaged)
	}
}

func TestJournalForgetsTheOldest(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	answers(t, j, 0, maxRecords+5)
	page, more := j.before("", 0, maxRecords+5)
	if len(page) != maxRecords || more || page[0].Text != "5" {
		t.Errorf("%d messages, beginning with %q", len(page), page[0].Text)
	}
	if _, added, err := j.answer(record{Key: fmt.Sprint(maxRecords), Text: "again"}); added || err != nil {
		t.Errorf("a kept key: added %v, %v", added, err)
	}
}

func TestJournalBoundsItsBytes(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	large := strings.Repeat("a", 1<<20)
	for i := range 12 {
		if _, _, err := j.answer(record{Key: fmt.Sprint(i), Text: large}); err != nil {
			t.Fatal(err)
		}
	}
	if page, _ := j.before("", 0, 100); len(page) != 7 || page[6].Key != "11" {
		t.Errorf("%d messages", len(page))
	}
}

// Repeated changes do not make the file grow forever, and rewriting it loses nothing.
func TestJournalCompacts(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	answers(t, j, 0, 3)
	for i := range 1500 {
		if err := j.update("m2", setText(fmt.Sprint("v", i))); err != nil {
			t.Fatal(err)
		}
	}
	j, damaged := reopen(t, j)
	defer j.close()
	if got, _ := j.before("", 0, 10); texts(got) != "0 v1499 2" || j.last() != 1503 || damaged != 0 {
		t.Errorf("got %q at %d, damaged %d", texts(got), j.last(), damaged)
	}
	if info, err := os.Stat(j.lines.path); err != nil || info.Size() > 100_000 || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A revision is never used twice, nor is a message's id, even if the newest revision was that of a message forgotten since.
func TestJournalNeverGoesBack(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	answers(t, j, 0, 3)
	if err := j.update("m1", setText(strings.Repeat("a", maxBytes))); err != nil {
		t.Fatal(err)
	}
	if err := j.compact(); err != nil {
		t.Fatal(err)
	}
	j, _ = reopen(t, j)
	defer j.close()
	r, _, err := j.answer(record{Key: "next", Text: "next"})
	if got, _ := j.before("", 0, 10); err != nil || texts(got) != "1 2 next" || r.ID != "m5" {
		t.Errorf("got %q, the last as %s, %v", texts(got), r.ID, err)
	}
}

// Whatever is done to a journal and whenever it is reopened, it has the content of a list in memory, and since returns
// each message at its last change.
func TestJournalIsAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "webchat")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		j, _, err := openJournal(filepath.Join(dir, "messages.jsonl"), newBroadcast())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = j.close() }()
		var model []record
		where := rapid.SampledFrom([]chat.ThreadID{"", "x"})
		check := func(r record, added bool, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if added {
				model = append(model, r)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"say": func(t *rapid.T) {
				id := rapid.SampledFrom([]chat.MessageID{"a", "b", "c", "d"}).Draw(t, "id")
				check(j.say(record{ID: id, Thread: where.Draw(t, "thread"), Text: rapid.String().Draw(t, "text")}))
			},
			"answer": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(t, "key")
				check(j.answer(record{Key: key, Thread: where.Draw(t, "thread"), Text: rapid.String().Draw(t, "text")}))
			},
			"update": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nothing to update")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				if err := j.update(model[i].ID, setText(model[i].Text+"!")); err != nil {
					t.Fatal(err)
				}
				model[i], _ = j.get(model[i].ID)
			},
			"delete a conversation": func(t *rapid.T) {
				if err := j.forget("x"); err != nil && !errors.Is(err, errNoConversation) {
					t.Fatal(err)
				}
				model = slices.DeleteFunc(model, func(r record) bool { return r.Thread == "x" })
			},
			"rename a conversation": func(t *rapid.T) {
				if err := j.rename("x", "another title"); err != nil && !errors.Is(err, errNoConversation) {
					t.Fatal(err)
				}
			},
			"compact": func(t *rapid.T) {
				if err := j.compact(); err != nil {
					t.Fatal(err)
				}
			},
			"reopen": func(t *rapid.T) { j, _ = reopen(t, j) },
			"": func(t *rapid.T) {
				last := j.last()
				for _, thread := range []chat.ThreadID{"", "x"} {
					page, more := j.before(thread, 0, 100)
					of := slices.DeleteFunc(slices.Clone(model), func(r record) bool { return r.Thread != thread })
					if diff := cmp.Diff(of, page[:len(page):len(page)]); diff != "" && len(of)+len(page) > 0 || more {
						t.Fatal(diff)
					}
				}
				var latest int64
				for _, r := range j.since(0, 100) {
					if r.Rev <= latest {
						t.Fatalf("revision %d after %d", r.Rev, latest)
					}
					latest = r.Rev
				}
				if latest > last {
					t.Fatalf("revision %d of %d", latest, last)
				}
			},
		})
	})
}

func setText(text string) func(*record) error {
	return func(r *record) error {
		r.Text = text
		return nil
	}
}
