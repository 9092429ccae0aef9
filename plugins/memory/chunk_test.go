package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestChunk(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("A sentence of some length. ", 40))
	for name, test := range map[string]struct {
		text string
		want []passage
	}{
		"nothing":            {text: " \n\n"},
		"headings alone":     {text: "# a\n## b\n"},
		"without headings":   {text: "one\n\ntwo\n", want: []passage{{"", "one\ntwo"}}},
		"headings go along":  {text: "# A\nx\n## B\ny\n### C #\nz\n## D\nw\n# E\nv\n", want: []passage{{"A", "x"}, {"A › B", "y"}, {"A › B › C", "z"}, {"A › D", "w"}, {"E", "v"}}},
		"not a heading":      {text: "#tag\n\n####### seven\n", want: []passage{{"", "#tag\n####### seven"}}},
		"Windows lines":      {text: "# A\r\nx\r\n\r\ny\r\n", want: []passage{{"A", "x\ny"}}},
		"code":               {text: "# A\n```sh\n# no heading\n\nls\n```\n# B\nx\n", want: []passage{{"A", "```sh\n# no heading\nls\n```"}, {"B", "x"}}},
		"a list":             {text: "- one\n  more\n- two\n", want: []passage{{"", "- one\n  more\n- two"}}},
		"a paragraph is cut": {text: long, want: []passage{{"", long[:782]}, {"", long[783:]}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, chunk(test.text), cmp.AllowUnexported(passage{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Nothing is lost and nothing is too long, whatever the text.
func TestChunkKeepsTheText(t *testing.T) {
	t.Parallel()
	line := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "# h", "## ä", "- item", "```", strings.Repeat("word ", 300), strings.Repeat("ü", 900)}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "\n"), "")
		letters := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "#", "")), "") }
		kept := map[rune]int{}
		for _, p := range chunk(text) {
			if len(p.body) > maxPassage+enoughPassage || p.body == "" || !utf8.ValidString(p.body) {
				t.Fatalf("a passage of %d bytes: %q", len(p.body), p.body)
			}
			for _, r := range letters(p.body + p.heading) {
				kept[r]++
			}
		}
		// Headings repeat and are shortened; all else is there as often as it was.
		bare := ""
		for l := range strings.Lines(text) {
			if level, _ := heading(strings.TrimRight(l, " \r\n\t")); level == 0 {
				bare += l
			}
		}
		had := map[rune]int{}
		for _, r := range letters(bare) {
			had[r]++
		}
		for r, n := range had {
			if kept[r] < n {
				t.Fatalf("%q was there %d times and is there %d times", r, n, kept[r])
			}
		}
	})
}
