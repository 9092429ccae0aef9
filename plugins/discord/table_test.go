package main

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func TestTables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"none", "a | b\nc | d", "a | b\nc | d"},
		{
			"between texts", "see:\n\n| Name | Größe |\n|:--|--:|\n| **a** | 1 |\n| `b` | 2\\|3 |\n\nand so on",
			"see:\n\n```\nName  Größe\n----  -----\na     1\nb     2|3\n```\n\nand so on",
		},
		{"without bars at the ends", "a | b\n--- | ---\n1 | 2", "```\na  b\n-  -\n1  2\n```"},
		{"rows of other lengths", "|a|b|\n|-|-|\n|1|\n|1|2|3|", "```\na  b\n-  -  -\n1\n1  2  3\n```"},
		{"in code", "```\n|a|b|\n|-|-|\n```", "```\n|a|b|\n|-|-|\n```"},
		{"behind code", "~~~\n|a|\n~~~\n|a|b|\n|-|-|", "~~~\n|a|\n~~~\n```\na  b\n-  -\n```"},
		{"a rule of another width", "|a|b|\n|-|\n", "|a|b|\n|-|\n"},
		{"in the making", "|a|b|\n|-", "|a|b|\n|-"},
		{"a heading with a bar", "a | b\n=====", "a | b\n====="},
		{"code behind a table", "|a|\n|-|\n```\nx|y\n```", "```\na\n-\n```\n```\nx|y\n```"},
	} {
		if diff := cmp.Diff(test.want, tables(test.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	long := "|" + strings.Repeat("x", 500) + "|y|\n|-|-|\n" + strings.Repeat("|a|b|\n", 5)
	if tables(long) != long {
		t.Error("a text became too long for a message")
	}
}

func FuzzTables(f *testing.F) {
	f.Add("|a|b|\n|-|-|\n|1|2|\n```\n|")
	f.Add("a|\n-|\n\\|")
	f.Fuzz(func(t *testing.T, text string) {
		got := tables(text)
		if got != text && len(utf16.Encode([]rune(got))) > maxText {
			t.Errorf("%q becomes %d units", text, len(got))
		}
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("|-:*`\\ \t\n\v\f\r\u0085\u00a0", r) || r > 127 }) {
			if !strings.Contains(got, word) {
				t.Errorf("%q loses %q: %q", text, word, got)
			}
		}
	})
}
