package markdown_test

import (
	"testing"

	"github.com/clawhost/clawhost/sdk/markdown"
)

func TestToWhatsApp(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"plain":                         "plain",
		"**bold** *it* ~~no~~ `code`":   "*bold* _it_ ~no~ `code`",
		"# Title\n\ntext":               "*Title*\n\ntext",
		"```go\na := 1\nb\n```":         "```a := 1\nb```",
		"**one\ntwo**":                  "*one*\n*two*",
		"> said\n> so":                  "> said\n> so",
		"[here](https://example.com/x)": "here (https://example.com/x)",
		"- a\n- b":                      "• a\n• b",
		"``echo `id` ``, `x`":           "```echo `id` ```, `x`",
		"`` `id` ``":                    "```\u200b`id`\u200b```",
		"````\n```\na``b````c\n````":    "```\u200b``\u200b`\na``b``\u200b``c```",
		"> ```\n> a`\n> ```\n\nb":       "> ```a`\u200b```\n\nb",
		"***both***":                    "*_both_*",
	} {
		if got := markdown.ToWhatsApp(source); got != want {
			t.Errorf("%q becomes %q, want %q", source, got, want)
		}
	}
}
