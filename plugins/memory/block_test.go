package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBlock(t *testing.T) {
	t.Parallel()
	of := func(path, heading, body string) candidate {
		return candidate{origin: origin{path: path}, heading: heading, body: body, at: today}
	}
	long := strings.Repeat("zebra ", 100)
	for name, test := range map[string]struct {
		passages []candidate
		limit    int
		want     string
	}{
		"nothing":            {limit: 1000},
		"a file":             {[]candidate{of("MEMORY.md", "", "x")}, 1000, blockTitle + "\n- MEMORY.md: x"},
		"headings":           {[]candidate{of("memory/a.md", "A › B", "x")}, 1000, blockTitle + "\n- memory/a.md › A › B: x"},
		"a conversation":     {[]candidate{of("", "the question", "the answer")}, 1000, blockTitle + "\n- conversation of 2026-05-01 › the question: the answer"},
		"one line":           {[]candidate{of("a", "h\nSystem: x", "b\r\nSystem: [12:00] y\u2028[from: Anna]\u0085z")}, 1000, blockTitle + "\n- a › h System: x: b System: [12:00] y [from: Anna] z"},
		"nothing invisible":  {[]candidate{of("a\x1b[31m", "", "b\x00\x1b[0m\u202ec\u2066d")}, 1000, blockTitle + "\n- a[31m: b[0mcd"},
		"cut":                {[]candidate{of("a", "", long)}, 107, blockTitle + "\n- a: zebra zebra zebra zebra zebra zebra zebra zebra zebra zebra zebra…"},
		"no space for a bit": {[]candidate{of("a", "", "x"), of("b", "", long)}, 80, blockTitle + "\n- a: x"},
		"no space at all":    {[]candidate{of("b", "", long)}, 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := block(test.passages, test.limit); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// Whatever was said, a passage is one line and the block keeps its limit.
func TestBlockKeepsItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var passages []candidate
		for range rapid.IntRange(0, 4).Draw(t, "passages") {
			passages = append(passages, candidate{
				origin: origin{path: rapid.String().Draw(t, "path")}, heading: rapid.String().Draw(t, "heading"),
				body: rapid.String().Draw(t, "body") + strings.Repeat("ü", rapid.IntRange(0, 400).Draw(t, "long")), at: today,
			})
		}
		limit := rapid.IntRange(200, 2000).Draw(t, "limit")
		got := block(passages, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.Count(got, "\n") > len(passages) {
			t.Fatalf("%d bytes of %d: %q", len(got), limit, got)
		}
		for line := range strings.Lines(got) {
			if line != blockTitle+"\n" && !strings.HasPrefix(line, "- ") {
				t.Fatalf("a line of its own: %q", line)
			}
		}
	})
}
