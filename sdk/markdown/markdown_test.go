package markdown_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden renders testdata/*.md and compares text and entities with the file next to it.
func TestGolden(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("testdata/*.md")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			in, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			text, entities := markdown.ToEntities(string(in), chat.TextLimit{})
			checkEntities(t, text, entities)
			got := text + "\n----\n" + describe(text, entities)
			golden := strings.TrimSuffix(source, ".md") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("rendered otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

// describe lists entities with the text that they cover.
func describe(text string, entities []markdown.Entity) string {
	units := utf16.Encode([]rune(text))
	var b strings.Builder
	for _, e := range entities {
		fmt.Fprintf(&b, "%s %q", e.Type, string(utf16.Decode(units[e.Offset:e.Offset+e.Length])))
		if e.URL != "" {
			b.WriteString(" " + e.URL)
		}
		if e.Language != "" {
			b.WriteString(" " + e.Language)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestToEntities(t *testing.T) {
	t.Parallel()
	link := func(url string, length int) []markdown.Entity {
		return []markdown.Entity{{Type: markdown.TextLink, Length: length, URL: url}}
	}
	for _, c := range []struct {
		name, source, text string
		entities           []markdown.Entity
	}{
		{"plain", "hello", "hello", nil},
		{"blank", " \n ", "", nil},
		{
			"offsets count UTF-16", "😀 **b** 😀 *i*", "😀 b 😀 i",
			[]markdown.Entity{{Type: "bold", Offset: 3, Length: 1}, {Type: "italic", Offset: 8, Length: 1}},
		},
		{
			"code splits what is around it", "**a `b` c**", "a b c",
			[]markdown.Entity{
				{Type: "bold", Offset: 0, Length: 2},
				{Type: "code", Offset: 2, Length: 1},
				{Type: "bold", Offset: 3, Length: 2},
			},
		},
		{"a link is worth more than code", "[`x`](https://a.example)", "x", link("https://a.example", 1)},
		{"tg links", "[x](tg://user?id=5)", "x", link("tg://user?id=5", 1)},
		{"a host without a dot is refused by Telegram", "[app](http://localhost:3000)", "app (http://localhost:3000)", nil},
		{"mail addresses are found by Telegram", "[mail me](mailto:a@b.example)", "mail me (a@b.example)", nil},
		{"script", "[x](javascript:alert(1))", "x (javascript:alert(1))", nil},
		{"relative", "[walk.go](sdk/walk.go#L12)", "walk.go (sdk/walk.go#L12)", nil},
		{"image", "![cat](https://a.example/cat.png)", "cat", link("https://a.example/cat.png", 3)},
		{"image without words", "![](https://a.example/cat.png)", "https://a.example/cat.png", nil},
		{"escapes once", `\*a\* \&amp; &amp;lt; &#42; &nosuch; \q`, `*a* &amp; &lt; * &nosuch; \q`, nil},
		{"unclosed marks stay", "a **b and `c", "a **b and `c", nil},
		{"bold in bold is one", "# a **b** c", "a b c", []markdown.Entity{{Type: "bold", Length: 5}}},
		{"quotes do not nest", "> a\n>> b", "a\nb", []markdown.Entity{{Type: "blockquote", Length: 3}}},
		{"only a reference", "[a]: https://a.example", "[a]: https://a.example", nil},
		{"NUL and bad UTF-8", "a\x00b\xffc", "a\uFFFDb\uFFFDc", nil},
		{"line ends", "a\r\nb\rc", "a\nb\nc", nil},
		{"HTML", "a <b>c</b>\n\n<div>\n*x*\n</div>", "a <b>c</b>\n\n<div>\n*x*\n</div>", nil},
		{"a comment to its end", "<!-- a\nb -->\n\nc", "<!-- a\nb -->\n\nc", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, entities := markdown.ToEntities(c.source, chat.TextLimit{})
			if text != c.text {
				t.Errorf("text %q, want %q", text, c.text)
			}
			if diff := cmp.Diff(c.entities, entities); diff != "" {
				t.Errorf("entities (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTooManyEntities(t *testing.T) {
	t.Parallel()
	source := strings.Repeat("**b** ", 150) + "[link](https://a.example)"
	text, entities := markdown.ToEntities(source, chat.TextLimit{})
	if want := strings.Repeat("b ", 150) + "link"; text != want {
		t.Errorf("text lost: %q", text)
	}
	if len(entities) != markdown.MaxEntities || entities[len(entities)-1].Type != markdown.TextLink {
		t.Errorf("%d entities, the last %+v; want %d and the link", len(entities), entities[len(entities)-1], markdown.MaxEntities)
	}
}

// TestGrowth checks that the output is at most a multiple of the input: tables and nested lists could grow with its square.
func TestGrowth(t *testing.T) {
	t.Parallel()
	const n = 4000
	for name, source := range map[string]string{
		"wide table":    strings.Repeat("|a", n/8) + "\n" + strings.Repeat("|-", n/8) + "\n" + strings.Repeat("b\n", n/4),
		"one wide cell": "|" + strings.Repeat("x", n/2) + "|b|\n|-|-|\n" + strings.Repeat("|a|b|\n", n/12),
		"nested quotes": strings.Repeat(">", n),
		"nested lists":  strings.Repeat("- ", n/2) + "x",
		"stairs":        stairs(80),
		"brackets":      strings.Repeat("[", n),
		"stars":         strings.Repeat("*a ", n/3),
		"backticks":     strings.Repeat("`a``", n/4),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, entities := markdown.ToEntities(source, chat.TextLimit{})
			checkEntities(t, text, entities)
			if len(text) > 16*len(source)+100 {
				t.Errorf("%d bytes became %d", len(source), len(text))
			}
		})
	}
}

func stairs(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}

func FuzzToEntities(f *testing.F) {
	for _, seed := range []string{
		"# a\n\n- b **c `d` e** [f](https://g.example)\n  1. h\n\n> i\n> > ```go\n> > j\n> > ```\n",
		"|a|b|\n|-|:-:|\n|😀|`c\\|d`|\n", "***x** y*", "&#x1F600;&amp;\\*", "- [x] a\n- [ ] b\n\n<!-- x", "~~a~~ ~b~ www.a.example a@b.example",
	} {
		f.Add(seed, 40)
	}
	f.Fuzz(func(t *testing.T, source string, limit int) {
		text, entities := markdown.ToEntities(source, chat.TextLimit{})
		checkEntities(t, text, entities)
		if strings.TrimSpace(source) != "" && strings.TrimSpace(text) == "" {
			t.Errorf("%q became blank", source)
		}
		checkSplit(t, text, entities, min(max(limit, 2), 4096))
	})
}

// TestMarkdownProperty builds Markdown from pieces that nest and checks text and entities.
func TestMarkdownProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{
			"**", "*", "_", "`", "``", "~~", "[", "](https://a.example)", "](x)", "> ", "- ", "1. ", "- [ ] ", "# ", "```go\n", "```\n",
			"|", "|-|-|\n", "\n", "\n\n", "    ", "  ", "a", "word ", "😀", "é", "\\", "&amp;", "<b>", "https://b.example", "!",
		})
		source := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
		text, entities := markdown.ToEntities(source, chat.TextLimit{})
		checkEntities(t, text, entities)
		checkSplit(t, text, entities, rapid.IntRange(2, 60).Draw(t, "limit"))
	})
}

// failer is the part of testing.TB that the checks need.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkEntities checks entities against Telegram's rules.
func checkEntities(t failer, text string, entities []markdown.Entity) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Fatalf("text is not UTF-8: %q", text)
	}
	units := utf16.Encode([]rune(text))
	between := func(i int) bool { return i == 0 || i == len(units) || units[i] < 0xDC00 || units[i] > 0xDFFF }
	if len(entities) > markdown.MaxEntities {
		t.Fatalf("%d entities", len(entities))
	}
	var open []markdown.Entity
	for i, e := range entities {
		end := e.Offset + e.Length
		if e.Offset < 0 || e.Length < 1 || end > len(units) || !between(e.Offset) || !between(end) {
			t.Fatalf("%+v does not fit %q", e, text)
		}
		if i > 0 && e.Offset < entities[i-1].Offset {
			t.Fatalf("not sorted: %+v", entities)
		}
		for len(open) > 0 && e.Offset >= open[len(open)-1].Offset+open[len(open)-1].Length {
			open = open[:len(open)-1]
		}
		for _, outer := range open {
			isCode := e.Type == markdown.Code || e.Type == markdown.Pre
			switch {
			case end > outer.Offset+outer.Length:
				t.Fatalf("%+v crosses %+v", e, outer)
			case outer.Type == markdown.Code || outer.Type == markdown.Pre, isCode && outer.Type != markdown.Blockquote:
				t.Fatalf("%+v lies in %+v", e, outer)
			case outer.Type == e.Type:
				t.Fatalf("%+v lies in its like", e)
			}
		}
		open = append(open, e)
	}
}

// checkSplit checks the parts against the limit, and against the text and formatting of the whole.
func checkSplit(t failer, text string, entities []markdown.Entity, limit int) {
	t.Helper()
	parts := markdown.Split(text, entities, chat.TextLimit{Max: limit, Unit: chat.UTF16})
	var joined, looks strings.Builder
	for _, part := range parts {
		checkEntities(t, part.Text, part.Entities)
		if n := len(utf16.Encode([]rune(part.Text))); n > limit || strings.Trim(part.Text, " \n") == "" {
			t.Fatalf("part %q of %d units under a limit of %d", part.Text, n, limit)
		}
		joined.WriteString(part.Text)
		looks.WriteString(look(part.Text, part.Entities))
	}
	if want, got := squeeze(text), squeeze(joined.String()); want != got {
		t.Fatalf("split lost text: %q became %+v", text, parts)
	}
	if want, got := look(text, entities), looks.String(); want != got {
		t.Fatalf("split changed looks: %q became %q", want, got)
	}
}

func squeeze(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }

// look returns for each visible UTF-16 unit the entities that cover it.
func look(text string, entities []markdown.Entity) string {
	units := utf16.Encode([]rune(text))
	var b strings.Builder
	for i, unit := range units {
		if unit == ' ' || unit == '\n' {
			continue
		}
		for _, e := range entities {
			if i >= e.Offset && i < e.Offset+e.Length {
				b.WriteString(e.Type[:1] + e.URL)
			}
		}
		b.WriteByte('.')
	}
	return b.String()
}

func TestSplitAtLineEnds(t *testing.T) {
	t.Parallel()
	text, entities := markdown.ToEntities("first line\n\n```go\nsecond line\nthird line\n```", chat.TextLimit{})
	got := markdown.Split(text, entities, chat.TextLimit{Max: 24, Unit: chat.UTF16})
	want := []markdown.Part{
		{Text: "first line\n\nsecond line", Entities: []markdown.Entity{{Type: "pre", Offset: 12, Length: 11, Language: "go"}}},
		{Text: "third line", Entities: []markdown.Entity{{Type: "pre", Length: 10, Language: "go"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestSplitPrefersLineEnds(t *testing.T) {
	t.Parallel()
	got := markdown.Split("aaaa bbbb\ncc dd eeeee", nil, chat.TextLimit{Max: 15, Unit: chat.UTF16})
	want := []markdown.Part{{Text: "aaaa bbbb"}, {Text: "cc dd eeeee"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// TestSplitCountsAsTheNetwork counts in bytes, characters or UTF-16 code units. Offsets of entities stay in UTF-16.
func TestSplitCountsAsTheNetwork(t *testing.T) {
	t.Parallel()
	text, entities := markdown.ToEntities("ü🦀ü🦀 **ü🦀**", chat.TextLimit{})
	for _, tt := range []struct {
		limit chat.TextLimit
		want  []string
	}{
		{chat.TextLimit{Max: 6, Unit: chat.Bytes}, []string{"ü🦀", "ü🦀", "ü🦀"}},
		{chat.TextLimit{Max: 4, Unit: chat.Runes}, []string{"ü🦀ü🦀", "ü🦀"}},
		{chat.TextLimit{Max: 6, Unit: chat.UTF16}, []string{"ü🦀ü🦀", "ü🦀"}},
		{chat.TextLimit{Max: 1, Unit: chat.Bytes}, []string{"ü", "🦀", "ü", "🦀", "ü", "🦀"}}, // at least one character
		{chat.TextLimit{}, []string{"ü🦀ü🦀 ü🦀"}},
	} {
		var got []string
		parts := markdown.Split(text, entities, tt.limit)
		for _, part := range parts {
			got = append(got, part.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: parts (-want +got):\n%s", tt.limit, diff)
		}
		if last := parts[len(parts)-1]; len(last.Entities) != 1 || last.Entities[0].Offset+last.Entities[0].Length != chat.UTF16.Length(last.Text) {
			t.Errorf("%+v: the last part is %+v, want its end in bold", tt.limit, last)
		}
	}
}

// TestToText renders for a network without formatting.
func TestToText(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"plain":                            "plain",
		"# Head\n\nSome **bold** *text*":   "Head\n\nSome bold text",
		"a [link](https://a.example) to":   "a link (https://a.example) to",
		"<https://a.example>":              "https://a.example",
		"> said\n> so":                     "> said\n> so",
		"`code` and\n\n```go\nmore()\n```": "code and\n\nmore()",
		"1 \\* 2":                          "1 * 2",
		"***":                              "———",
	} {
		if got := markdown.ToText(source, chat.TextLimit{}); got != want {
			t.Errorf("%q becomes %q, want %q", source, got, want)
		}
	}
}

func BenchmarkToEntities(b *testing.B) {
	source := strings.Repeat("# Head\n\nSome **bold** and `code` with a [link](https://a.example).\n\n- one\n- two\n\n", 40)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		markdown.ToEntities(source, chat.TextLimit{})
	}
}
