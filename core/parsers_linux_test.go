package core

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
	"github.com/clawhost/clawhost/sdk/sdktest/linear"
)

// reader reads the texts of people or of the model.
type reader struct {
	size  int // bytes of the text that shows how its time grows: more for one that is quick
	parse func(text string)
}

func readers() map[string]reader {
	commands := command.New(nil, nil, command.Host{})
	rule := chunk.Rule{Limit: chat.TextLimit{Max: 500, Unit: chat.UTF16}, Lines: 17}
	message := chat.TextLimit{Max: 4096, Unit: chat.UTF16}
	return map[string]reader{
		"answer":           {256 << 10, func(text string) { answer.Parse(text, true) }},
		"answer in making": {256 << 10, func(text string) { answer.Parse(text, false) }},
		"chunks":           {32 << 10, func(text string) { chunk.Split(text, rule) }},
		"next chunk":       {32 << 10, func(text string) { chunk.Next(text, len(text)/2, rule, chunk.Cut{At: chunk.Sentence}) }},
		"closed chunk":     {32 << 10, func(text string) { chunk.Closed(text) }},
		"rest":             {32 << 10, func(text string) { chunk.Rest(text, len(text)/2) }},
		"envelope":         {32 << 10, func(text string) { envelope.Neutralise(text) }},
		"directives":       {32 << 10, func(text string) { commands.Directives(text, true, chat.Owner) }},
		"command":          {32 << 10, func(text string) { commands.Parse(text); commands.Skill("main", text); commands.IsAbort(text) }},
		"entities":         {32 << 10, func(text string) { markdown.Split(first(markdown.ToEntities(text, message)), nil, message) }},
		"WhatsApp":         {32 << 10, func(text string) { markdown.ToWhatsApp(text) }},
		"Discord":          {32 << 10, func(text string) { markdown.ToDiscord(text, message) }},
		"plain text":       {32 << 10, func(text string) { markdown.ToText(text, message) }},
	}
}

func first(text string, _ []markdown.Entity) string { return text }

// repeated are texts that take a careless parser a time that grows with the square of how often they are repeated.
var repeated = []string{
	"[", "[[", "[](", "[a](b", "[a](x)", "![a](", "[*a](b)", "[x](\"", "[x](<", "[a](b c)", "[a]: b\n", "[a][", "[[]]", "[a", "](x)", "a [b]",
	"*", "*a", "**a *b ", "*a_b~~c", "a*b_c~", "_*_", "~~", "`", "`a", "` `` ``` ", "`a`\n", "```\n", "``` ```\n", "~~~\n",
	">", "> ", "> - ", ">\n", ">>> a\n", "- ", "+ ", "1. ", "1. > ", "- a\n", "- - a\n", "    a\n", "|", "|a|b|\n", "|-|-|\n", "|a|b|\n|-|-|\n", "x\n|",
	"<", "<a", "a <a ", "a <!--", "<?", "<a b=\"", "<a@b", "http://", "http://a.b", "www.", "a.b@c.d ", "&", "&#1", "\\", "#", "# a\n", "a\n=\n", "(", "((",
	"a", "a\n", "\n", " \n", " ", "\t", "\r", "\u00a0", "\u200b", "\u0301", "\u200d", "🇦", "é", "\xff", "\x00", "。", "a. ", "System:\n", "[Telegram 2024-03-15 14:30]\n", "〖", "[frоm:\n",
	"[[tts]]", "[[tts:", "[[tts:a]] ", "[[tts ", "[[  ", "[[reply_to:a]] [[reply_to:b]]", "`[[tts]]", "NO_REPLY\n", "NO_REPLY", "MEDIA:a\n", "MEDIA:", "[from: a]\n",
	"/", "/t", "/think ", "/think high ", "/t /v ", "/queue collect cap:1 ", "/queue ", "`/think`", "/status ",
}

// TestNoParserIsWorseThanLinear: eight times the text takes about eight times as long, whatever is in it. CLAWHOST_LONG has it
// look at all texts instead of every eighth.
func TestNoParserIsWorseThanLinear(t *testing.T) {
	step := 8
	if os.Getenv("CLAWHOST_LONG") != "" {
		step = 1
	}
	for name, r := range readers() {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(repeated); i += step {
				checkLinear(t, r, repeated[i])
			}
		})
	}
}

func FuzzNoParserIsWorseThanLinear(f *testing.F) {
	for _, text := range []string{"[](", "> - ", "*a_b", "[[tts:", "`a`\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || len(text) > 200 {
			return
		}
		for name, r := range readers() {
			t.Run(name, func(t *testing.T) { checkLinear(t, r, text) })
		}
	})
}

// checkLinear checks it for a text that is repeated. From some length on a regular expression takes several times as long for
// each byte: one of two sizes is enough.
func checkLinear(t *testing.T, r reader, text string) {
	t.Helper()
	repeat := func(size int) string { return strings.Repeat(text, size/len(text)) }
	if !linear.Holds(r.size, repeat, r.parse) {
		linear.Check(t, fmt.Sprintf("%q", text), 4*r.size, repeat, r.parse)
	}
}
