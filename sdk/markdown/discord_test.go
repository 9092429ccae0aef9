package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

func TestToDiscord(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"none", "a | b\nc | d\r\n**e**", "a | b\nc | d\r\n**e**"},
		{
			"between texts", "see **this**:\n\n| Name | Größe |\n|:--|--:|\n| **a** | 1 |\n| `b` | 2\\|3 |\n\nand *so* on",
			"see **this**:\n\n```\nName  Größe\n────  ─────\na         1\nb       2|3\n```\n\nand *so* on",
		},
		{"without bars at the ends", "a | b\n--- | ---\n1 | 2", "```\na  b\n─  ─\n1  2\n```"},
		{"behind a line of text", "so:\n|a|b|\n|-|-|\n|1|2|", "so:\n```\na  b\n─  ─\n1  2\n```"},
		{"a short row", "|a|b|\n|-|-|\n|1|\n|1|2|", "```\na  b\n─  ─\n1\n1  2\n```"},
		{"no row", "|a|b|\n|-|-|\n\nx", "```\na  b\n─  ─\n```\n\nx"},
		{"two", "|a|\n|-|\n|1|\n\n|b|\n|-|\n|2|", "```\na\n─\n1\n```\n\n```\nb\n─\n2\n```"},
		{"in a quote", "> |a|\n> |-|\n> |1|\n\nx", "> ```\n> a\n> ─\n> 1\n> ```\n\nx"},
		{"in a list", "- see\n\n  |a|\n  |-|\n  |1|\n- x", "- see\n\n  ```\n  a\n  ─\n  1\n  ```\n- x"},
		{"as a list's item", "- |a|\n  |-|\n  |1|", "- |a|\n  |-|\n  |1|"},
		{"a link", "|a|\n|-|\n|[x](https://x.example/y)|", "```\na\n───────────────────────\nx (https://x.example/y)\n```"},
		{"what would end the block", "|a|\n|-|\n|\\`\\`\\`|", "```\na\n───\n``\u200b`\n```"},
		{"a longer fence", "so:\n````sh\necho '```'\n`````x\n````\nand", "so:\n```sh\necho '``\u200b`'\n``\u200b``\u200b`x\n```\nand"},
		{"a longer fence in a quote", "> ````\n> ```\n> ````\n\nx", "> ```\n> ``\u200b`\n> ```\n\nx"},
		{"a longer fence in a list", "- ````\n  a```\n  ````\n- x", "- ```\n  a``\u200b`\n  ```\n- x"},
		{"a longer fence without an end", "````\n```\nx", "```\n``\u200b`\nx"},
		{"a fence of tildes", "~~~ a`b\n```\n~~~", "```\n``\u200b`\n```"},
		{"a fence that needs nothing", "````\na\n````", "````\na\n````"},
		{"a longer span", "see ```` a```b`` ```` there", "see `` a`\u200b`\u200b`b`\u200b` `` there"},
		{"in code", "```\n|a|b|\n|-|-|\n```", "```\n|a|b|\n|-|-|\n```"},
		{"behind code", "~~~\n|a|\n~~~\n|a|b|\n|-|-|", "~~~\n|a|\n~~~\n```\na  b\n─  ─\n```"},
		{"a rule of another width", "|a|b|\n|-|\n", "|a|b|\n|-|\n"},
		{"unfinished", "|a|b|\n|-", "|a|b|\n|-"},
		{"a heading with a bar", "a | b\n=====", "a | b\n====="},
		{"code behind a table", "|a|\n|-|\n```\nx|y\n```", "```\na\n─\n```\n```\nx|y\n```"},
	} {
		if diff := cmp.Diff(test.want, markdown.ToDiscord(test.text, chat.TextLimit{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A table with padded columns may exceed a limit that its Markdown fits.
// Behaviour: chunks.
func TestTablesKeepToALimit(t *testing.T) {
	t.Parallel()
	source := "|name|what it is|\n|-|-|\n" + strings.Repeat("|a|b|\n", 60) + "|" + strings.Repeat("c", 28) + "|d|"
	for _, limit := range []int{0, 2500, 1500, 700, len(source), 10} {
		in := chat.TextLimit{Max: limit, Unit: chat.Bytes}
		shown := markdown.ToDiscord(source, in)
		text, _ := markdown.ToEntities(source, in)
		if len(source) <= limit && (len(shown) > limit || len(text) > limit) {
			t.Errorf("limit %d: %d and %d bytes of %d", limit, len(shown), len(text), len(source))
		}
		if strings.Contains(shown, "|") != (limit == 10) {
			t.Errorf("limit %d: Discord is sent\n%s", limit, shown)
		}
		if straight := strings.Contains(text, "\na"+strings.Repeat(" ", 27)+"  b\n"); straight != (limit == 0 || limit == 2500) {
			t.Errorf("limit %d: the columns are straight: %t, in\n%s", limit, straight, text)
		}
	}
}

// Whatever code contains, Discord, which ends a block at three backticks, shows all of it as code.
// Behaviour: ask-exact.
func TestCodeStaysInItsBlock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.StringOf(rapid.SampledFrom([]rune("`` `a~|-\n"))).Draw(t, "code")
		if strings.TrimSpace(code) == "" {
			return
		}
		fence := "```"
		for strings.Contains(code, fence) {
			fence += "`"
		}
		shown := markdown.ToDiscord("Look:\n\n"+fence+"\n"+code+"\n"+fence+"\n\nDone.", chat.TextLimit{})
		parts := strings.Split(shown, "```")
		if len(parts) != 3 || parts[0] != "Look:\n\n" || parts[2] != "\n\nDone." || strings.ReplaceAll(parts[1], "\u200b", "") != "\n"+code+"\n" {
			t.Fatalf("%q is shown as %q", code, shown)
		}
	})
}

// FuzzToDiscord checks that text without tables is unchanged, including its own output.
func FuzzToDiscord(f *testing.F) {
	f.Add("|a|b|\n|-|-|\n|1|2|\n```\n|")
	f.Add("> a|\n> -|\n\\|")
	f.Add("- x\n\n  |a|\n  |-|\n>|")
	f.Add("> ````\n> ```\n>  ```` ```` ``` ````")
	f.Add("~~~`\n```\n~~~\n- ````")
	f.Fuzz(func(t *testing.T, text string) {
		once := markdown.ToDiscord(text, chat.TextLimit{})
		if again := markdown.ToDiscord(once, chat.TextLimit{}); again != once {
			t.Errorf("%q becomes %q and then %q", text, once, again)
		}
		if once != text && strings.Count(once, "```") < 2 && !strings.Contains(once, "\u200b") {
			t.Errorf("%q becomes %q, without a block of code", text, once)
		}
	})
}
