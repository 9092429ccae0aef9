package web_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/media/web"
)

// Behaviour: links.
func TestLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                               nil,
		"no link: ftp://x, //y":          nil,
		"see https://a.example/x?y=1#z.": {"https://a.example/x?y=1#z"},
		"(http://a.example/b_(c))":       {"http://a.example/b_(c)"},
		"[x](https://a.example/b) and <http://b.example>, HTTPS://C.example!":                   {"https://a.example/b", "http://b.example", "HTTPS://C.example"},
		"http://a.example http://a.example http://b.example\nhttp://c.example http://d.example": {"http://a.example", "http://b.example", "http://c.example"},
		"**https://a.example/x** 'https://b.example/'":                                          {"https://a.example/x", "https://b.example/"},
		"xhttps://a.example":                                                    nil,
		"https://a.example/" + strings.Repeat("x", 3000):                        nil,
		"https://a.example/" + strings.Repeat(")", 9000) + " https://b.example": {"https://b.example"},
		"https://a.example/`id`\x00":                                            {"https://a.example/"},
	} {
		if diff := cmp.Diff(want, web.Links(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
