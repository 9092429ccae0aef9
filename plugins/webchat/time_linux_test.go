package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/sdktest/linear"
)

// The time of a text grows no faster than its length, whatever it repeats.
func TestTimeOfHostileTexts(t *testing.T) {
	md := newMarkdown()
	for _, part := range []string{
		"[", "[](", "[a](b", "[a](x)", "![a](", "[*a](b)", "[x](\"", "[a]: b\n", "[a][", "](x)", "*a", "**a *b ", "*a_b~~c", "_*_", "`", "` `` ``` ", "```\n", "~~~\n",
		">", "> - ", "- ", "1. > ", "- - a\n", "|", "|a|b|\n", "|a|b|\n|-|-|\n", "x\n|", "<", "<a", "a <!--", "<a b=\"", "http://a.b ", "www.", "a.b@c.d ", "&", "&#1", "\\", "# a\n", "a\n=\n", "(", "a", "\n", " ",
	} {
		repeat := func(size int) string { return strings.Repeat(part, size/len(part)) }
		linear.Check(t, fmt.Sprintf("%q", part), 128<<10, repeat, func(text string) { render(md, text) })
	}
}
