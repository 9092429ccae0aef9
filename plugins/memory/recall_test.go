package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// today is the day of the tests.
var today = time.Date(2026, time.May, 1, 9, 0, 0, 0, time.UTC)

// opened is an index of its own for a test.
func opened(t testing.TB) *index {
	t.Helper()
	x, err := openIndex(t.Context(), t.TempDir(), hclog.NewNullLogger())
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
// on the first list of prompts; the second was not looked at for that.
func TestRecallOfTheLabelledSet(t *testing.T) {
	t.Parallel()
	workspace, err := filepath.Abs("testdata/recall")
	if err != nil {
		t.Fatal(err)
	}
	x := opened(t)
	if err := newFiles(workspace, x, hclog.NewNullLogger(), time.Now).sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, passages := x.words.snapshot(); passages < 40 {
		t.Errorf("the set has %d passages", passages)
	}
	for _, list := range []struct {
		file     string
		prompts  int
		at1, at5 float64 // the least
		unsure   int     // prompts about nothing known that recall something, at most
	}{
		{"queries.json", 60, 0.85, 0.87, 0},
		{"held_out.json", 28, 0.90, 0.90, 0},
	} {
		kinds := map[string]*tally{}
		known, unsure := &tally{}, 0
		prompts := labelled(t, filepath.Join(workspace, list.file))
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
			switch {
			case q.Want != "":
				known.add(place)
			case place < 0:
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
		t.Logf("%s: recall@1 %.2f, recall@5 %.2f of %d prompts; %d about nothing known recall something", list.file, at1, at5, known.asked, unsure)
		if at1 < list.at1 || at5 < list.at5 {
			t.Errorf("%s: recall@1 is %.2f, want %.2f; recall@5 is %.2f, want %.2f", list.file, at1, list.at1, at5, list.at5)
		}
		if unsure > list.unsure {
			t.Errorf("%s: %d prompts about nothing known recall something, want at most %d", list.file, unsure, list.unsure)
		}
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
