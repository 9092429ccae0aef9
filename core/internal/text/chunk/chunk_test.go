package chunk_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

func runes(n int) chat.TextLimit { return chat.TextLimit{Max: n, Unit: chat.Runes} }

// Behaviour: chunks.
func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		text  string
		limit chat.TextLimit
		want  []string
	}{
		{"nothing", "", runes(10), nil},
		{"blank", " \n\t\n", runes(2), nil},
		{"no limit", strings.Repeat("word ", 5000), chat.TextLimit{}, []string{strings.Repeat("word ", 5000)}},
		{"fits", "  as it is \n", runes(12), []string{"  as it is \n"}},
		{"fits but for the blanks around it", "\n\n  as it is \n\n", runes(10), []string{"  as it is"}},

		{"paragraph before line", "one two\n\nthree\nfour five", runes(20), []string{"one two", "three\nfour five"}},
		{"line before sentence", "One two.\nThree. Four five", runes(20), []string{"One two.", "Three. Four five"}},
		{"sentence before word", "One two. Three four five", runes(20), []string{"One two.", "Three four five"}},
		{"quoted sentence", `He said "no." Then left us`, runes(20), []string{`He said "no."`, "Then left us"}},
		{"word", "one two three four five", runes(16), []string{"one two three", "four five"}},
		{"nowhere", "abcdefghijkl", runes(5), []string{"abcde", "fghij", "kl"}},
		{"exactly", "abcde fghij", runes(5), []string{"abcde", "fghij"}},
		{"early paragraph is no better than a late word", "a\n\nbb cc dd ee ff gg hh ii", runes(20), []string{"a\n\nbb cc dd ee ff gg", "hh ii"}},
		{"early word is better than within one", "a bbbbbbbbbbbbbbbbbbbbb", runes(21), []string{"a", "bbbbbbbbbbbbbbbbbbbbb"}},
		{"indentation stays", "- one item\n  - two items", runes(16), []string{"- one item", "  - two items"}},
		{"many blank lines", "one two\n\n \n\n\nthree four", runes(12), []string{"one two", "three four"}},
		{"no-break space", "aaa bbb\u00a0ccc", runes(9), []string{"aaa", "bbb\u00a0ccc"}},
		{"heading goes with its text", "one two\n# three\nfour five", runes(20), []string{"one two", "# three\nfour five"}},
		{"list marker stays with its item", "1. abcdefgh ij", runes(8), []string{"1. abcde", "fgh ij"}},
		{"numbers are no list markers", "1 2 3 4 5 6 7 8 9", runes(12), []string{"1 2 3 4 5 6", "7 8 9"}},
		{"sentences without blanks", "今日は。明日は？", runes(6), []string{"今日は。", "明日は？"}},
		{"closing bracket stays with its sentence", "「今日は。」明日は", runes(8), []string{"「今日は。」", "明日は"}},

		{"link whole", "see [the page](https://x.yz/a b) now", runes(34), []string{"see [the page](https://x.yz/a b)", "now"}},
		{"link not begun", "see my [the page](https://x.yz) now", runes(24), []string{"see my", "[the page](https://x.yz)", "now"}},
		{"link with parentheses", "abc [a b](x_(y_z)) d", runes(17), []string{"abc", "[a b](x_(y_z)) d"}},
		{"link too long for a piece", "[one two three](x)", runes(10), []string{"[one two", "three](x)"}},
		{"link over lines", "abc [one\ntwo](x) de", runes(14), []string{"abc", "[one\ntwo](x)", "de"}},
		{"link with inline code", "abcde [one two `c`](u)", runes(17), []string{"abcde", "[one two `c`](u)"}},
		{"no link", "abcde [one two](u\nv) w", runes(17), []string{"abcde [one two](u", "v) w"}},
		{"URL in a script without blanks", "見よhttps://x.yz/abc見よ", runes(12), []string{"見よ", "https://x.yz", "/abc見よ"}},
		{"URL kept whole", "見よhttps://x.yz見よ", runes(13), []string{"見よ", "https://x.yz見", "よ"}},
		{"inline code whole", "one two `three four` five", runes(17), []string{"one two", "`three four` five"}},
		{"inline code after a word", "onetwo`three four` five", runes(16), []string{"onetwo", "`three four`", "five"}},
		{"inline code of two backticks", "one ``a ` b`` c", runes(11), []string{"one", "``a ` b`` c"}},
		{"a backtick alone", "one two ` three four", runes(16), []string{"one two ` three", "four"}},
		{"escaped backticks", "one \\`two three\\` four", runes(13), []string{"one \\`two", "three\\` four"}},

		{"fence kept whole", "The code is\n```\na\nb\n```\nand so on", runes(20), []string{"The code is", "```\na\nb\n```", "and so on"}},
		{"fence split", "```go\none two\nthree four\nfive\n```", runes(25), []string{"```go\none two\n```", "```go\nthree four\nfive\n```"}},
		{"tilde fence split", "~~~ sh x\none two\nthree four\n~~~", runes(30), []string{"~~~ sh x\none two\n~~~", "~~~ sh x\nthree four\n~~~"}},
		{"longer fence split", "````md\n```\nx\n```\ny\nzzz\n````", runes(24), []string{"````md\n```\nx\n```\ny\n````", "````md\nzzz\n````"}},
		{"indented fence split", "  ```\n  one\n  two\n  three\n  ```", runes(24), []string{"  ```\n  one\n  two\n  ```", "  ```\n  three\n  ```"}},
		{"fence without an end", "```\none\ntwo\nthree", runes(16), []string{"```\none\ntwo\n```", "```\nthree"}},
		{"blank lines in code", "```\none\n\n\n\ntwo two\nx\n```", runes(20), []string{"```\none\n```", "```\ntwo two\nx\n```"}},
		{"indentation in code", "```\nif x {\n\ty()\n}\n```", runes(18), []string{"```\nif x {\n```", "```\n\ty()\n}\n```"}},
		{"long line of code", "```\n" + strings.Repeat("x", 20) + "\n```", runes(18), []string{"```\nxxxxxxxxxx\n```", "```\nxxxxxxxxxx\n```"}},
		{"closing line that does not fit", "```\nab\ncd\n``````````\nmore", runes(16), []string{"```\nab\ncd\n```", "more"}},
		{"fence kept whole after a few words", "a b\n```\none\ntwo\nthree\n```", runes(22), []string{"a b", "```\none\ntwo\nthree\n```"}},
		{"no space for code in the fence", "```go\nab\ncd\n```", runes(10), []string{"```go\nab", "cd\n```"}},
		{"closing line that does not fit, and no code", "```\n" + strings.Repeat("`", 20), runes(16), []string{"```\n" + strings.Repeat("`", 12), "````````"}},
		{"blanks after the fence", "```               \none\ntwo\n```", runes(16), []string{"```             ", "  \none\ntwo\n```"}},
		{"no space for the fence", "```a-long-language\none\ntwo\n```", runes(16), []string{"```a-long-langua", "ge\none\ntwo\n```"}},
		{"four spaces make no fence", "    ```\n    one two three", runes(20), []string{"    ```", "    one two three"}},
		{"backticks in the info make no fence", "``` a`b\none two\nthree", runes(16), []string{"``` a`b\none two", "three"}},
		{"fence in CRLF", "```go\r\none\r\ntwo\r\nthree\r\n```", runes(24), []string{"```go\r\none\r\ntwo\n```", "```go\nthree\r\n```"}},

		{"table kept whole", "The table is\n|a|b|\n|-|-|\n|1|2|\nand so on", runes(20), []string{"The table is", "|a|b|\n|-|-|\n|1|2|", "and so on"}},
		{"table split", "|a|b|\n|-|-|\n|1|2|\n|3|4|\n|5|6|", runes(24), []string{"|a|b|\n|-|-|\n|1|2|\n|3|4|", "|a|b|\n|-|-|\n|5|6|"}},
		{"two tables", "|a|b|\n|-|-|\n|1|2|\n|3|4|\n\n|c|d|\n|-|-|\n|5|6|\n|7|8|\n|9|0|", runes(25), []string{"|a|b|\n|-|-|\n|1|2|\n|3|4|", "|c|d|\n|-|-|\n|5|6|\n|7|8|", "|c|d|\n|-|-|\n|9|0|"}},
		{"table without bars at the ends", "a | b\n:-- | --:\n1 | 2\n3 | 4\n5 | 6", runes(32), []string{"a | b\n:-- | --:\n1 | 2\n3 | 4", "a | b\n:-- | --:\n5 | 6"}},
		{"table in a quote", "> |a|b|\n> |-|-|\n> |1|2|\n> |3|4|\n> |5|6|", runes(36), []string{"> |a|b|\n> |-|-|\n> |1|2|\n> |3|4|", "> |a|b|\n> |-|-|\n> |5|6|"}},
		{"long row of a table", "|a|b|\n|-|-|\n|one two|three four|\n|5|6|", runes(24), []string{"|a|b|\n|-|-|\n|one", "|a|b|\n|-|-|\ntwo|three", "|a|b|\n|-|-|\nfour|\n|5|6|"}},
		{"no space for the header", "|aaa|bbb|\n|---|---|\n|1|2|\n|3|4|", runes(25), []string{"|aaa|bbb|\n|---|---|\n|1|2|", "|3|4|"}},
		{"another number of cells makes no table", "|a|b|\n|-|\n|1|2|\n|3|4|", runes(16), []string{"|a|b|\n|-|\n|1|2|", "|3|4|"}},
		{"a bar in a cell", "|a\\|b|\n|-|\n|1|\n|2|", runes(20), []string{"|a\\|b|\n|-|\n|1|\n|2|"}},
		{"a bar in a cell, split", "|a\\|b|\n|-|\n|1|\n|2|\n|3|\n|4|", runes(22), []string{"|a\\|b|\n|-|\n|1|\n|2|\n|3|", "|a\\|b|\n|-|\n|4|"}},
		{"table in code", "```\n|a|\n|-|\n|1|\n|2|\n```", runes(20), []string{"```\n|a|\n|-|\n|1|\n```", "```\n|2|\n```"}},

		{"bytes", "ééééé", chat.TextLimit{Max: 5, Unit: chat.Bytes}, []string{"éé", "éé", "é"}},
		{"runes", "😀😀😀", runes(2), []string{"😀😀", "😀"}},
		{"UTF-16", "😀😀😀", chat.TextLimit{Max: 5, Unit: chat.UTF16}, []string{"😀😀", "😀"}},
		{"a unit that is not known", "ééé", chat.TextLimit{Max: 4}, []string{"éé", "é"}},
		{"accent", "eee\u0301", runes(3), []string{"ee", "e\u0301"}},
		{"joined", "ab👨\u200d👩\u200d👧", runes(5), []string{"ab", "👨\u200d👩\u200d👧"}},
		{"joined, larger than the limit", "👨\u200d👩\u200d👧", runes(3), []string{"👨\u200d👩", "\u200d👧"}},
		{"skin tone", "ab👍🏽", runes(3), []string{"ab", "👍🏽"}},
		{"flags", "🇩🇪🇫🇷🇮🇹", runes(3), []string{"🇩🇪", "🇫🇷", "🇮🇹"}},
		{"Hangul", "\u1112\u1161\u11ab\u1100\u1173\u11af", runes(4), []string{"\u1112\u1161\u11ab", "\u1100\u1173\u11af"}},
		{"line break of two", "a\r\nb", runes(2), []string{"a", "b"}},
		{"a character over the limit", "a😀b", chat.TextLimit{Max: 1, Unit: chat.UTF16}, []string{"a", "?", "b"}},
		{"blanks after a character over the limit", "a😀 \n", chat.TextLimit{Max: 1, Unit: chat.UTF16}, []string{"a", "?"}},
		{"not UTF-8", "ab\xffcd", runes(3), []string{"ab\ufffd", "cd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, chunk.Split(tt.text, chunk.Rule{Limit: tt.limit})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// check tells what is wrong with the pieces of a text.
func check(t interface{ Fatalf(string, ...any) }, text string, r chunk.Rule) {
	limit := r.Limit
	pieces := chunk.Split(text, r)
	text = strings.ToValidUTF8(text, "\ufffd")
	for _, p := range pieces {
		switch {
		case !limit.Fits(p):
			t.Fatalf("%d units, over %d: %q", limit.Unit.Length(p), limit.Max, p)
		case strings.TrimSpace(p) == "":
			t.Fatalf("blank piece %q", p)
		case !utf8.ValidString(p):
			t.Fatalf("not UTF-8: %q", p)
		}
	}
	if limit.Fits(text) && (r.Lines <= 0 || strings.Count(text, "\n") < r.Lines) {
		if len(pieces) > 1 {
			t.Fatalf("%d pieces although the text fits", len(pieces))
		}
		return
	}
	// What is between the parts is blank, or a fence's closing line, which the part before is given another one for.
	parts, _ := chunk.Parts(text, r)
	end := 0
	for i, part := range append(parts, chunk.Part{Start: len(text), End: len(text)}) {
		if part.Start < end {
			t.Fatalf("parts overlap at %d: %v", end, parts)
		}
		gap := strings.TrimSpace(text[end:part.Start])
		switch {
		case gap == "":
		case i > 0 && len(gap) >= 3 && strings.Trim(gap, gap[:1]) == "" && (gap[0] == '`' || gap[0] == '~') && strings.HasSuffix(pieces[i-1], "\n"+closing(pieces[i-1])):
		default:
			t.Fatalf("lost %q", gap)
		}
		if i < len(parts) {
			body := text[part.Start:part.End]
			if tooLarge := !limit.Fits(body); !strings.Contains(pieces[i], body) && (!tooLarge || pieces[i] != "?") {
				t.Fatalf("piece %q does not hold its part %q", pieces[i], body)
			}
		}
		end = part.End
	}
}

// closing returns the last line of a piece, if it closes a fence.
func closing(piece string) string {
	last := piece[strings.LastIndex(piece, "\n")+1:]
	if bare := strings.TrimLeft(last, " "); strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~") {
		return last
	}
	return "no fence"
}

func rules() *rapid.Generator[chunk.Rule] {
	return rapid.Custom(func(t *rapid.T) chunk.Rule {
		return chunk.Rule{
			Limit:      limits().Draw(t, "limit"),
			Lines:      rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 20)).Draw(t, "lines"),
			Paragraphs: rapid.Bool().Draw(t, "paragraphs"),
		}
	})
}

func limits() *rapid.Generator[chat.TextLimit] {
	return rapid.Custom(func(t *rapid.T) chat.TextLimit {
		return chat.TextLimit{
			Max:  rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(10, 60), rapid.IntRange(60, 400)).Draw(t, "max"),
			Unit: rapid.SampledFrom([]chat.Unit{chat.Bytes, chat.Runes, chat.UTF16}).Draw(t, "unit"),
		}
	})
}

// markdown generates texts of many pieces that mean something to Split.
func markdown() *rapid.Generator[string] {
	token := rapid.SampledFrom([]string{
		"word", "a", "Sentence.", "Really?", "\"No!\"", " ", " ", " ", "  ", "\n", "\n", "\n\n", "\n \n", "\r\n", "\t", "```", "\n```\n", "\n```go\n",
		"\n````\n", "\n~~~\n", "~~~", "\n   ```\n", "`", "``", "[", "]", "](", "(", ")", "[a b](c)", "https://example.com/a_(b)", "\\", "- ", "1. ",
		"# ", "> ", "|", "|a|b|\n|-|-|\n", "\n|1|2|", "\n-|-\n", "é", "e\u0301", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "\u200d", "\u0301", "日本語。", "」", "\u00a0", "\xff", ":", "    ",
	})
	return rapid.Map(rapid.SliceOfN(token, 0, 200), func(tokens []string) string { return strings.Join(tokens, "") })
}

// Behaviour: chunks.
func TestSplitKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		check(t, markdown().Draw(t, "text"), rules().Draw(t, "rule"))
	})
}

// Whoever puts the pieces together, reads the text: each fence of a piece is closed in it, each row of a table has the
// header over it, and without blanks, fence lines and headers the pieces are the text.
// Behaviour: chunks.
func TestPiecesAreTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := document().Draw(t, "text")
		pieces := chunk.Split(text, chunk.Rule{Limit: runes(rapid.IntRange(24, 300).Draw(t, "limit"))})
		for _, p := range pieces {
			if strings.Count(p, "```")%2 != 0 || !headed(p) {
				t.Fatalf("a fence is not closed, or a table has no header, in %q", p)
			}
		}
		if diff := cmp.Diff(bare(text), bare(strings.Join(pieces, "\n"))); diff != "" {
			t.Fatalf("the pieces are not the text:\n%s", diff)
		}
	})
}

// The texts are such as make a careless splitter look at the same characters again and again. CLAWHOST_LONG doubles them.
func TestWorkGrowsWithTheText(t *testing.T) {
	t.Parallel()
	small, large := 5_000, 50_000
	if os.Getenv("CLAWHOST_LONG") != "" {
		small, large = 2*small, 2*large
	}
	pad := strings.Repeat("x", 997)
	for name, repeat := range map[string]string{
		"words":                 "word ",
		"one word":              "x",
		"blank lines":           "\n",
		"lines":                 "x\n",
		"short and long":        "a\n\nb\nc. d " + pad + "\n\n",
		"every rank early":      "a\n\nb\nC. d [e f](g) " + pad + pad,
		"backticks":             "` `` ``` ```` ",
		"open brackets":         "[",
		"links without an end":  "[](",
		"nested links":          "[[[]()]()]()",
		"URLs":                  "https://",
		"URLs and brackets":     "[https://x](",
		"fences":                "```\nx\n```\n",
		"fences without an end": "```\nx\n~~~\n",
		"long fences":           "```\n" + strings.Repeat("code\n", 600) + "```\n",
		"a line and a fence":    "x\n```\n" + strings.Repeat("code\n", 190) + "```\n",
		"blank code":            "```\n" + strings.Repeat("\n", 2000) + "x\n```\n",
		"long closing lines":    "```\nx\n" + strings.Repeat("`", 3000) + "\n",
		"bars":                  "|",
		"rows":                  "|a b|c|\n",
		"tables":                "|a|b|\n|-|-|\n|1|2|\n\n",
		"headers":               "|a|b|\n|-|-|\n",
		"long tables":           "|a|b|\n|-|-|\n" + strings.Repeat("|1|2 3|\n", 600) + "\n",
		"long rows":             "|a|b|\n|-|-|\n|" + strings.Repeat("c d ", 600) + "|\n\n",
		"accents":               "\u0301",
		"flags":                 "🇩🇪",
		"sentences, no blanks":  "。",
		"escapes":               "\\`",
	} {
		for _, r := range []chunk.Rule{
			{Limit: runes(1)},
			{Limit: runes(40)},
			{Limit: runes(1000)},
			{Limit: chat.TextLimit{Max: 4096, Unit: chat.UTF16}, Paragraphs: true},
			{Limit: runes(2000), Lines: 17},
		} {
			fill := func(n int) string { return "x" + strings.Repeat(repeat, n/len(repeat)+1)[:n] }
			_, one := chunk.Parts(fill(small), r)
			_, ten := chunk.Parts(fill(large), r)
			if one > 12*small || ten > 12*large || ten > 15*one {
				t.Errorf("%s, %+v: %d characters were looked at for %d bytes and %d for %d", name, r, one, small, ten, large)
			}
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("One two. Three\n\n```go\ncode\ncode\n```\nand [a b](c) `d e` https://x.yz", 20, 1)
	f.Add("~~~\n\n\n\n~~~~~~~~~~~~~\n```", 16, 2)
	f.Add("👨\u200d👩\u200d👧🇩🇪🇫🇷e\u0301\u0301\u0301", 3, 3)
	f.Add("|a|b|\n|-|-|\n|1|2|\n|3|4|\n> |5\n|c|\n|-", 24, 1)
	f.Add("``` \xff\n   ```x\n\r\n```", 9, 1)
	f.Fuzz(func(t *testing.T, text string, limit, unit int) {
		check(t, text, chunk.Rule{Limit: chat.TextLimit{Max: limit % 200, Unit: chat.Unit(unit % 4)}, Lines: limit / 200 % 20, Paragraphs: unit/4%2 == 1})
	})
}
