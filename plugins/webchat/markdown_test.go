package main

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRender(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ source, want string }{
		"text":             {"hello", "<p>hello</p>\n"},
		"line break":       {"a\nb", "<p>a<br>\nb</p>\n"},
		"emphasis":         {"**a** *b* ~~c~~", "<p><strong>a</strong> <em>b</em> <del>c</del></p>\n"},
		"code":             {"```go\na < b\n```", "<pre><code class=\"language-go\">a &lt; b\n</code></pre>\n"},
		"task":             {"- [x] a", "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> a</li>\n</ul>\n"},
		"link":             {"[a](https://x.org)", "<p><a href=\"https://x.org\" target=\"_blank\" rel=\"noopener noreferrer\">a</a></p>\n"},
		"bare link":        {"https://x.org", "<p><a href=\"https://x.org\" target=\"_blank\" rel=\"noopener noreferrer\">https://x.org</a></p>\n"},
		"mail":             {"<a@x.org>", "<p><a href=\"mailto:a@x.org\" target=\"_blank\" rel=\"noopener noreferrer\">a@x.org</a></p>\n"},
		"image":            {"![a](https://x.org/a.png)", "<p><a href=\"https://x.org/a.png\" target=\"_blank\" rel=\"noopener noreferrer\">a</a></p>\n"},
		"image, no text":   {"![](https://x.org/a.png)", "<p><a href=\"https://x.org/a.png\" target=\"_blank\" rel=\"noopener noreferrer\">image</a></p>\n"},
		"image in link":    {"[![a](https://x.org/a.png)](https://x.org)", "<p><a href=\"https://x.org\" target=\"_blank\" rel=\"noopener noreferrer\">a</a></p>\n"},
		"inline HTML":      {"a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>\n"},
		"block HTML":       {"<script>\nalert(1)\n</script>", "<p>&lt;script&gt;<br>\nalert(1)<br>\n&lt;/script&gt;</p>\n"},
		"comment":          {"<!-- a -->", "<p>&lt;!-- a --&gt;</p>\n"},
		"script link":      {"[a](javascript:alert(1))", "<p>a</p>\n"},
		"script, upper":    {"[a](JaVaScRiPt:alert(1))", "<p>a</p>\n"},
		"script, entity":   {"[a](java&#115;cript:alert(1))", "<p>a</p>\n"},
		"script, tab":      {"[a](<java\tscript:alert(1)>)", "<p>a</p>\n"},
		"script, image":    {"![a](javascript:alert(1))", "<p>a</p>\n"},
		"script, autolink": {"<javascript:alert(1)>", "<p>javascript:alert(1)</p>\n"},
		"script, ref":      {"[a]\n\n[a]: javascript:alert(1)", "<p>a</p>\n"},
		"data link":        {"[a](data:text/html,<script>alert(1)</script>)", "<p>a</p>\n"},
		"data image":       {"![a](data:image/svg+xml;base64,AAAA)", "<p>a</p>\n"},
		"file link":        {"[a](file:///etc/passwd)", "<p>a</p>\n"},
		"relative link":    {"[a](/api/history)", "<p>a</p>\n"},
		"no scheme":        {"[a](//x.org)", "<p>a</p>\n"},
		"quote in link":    {`[a](https://x.org/"onmouseover="alert(1))`, "<p><a href=\"https://x.org/%22onmouseover=%22alert(1)\" target=\"_blank\" rel=\"noopener noreferrer\">a</a></p>\n"},
		"quote in title":   {`[a](https://x.org 'b" onclick="c')`, "<p><a href=\"https://x.org\" title=\"b&quot; onclick=&quot;c\" target=\"_blank\" rel=\"noopener noreferrer\">a</a></p>\n"},
		"quote in fence":   {"```a\"onclick=\"b\nc\n```", "<pre><code class=\"language-a&quot;onclick=&quot;b\">c\n</code></pre>\n"},
		"attributes":       {"# a {onclick=alert(1)}", "<h1>a {onclick=alert(1)}</h1>\n"},
		"nothing to show":  {"[a]: https://x.org", "<pre>[a]: https://x.org</pre>"},
		"a null":           {"a\x00b", "<p>a\ufffdb</p>\n"},
	}
	md := newMarkdown()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := render(md, test.source); got != test.want {
				t.Errorf("render(%q)\n got %q\nwant %q", test.source, got, test.want)
			}
		})
	}
}

func TestRenderAlignsTablesWithoutStyle(t *testing.T) {
	t.Parallel()
	got := render(newMarkdown(), "|a|\n|-:|\n|b|\n")
	if !strings.Contains(got, `<th align="right">a</th>`) || strings.Contains(got, "style") {
		t.Errorf("got %q", got)
	}
}

// More HTML than a page can do with is not made: what has so many links is shown as it was written.
func TestRenderBoundsHTML(t *testing.T) {
	t.Parallel()
	got := render(newMarkdown(), strings.Repeat("http://a.bc ", 20_000))
	if len(got) > maxHTML || !strings.HasPrefix(got, "<pre>http://a.bc ") {
		t.Errorf("got %d bytes, beginning %.40q", len(got), got)
	}
}

// Each short row of a table has as many cells as the first: those of the largest message there is would take gigabytes.
func TestRenderBoundsTables(t *testing.T) {
	t.Parallel()
	table := func(columns, rows int) string {
		return strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n" + strings.Repeat("|\n", rows)
	}
	if got := render(newMarkdown(), table(4000, 8000)); strings.Contains(got, "<table>") || !strings.Contains(got, "|a|a|a|") {
		t.Errorf("got %d bytes, beginning %.40q", len(got), got)
	}
	if got := render(newMarkdown(), table(20, 200)); strings.Count(got, "<td>") != 20*200 {
		t.Errorf("a table that is not too big has %d cells", strings.Count(got, "<td>"))
	}
}

// allowedTag is every tag that the renderer may write.
var allowedTag = regexp.MustCompile(`^(` +
	`</?(p|em|strong|del|pre|code|ul|ol|li|blockquote|h[1-6]|table|thead|tbody|tr|th|td|a)>` +
	`|<(br|hr)>` +
	`|<ol start="\d+">` +
	`|<code class="language-[^"<>]*">` +
	`|<(th|td) align="(left|center|right)">` +
	`|<input (checked="" )?disabled="" type="checkbox">` +
	`|<a href="(?i:https?://|mailto:)[^"<>]*"( title="[^"<>]*")? target="_blank" rel="noopener noreferrer">` +
	`)$`)

func checkTags(t interface{ Fatalf(string, ...any) }, source, html string) {
	for rest := html; ; {
		start := strings.IndexAny(rest, "<>")
		if start < 0 {
			return
		}
		end := strings.IndexByte(rest, '>')
		if rest[start] != '<' || end < start || !allowedTag.MatchString(rest[start:end+1]) {
			t.Fatalf("render(%q) has a tag that is not allowed at %.80q", source, rest[start:])
		}
		rest = rest[end+1:]
	}
}

// Whatever the source is, the HTML has no tag and no attribute but the known ones.
func TestRenderWritesKnownTagsOnly(t *testing.T) {
	t.Parallel()
	md := newMarkdown()
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"<", ">", "\"", "'", "&", "&#x6a;", "[", "]", "(", ")", "!", "`", "```", "\n", "\n\n", " ", "    ", "*", "_", "~~",
			"|", "|-|\n", "- ", "1. ", "> ", "# ", "<img src=x onerror=alert(1)>", "<script>", "</a>", "javascript:alert(1)",
			"https://x.org/", "www.x.org", "a@x.org", "mailto:a@x.org", "data:text/html,", "[a]: ", "\\", "\t", "\x00", "onclick=",
			"{onclick=a}", "<!--", "-->", "<![CDATA[", "<?", "- [ ] ", "http://", "HTTPS://x.org",
		}),
		rapid.StringN(1, 4, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(part, 1, 30).Draw(t, "parts"), "")
		checkTags(t, source, render(md, source))
	})
}

func FuzzRender(f *testing.F) {
	md := newMarkdown()
	f.Add("[a](java&#115;cript:alert(1)) <img src=x onerror=alert(1)>")
	f.Add("```a\"b\n<script>\n```")
	f.Fuzz(func(t *testing.T, source string) {
		checkTags(t, source, render(md, source))
	})
}
