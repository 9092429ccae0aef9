package chunk_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: chunks.
func TestSplitByRule(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		rule chunk.Rule
		want []string
	}{
		{"paragraphs are packed", "aa\n\nbb\n\ncc", chunk.Rule{Limit: runes(6), Paragraphs: true}, []string{"aa\n\nbb", "cc"}},
		{"a paragraph ends a piece however early", "a\n\nbb cc dd ee ff gg hh ii", chunk.Rule{Limit: runes(20), Paragraphs: true}, []string{"a", "bb cc dd ee ff gg hh", "ii"}},
		{"a paragraph that does not fit is split by length", "one two three\n\nfour", chunk.Rule{Limit: runes(8), Paragraphs: true}, []string{"one two", "three", "four"}},
		{"a text that fits is not split", "aa\n\nbb", chunk.Rule{Limit: runes(20), Paragraphs: true}, []string{"aa\n\nbb"}},

		{"lines", "a\nb\nc\nd\ne", chunk.Rule{Lines: 2}, []string{"a\nb", "c\nd", "e"}},
		{"lines that fit", "a\nb", chunk.Rule{Limit: runes(100), Lines: 2}, []string{"a\nb"}},
		{"blank lines count", "a\n\nb\n\nc", chunk.Rule{Lines: 3}, []string{"a\n\nb", "c"}},
		{"a paragraph before the last line that there is space for", "a\nb\n\nc\nd\ne", chunk.Rule{Lines: 5}, []string{"a\nb", "c\nd\ne"}},
		{"code is closed and opened", "```go\na\nb\nc\n```", chunk.Rule{Lines: 3}, []string{"```go\na\nb\n```", "```go\nc\n```"}},
		{"lines and length", "aaaa bbbb cccc\nd\ne", chunk.Rule{Limit: runes(10), Lines: 2}, []string{"aaaa bbbb", "cccc\nd", "e"}},
		{"a link is kept whole", "[a\nb\nc](x)", chunk.Rule{Lines: 2}, []string{"[a\nb\nc](x)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, chunk.Split(tt.text, tt.rule)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Behaviour: block.
func TestNext(t *testing.T) {
	t.Parallel()
	paragraphs, lines, sentences := chunk.Cut{At: chunk.Paragraph}, chunk.Cut{At: chunk.Line}, chunk.Cut{At: chunk.Sentence}
	paused, over := chunk.Cut{At: chunk.Paragraph, Pause: true}, chunk.Cut{At: chunk.Paragraph, Over: true}
	tests := []struct {
		name  string
		text  string
		sent  int
		limit int
		cut   chunk.Cut
		piece string
		end   int
	}{
		{"nothing", "", 0, 100, paragraphs, "", 0},
		{"a paragraph that may go on", "One two. Three", 0, 100, paragraphs, "", 0},
		{"a paragraph", "One two.\n\nThree", 0, 100, paragraphs, "One two.", 8},
		{"paragraphs", "One.\n\nTwo.\n\nThree", 0, 100, paragraphs, "One.\n\nTwo.", 10},
		{"no paragraph, but a line", "One two.\nThree", 0, 100, paragraphs, "", 0},
		{"a line", "One two\nThree", 0, 100, lines, "One two", 7},
		{"a sentence", "One two. Three", 0, 100, sentences, "One two.", 8},
		{"too short", "One two. Three", 0, 100, chunk.Cut{At: chunk.Sentence, Min: 9}, "", 0},
		{"long enough", "One two. Three. Four", 0, 100, chunk.Cut{At: chunk.Sentence, Min: 9}, "One two. Three.", 15},
		{"a heading goes with its text", "# One\n\nTwo", 0, 100, paragraphs, "", 0},
		{"over the limit", "one two three", 0, 10, paragraphs, "one two", 7},
		{"what follows may go on", "one two three four", 7, 10, paragraphs, "", 7},
		{"what follows, over the limit", "one two three four five", 7, 10, paragraphs, "three four", 18},
		{"indentation", "- one\n  - two\n  - three", 5, 100, lines, "  - two", 13},

		{"a pause", "One two. Three", 0, 100, paused, "One two.", 8},
		{"a pause behind a sentence", "One two. Three!", 0, 100, paused, "One two. Three!", 15},
		{"a pause in a quotation", `One "two."`, 0, 100, paused, `One "two."`, 10},
		{"a pause in a word", "One", 0, 100, paused, "", 0},
		{"a pause in a link", "One. [Two. Three.", 0, 100, paused, "One.", 4},
		{"a pause, too short", "One.", 0, 100, chunk.Cut{Pause: true, Min: 5}, "", 0},
		{"over", "One two. Three", 0, 100, over, "One two. Three", 14},
		{"over, but for what was sent", "One two. Three", 8, 100, over, "Three", 14},
		{"over, and sent", "One two.\n", 8, 100, over, "", 8},

		{"an open link", "See [the page. It](http", 0, 100, sentences, "", 0},
		{"an open link's target", "Oh. See [the page](http. x", 0, 100, sentences, "Oh.", 3},
		{"open code", "See `a. b", 0, 100, sentences, "", 0},
		{"closed code", "See `a. b`. C", 0, 100, sentences, "See `a. b`.", 11},

		{"before a fence", "One:\n\nTwo\n```\nthree\n\nfour", 0, 100, paragraphs, "One:\n\nTwo", 9},
		{"in a fence", "```\none\n\ntwo\n", 0, 100, paragraphs, "", 0},
		{"a pause in a fence", "```\none.", 0, 100, paused, "", 0},
		{"a pause behind a fence", "One.\n```\ntwo.\n```", 0, 100, paused, "One.\n```\ntwo.\n```", 13},
		{"behind a fence", "```\none\n```\n\nTwo", 0, 100, paragraphs, "```\none\n```", 11},
		{"in a fence over the limit", "```go\none\ntwo\nthree\nfour", 0, 20, paragraphs, "```go\none\ntwo\n```", 13},
		{"within a fence", "```go\none\n  two\nthree\n```\n\nfour five", 9, 40, paragraphs, "```go\n  two\nthree\n```", 25},
		{"an unfinished table", "One.\n\n|a|b|\n|-|-|\n|1|2|\n|3", 0, 100, lines, "One.", 4},
		{"a pause in a table", "a|b\n-|-\n1|2.", 0, 100, paused, "", 0},
		{"a header whose delimiter is not there yet", "One.\n|a|b|\n|-", 0, 100, lines, "One.", 4},
		{"behind a table", "|a|b|\n|-|-|\n|1|2|\n\nThree", 0, 100, paragraphs, "|a|b|\n|-|-|\n|1|2|", 17},
		{"in a table over the limit", "|a|b|\n|-|-|\n|1|2|\n|3|4|\n|5", 0, 24, paragraphs, "|a|b|\n|-|-|\n|1|2|\n|3|4|", 23},
		{"within a table", "|a|b|\n|-|-|\n|1|2|\n|3|4|\n\nfive six", 17, 40, paragraphs, "|a|b|\n|-|-|\n|3|4|", 23},
		{"the fence is closed behind its last line", "```go\none\n```\nfour\n\nfive", 9, 40, paragraphs, "four", 18},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			piece, end := chunk.Next(tt.text, tt.sent, chunk.Rule{Limit: runes(tt.limit)}, tt.cut)
			if piece != tt.piece || end != tt.end {
				t.Errorf("%q, %d, want %q, %d", piece, end, tt.piece, tt.end)
			}
		})
	}
}

func TestRest(t *testing.T) {
	t.Parallel()
	const code = "One\n```go\na\n  b\n```\nTwo"
	const table = "One\n|a|b|\n|-|-|\n|1|2|\n|3|4|\nTwo"
	for _, tt := range []struct {
		text, sent, want string
	}{
		{"  one two", "", "  one two"},
		{"one two", "one", "two"},
		{"one two", "one two", ""},
		{"one\n\n  two", "one", "  two"},
		{code, "One", code[4:]},
		{code, "One\n```go\na", "```go\n  b\n```\nTwo"},
		{code, "One\n```go\na\n  b", "Two"},
		{code, "One\n```go\na\n  b\n```", "Two"},
		{"~~~\na\nb", "~~~\na", "~~~\nb"},
		{table, "One\n|a|b|\n|-|-|\n|1|2|", "|a|b|\n|-|-|\n|3|4|\nTwo"},
		{table, "One\n|a|b|\n|-|-|\n|1|2|\n|3|4|", "Two"},
	} {
		if got := chunk.Rest(tt.text, len(tt.sent)); got != tt.want {
			t.Errorf("%q behind %q: %q, want %q", tt.text, tt.sent, got, tt.want)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "",
		"one":                       "one",
		"```\none\n```":             "```\none\n```",
		"```\none\n```\ntwo":        "```\none\n```\ntwo",
		"one\n```":                  "one",
		"one\n```go":                "one",
		"one\n```go\n":              "one",
		"```go\none":                "```go\none\n```",
		"```go\none\n":              "```go\none\n```",
		"```go\none\n``":            "```go\none\n```",
		"   ~~~~\none\n   ~~":       "   ~~~~\none\n   ~~~~",
		"```\none\n```\n\n```\ntwo": "```\none\n```\n\n```\ntwo\n```",
		"```\na\n```\n|b|c|\n|-|-|": "```\na\n```\n|b|c|\n|-|-|",
	} {
		if got := chunk.Closed(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Whatever is cut off a text while it grows, and the rest in the end, is the text: all of it and nothing twice.
func TestUnfinishedText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := document().Draw(t, "text")
		rule := chunk.Rule{Limit: runes(rapid.IntRange(24, 300).Draw(t, "limit")), Paragraphs: rapid.Bool().Draw(t, "paragraphs")}
		cut := chunk.Cut{At: rapid.SampledFrom([]chunk.Break{chunk.Paragraph, chunk.Line, chunk.Sentence}).Draw(t, "at"), Min: rapid.IntRange(0, 40).Draw(t, "min")}
		sent := 0
		var pieces []string
		for there := 0; there < len(text); {
			there = min(len(text), there+rapid.IntRange(1, 60).Draw(t, "more"))
			cut.Pause = rapid.Bool().Draw(t, "pause")
			cut.Over = there == len(text)
			for {
				now := strings.TrimRightFunc(text[:there], unicode.IsSpace)
				piece, end := chunk.Next(now, sent, rule, cut)
				if piece == "" {
					break
				}
				if end <= sent || chat.Runes.Length(piece) > rule.Limit.Max || strings.Count(piece, "```")%2 != 0 || !headed(piece) {
					t.Fatalf("from %d to %d: %q", sent, end, piece)
				}
				pieces, sent = append(pieces, piece), end
			}
		}
		if diff := cmp.Diff(bare(text), bare(strings.Join(pieces, "\n"))); diff != "" {
			t.Fatalf("the pieces are not the text:\n%s", diff)
		}
		at := rapid.IntRange(0, len(pieces)).Draw(t, "pieces")
		sent = 0
		var again []string
		for range at { // The same, but for the end, which is not cut by pieces.
			piece, end := chunk.Next(text, sent, rule, chunk.Cut{Over: true})
			again, sent = append(again, piece), end
		}
		if diff := cmp.Diff(bare(text), bare(strings.Join(append(again, chunk.Rest(text, sent)), "\n"))); diff != "" {
			t.Fatalf("some pieces and the rest are not the text:\n%s", diff)
		}
	})
}

// A text that is one piece is not looked into, and cut as if it were.
func TestOnePiece(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(document(), rapid.StringMatching("[ \n]{0,3}[a-z.!`~\\[ \n]{0,40}[ \n]{0,3}")).Draw(t, "text")
		rule := chunk.Rule{
			Limit: chat.TextLimit{Max: rapid.IntRange(0, 200).Draw(t, "limit"), Unit: chat.UTF16}, Lines: rapid.IntRange(0, 9).Draw(t, "lines"), Paragraphs: rapid.Bool().Draw(t, "paragraphs"),
		}
		cut := chunk.Cut{
			At:  rapid.SampledFrom([]chunk.Break{chunk.Paragraph, chunk.Line, chunk.Sentence}).Draw(t, "at"),
			Min: rapid.IntRange(0, 60).Draw(t, "min"), Pause: rapid.Bool().Draw(t, "pause"), Over: rapid.Bool().Draw(t, "over"),
		}
		piece, end := chunk.Next(text, 0, rule, cut)
		if wantPiece, wantEnd := chunk.NextOfDocument(text, 0, rule, cut); piece != wantPiece || end != wantEnd {
			t.Fatalf("%q, %d, want %q, %d", piece, end, wantPiece, wantEnd)
		}
	})
}

// document makes Markdown of paragraphs, code and tables.
func document() *rapid.Generator[string] {
	paragraph := rapid.StringMatching(`([a-z]{1,9}[.,]? ){1,30}[a-z]{1,9}`)
	code := rapid.Map(rapid.SliceOfN(rapid.StringMatching(`\t?[a-z(){};]{0,30}`), 1, 30), func(lines []string) string {
		return "```go\n" + strings.Join(lines, "\n") + "\n```"
	})
	table := rapid.Map(rapid.SliceOfN(rapid.StringMatching(`\|r[a-z.]{0,9}\|([a-z]{1,9} ){0,9}[a-z]\|`), 0, 30), func(rows []string) string {
		return header + strings.Join(rows, "\n")
	})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(paragraph, code, table), 1, 8), func(blocks []string) string {
		return strings.Join(blocks, "\n\n")
	})
}

// header begins each table that document makes.
const header = "|H|-|\n|-|-|\n"

// headed reports whether the header precedes every row of a table in the piece.
func headed(piece string) bool {
	over := false
	for line := range strings.Lines(piece) {
		switch {
		case strings.HasPrefix(line, "|H"):
			over = true
		case strings.TrimSpace(line) == "":
			over = false
		case strings.HasPrefix(line, "|r") && !over:
			return false
		}
	}
	return true
}

// bare returns a text without blanks, the lines of fences and the headers of tables.
func bare(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "|H") && !strings.HasPrefix(line, "|-") {
			b.WriteString(strings.Join(strings.FieldsFunc(line, unicode.IsSpace), ""))
		}
	}
	return b.String()
}
