package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// today is the day of the tests.
var today = time.Date(2026, time.May, 1, 9, 0, 0, 0, time.UTC)

// opened is an index of its own for a test.
func opened(t testing.TB) *index {
	t.Helper()
	x, err := openIndex(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

type query struct {
	Kind   string `json:"kind"`
	Prompt string `json:"prompt"`
	Want   string `json:"want"` // the last heading of the passage; empty: nothing
}

// filled is an index of these passages.
func filled(t *testing.T, passages []candidate) *index {
	t.Helper()
	x := opened(t)
	for _, c := range passages {
		var change swap
		err := x.change(t.Context(), func(tx *sql.Tx) (err error) {
			change, err = replace(t.Context(), tx, c.origin, c.at, []passage{{c.heading, c.body}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		x.count(change)
	}
	return x
}

func TestRank(t *testing.T) {
	t.Parallel()
	file := func(path, heading, body string, days int) candidate {
		return candidate{origin: origin{path: path}, heading: heading, body: body, at: today.AddDate(0, 0, -days)}
	}
	for name, test := range map[string]struct {
		passages []candidate
		prompt   string
		want     string
	}{
		"the newer of two": {
			passages: []candidate{file("old", "", "the zebra eats grass at noon", 400), file("new", "", "the zebra eats herbs by dusk", 1), file("x", "", "y", 1)},
			prompt:   "the zebra eats", want: "new old",
		},
		"MEMORY.md does not age": {
			passages: []candidate{file("old", "", "the zebra eats clover", 400), file("MEMORY.md", "", "the zebra eats leaves", 400), file("x", "", "y", 1)},
			prompt:   "the zebra eats", want: "MEMORY.md old",
		},
		"more of the words": {
			passages: []candidate{file("one", "", "zebra zebra zebra", 1), file("two", "", "quagga quagga quagga", 1), file("both", "", "the zebra has a quagga for a friend", 1), file("x", "", "y", 1)},
			prompt:   "zebra and quagga", want: "both one two",
		},
		"a heading counts": {
			passages: []candidate{file("body", "", "mice, voles, zebra", 1), file("heading", "zebra", "mice, voles, shrews", 1), file("x", "", "y", 1)},
			prompt:   "zebra", want: "heading body",
		},
		"nearly the same once": {
			passages: []candidate{file("a", "", "the zebra eats grass in the stable of a farm", 300), file("b", "", "The zebra eats grass in the stable of a FARM", 2), file("c", "", "the zebra was born in May", 1), file("x", "", "y", 1)},
			prompt:   "zebra", want: "c b",
		},
		"one common word of many asked": {
			passages: []candidate{file("a", "", "the zebra eats grass", 1), file("b", "", "a horse eats hay", 1)},
			prompt:   "write python code that eats memory slowly", want: "",
		},
		"nothing but stop words": {
			passages: []candidate{file("a", "", "the the and of", 1)}, prompt: "the and of", want: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			best, err := filled(t, test.passages).recall(t.Context(), view{session: "s"}, test.prompt, today, 5)
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, c := range best {
				paths = append(paths, c.origin.path)
			}
			if got := strings.Join(paths, " "); got != test.want {
				t.Errorf("recalled are %q, want %q", got, test.want)
			}
		})
	}
}

// No prompt is taken for the index's query language.
func FuzzRecall(f *testing.F) {
	x, err := openIndex(f.Context(), f.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = x.close() })
	log := &transcripts{index: x, limit: maxEntries}
	if err := log.append(f.Context(), "s", []chat.TranscriptEntry{{ID: 1, Role: chat.User, Text: "the zebra's near stable and not or", At: today}}); err != nil {
		f.Fatal(err)
	}
	for _, prompt := range []string{"", "zebra", `"`, `zebra" OR "x`, "NEAR(zebra stable, 2)", "text : zebra*", "zebra AND NOT (", "^zebra", "-zebra", "ze\x00bra", "\xff", "{a b} : c", "; DROP TABLE words"} {
		f.Add(prompt)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		best, err := x.recall(t.Context(), view{session: "other"}, prompt, today, 5)
		if err != nil || len(best) != 0 {
			t.Fatalf("%q recalls %v of another session, %v", prompt, headings(best), err)
		}
	})
}

// labelled reads a list of prompts.
func labelled(t *testing.T, path string) []query {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []query
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// tally counts how many prompts had their passage first, and among the first five.
type tally struct{ asked, at1, at5 int }

func (t *tally) add(place int) {
	t.asked++
	if place == 0 {
		t.at1++
	}
	if place >= 0 {
		t.at5++
	}
}

// Recall is measured on notes, and on prompts with the passage that each is about. The figures of package main were chosen
// on the first list of prompts of each language; the second was not looked at for that.
// Behaviour: memory-recall.
func TestRecallOfTheLabelledSet(t *testing.T) {
	t.Parallel()
	for _, set := range []struct {
		name, folder string
		passages     int
		lists        []labelledList
	}{
		{"English and German", "testdata/recall", 40, []labelledList{{"queries.json", 60, 0.85, 0.87, 0}, {"held_out.json", 28, 0.90, 0.90, 0}}},
		{"Chinese", "testdata/recall/zh", 20, []labelledList{{"queries.json", 19, 0.9, 0.9, 0}, {"held_out.json", 16, 0.9, 0.9, 1}}},
		{"Japanese", "testdata/recall/ja", 20, []labelledList{{"queries.json", 19, 0.95, 0.95, 0}, {"held_out.json", 16, 0.9, 0.9, 0}}},
		{"Russian", "testdata/recall/ru", 20, []labelledList{{"queries.json", 19, 0.95, 0.95, 0}, {"held_out.json", 16, 0.9, 0.9, 0}}},
	} {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			workspace, err := filepath.Abs(set.folder)
			if err != nil {
				t.Fatal(err)
			}
			x := opened(t)
			if err := newFiles(workspace, false, x, slog.New(slog.DiscardHandler), time.Now).sync(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			_, passages := x.words.snapshot()
			if t.Logf("%d passages", passages); passages < set.passages {
				t.Error("the set is too small")
			}
			for _, list := range set.lists {
				list.measure(t, x, workspace)
			}
		})
	}
}

// labelledList is a list of prompts, with the least recall and the most prompts about nothing known that recall something.
type labelledList struct {
	file     string
	prompts  int
	at1, at5 float64
	unsure   int
}

func (list labelledList) measure(t *testing.T, x *index, folder string) {
	t.Helper()
	kinds := map[string]*tally{}
	known, nothing, unsure := &tally{}, 0, 0
	prompts := labelled(t, filepath.Join(folder, list.file))
	if len(prompts) < list.prompts {
		t.Errorf("%s has %d prompts", list.file, len(prompts))
	}
	for _, q := range prompts {
		best, err := x.recall(t.Context(), view{session: "s"}, q.Prompt, today, 5)
		if err != nil {
			t.Fatalf("%q: %v", q.Prompt, err)
		}
		if kinds[q.Kind] == nil {
			kinds[q.Kind] = &tally{}
		}
		place := q.place(best)
		kinds[q.Kind].add(place)
		if q.Want != "" {
			known.add(place)
		} else if nothing++; place < 0 {
			unsure++
		}
		if place != 0 {
			t.Logf("%s: %q is about %q, got %q", q.Kind, q.Prompt, q.Want, headings(best))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%-10s %2d prompts: %2d first, %2d among five", kind, kinds[kind].asked, kinds[kind].at1, kinds[kind].at5)
	}
	at1, at5 := float64(known.at1)/float64(known.asked), float64(known.at5)/float64(known.asked)
	t.Logf("%s: recall@1 %.2f, recall@5 %.2f of %d prompts; %d of %d about nothing known recall something", list.file, at1, at5, known.asked, unsure, nothing)
	if at1 < list.at1 || at5 < list.at5 {
		t.Errorf("%s: recall@1 is %.2f, want %.2f; recall@5 is %.2f, want %.2f", list.file, at1, list.at1, at5, list.at5)
	}
	if unsure > list.unsure {
		t.Errorf("%s: %d prompts about nothing known recall something, want at most %d", list.file, unsure, list.unsure)
	}
}

// place is where the wanted passage is among the best; below zero: it is not. Where nothing is wanted, nothing is first.
func (q query) place(best []candidate) int {
	if q.Want == "" && len(best) == 0 {
		return 0
	}
	return slices.IndexFunc(best, func(c candidate) bool { return q.Want != "" && strings.HasSuffix(c.heading, "› "+q.Want) })
}

func headings(best []candidate) (all []string) {
	for _, c := range best {
		all = append(all, fmt.Sprintf("%s (%.2f of it, %.1f)", c.heading, c.coverage, c.score))
	}
	return all
}
