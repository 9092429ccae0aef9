package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/chat"
)

// A text that is not parsed is one that parsing leaves as it is.
func TestUnmarked(t *testing.T) {
	t.Parallel()
	unparsed := 0
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(
			rapid.StringMatching(`[a-zA-Z0-9 .,;:?!()"'/#+=-]{0,12}`), rapid.String(),
			rapid.SampledFrom([]string{"1. ", "2) ", "www.a.example", "a@b.example", "https://a.example", "http:a", "mailto:a", "- ", "+ ", "# ", " #", "===", "---", "![a", ": ", "a.example", "  ", " ", "\u00a0", "\u2028", "x", "😀", "--", "...", "\"q\"", "\x00", "\u0085"}),
		)
		source := normalise(strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), ""))
		line := strings.TrimRight(source, " ")
		if !unmarked(line) {
			return
		}
		unparsed++
		if text, entities := renderedMarkup(source, chat.TextLimit{}); text != line || len(entities) > 0 {
			t.Fatalf("%q is rendered as %q, with %d entities", source, text, len(entities))
		}
	})
	if unparsed == 0 {
		t.Error("all texts were parsed")
	}
}
