package frontmatter_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/frontmatter"
	"github.com/clawhost/clawhost/core/internal/linear"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, body, problem string
		want                map[string]any
	}{
		"plain":         {file: "---\na: 1\nb: [x]\n---\nbody\n---\n", want: map[string]any{"a": 1, "b": []any{"x"}}, body: "body\n---\n"},
		"other editors": {file: "\ufeff--- \r\na: x\r\n---\t\r\nbody\r\n", want: map[string]any{"a": "x"}, body: "body\n"},
		"empty":         {file: "---\n---\nbody", want: map[string]any{}, body: "body"},
		"comment":       {file: "---\n# a\n---", want: map[string]any{}},
		"none":          {file: "body", body: "body", problem: "does not begin"},
		"no end":        {file: "---\na: 1\n", body: "---\na: 1\n", problem: "does not begin"},
		"not at once":   {file: "\n---\na: 1\n---\n", body: "\n---\na: 1\n---\n", problem: "does not begin"},
		"no YAML":       {file: "---\na: b: c\n---\nbody", body: "body", problem: "read front matter: "},
		"twice":         {file: "---\na: 1\na: 2\n---\n", problem: "read front matter: "},
		"a list":        {file: "---\n- a\n---\n", problem: "read front matter: "},
		"16 KiB":        {file: "---\na: " + strings.Repeat("x", 16<<10-4) + "\n---\n", want: map[string]any{"a": strings.Repeat("x", 16<<10-4)}},
		"longer":        {file: "---\na: " + strings.Repeat("x", 16<<10-3) + "\n---\n", problem: "longer than 16 KiB"},
		"many keys":     {file: "---\n" + keys(249) + "---\n", want: numbered(249)},
		"too many keys": {file: "---\n" + keys(250) + "---\n", problem: "more than 500 keys and values"},
	} {
		got := map[string]any{}
		body, err := frontmatter.Read(test.file, &got)
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want an error with %q", name, err, test.problem)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" || body != test.body {
			t.Errorf("%s: body %q, %v (-want +got):\n%s", name, body, err, diff)
		}
	}
	if _, err := frontmatter.Read("", nil); !errors.Is(err, frontmatter.ErrNone) {
		t.Errorf("an empty file: %v", err)
	}
}

// hostile are front matters that parsers of YAML take long for, each made of about n bytes.
var hostile = map[string]func(n int) string{
	"many keys":             func(n int) string { return keys(n / 8) },
	"short keys":            func(n int) string { return strings.Repeat("? \n", n/3) },
	"nested lists":          func(n int) string { return "a: " + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"open lists":            func(n int) string { return "a: " + strings.Repeat("[", n) },
	"nested maps":           func(n int) string { return "a: " + strings.Repeat("{a: ", n/5) + strings.Repeat("}", n/5) },
	"sequences in a line":   func(n int) string { return strings.Repeat("- ", n/2) },
	"questions in a line":   func(n int) string { return strings.Repeat("? ", n/2) },
	"keys in a line":        func(n int) string { return strings.Repeat("a: ", n/3) },
	"anchors and aliases":   func(n int) string { return "a: &a [x]\nb: [" + strings.Repeat("*a,", n/3) + "]" },
	"aliases that multiply": func(n int) string { return laughs(n) },
	"merged maps":           func(n int) string { return "a: &a {x: 1}\nb:\n" + strings.Repeat("  <<: *a\n", n/9) },
	"indentation":           func(n int) string { return staircase(n) },
	"quoted escapes":        func(n int) string { return `a: "` + strings.Repeat(`\u0041`, n/6) + `"` },
	"open quote":            func(n int) string { return `a: "` + strings.Repeat("x ", n/2) },
	"folded text":           func(n int) string { return "a: >\n" + strings.Repeat(" \n", n/2) + "x" },
	"comments":              func(n int) string { return strings.Repeat("#\n", n/2) },
	"tags":                  func(n int) string { return "a: [" + strings.Repeat("!!str a,", n/8) + "]" },
	"directives":            func(n int) string { return strings.Repeat("%TAG ! x\n", n/9) },
	"tabs":                  func(n int) string { return "a:" + strings.Repeat("\t", n) + "b" },
	"long key":              func(n int) string { return strings.Repeat("k", n) + ": a" },
	"long number":           func(n int) string { return "a: 0x" + strings.Repeat("f", n) },
	"long decimal":          func(n int) string { return "a: 1." + strings.Repeat("1", n) + "e9" },
	"documents":             func(n int) string { return strings.Repeat("a: 1\n...\n", n/9) },
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: %d\n", i, i)
	}
	return b.String()
}

func numbered(n int) map[string]any {
	all := map[string]any{}
	for i := range n {
		all[fmt.Sprint("k", i)] = i
	}
	return all
}

// laughs is a list of lists that each have the one before ten times.
func laughs(n int) string {
	b := strings.Builder{}
	b.WriteString("l0: &l0 x\n")
	for i := 1; b.Len() < n; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","))
	}
	return b.String()
}

func staircase(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// No front matter takes much longer than a harmless one of the same size.
func TestTimeOfHostileFrontMatter(t *testing.T) {
	const size = 60 << 10 // what a file may have
	var plain strings.Builder
	for plain.Len() < 15<<10 {
		fmt.Fprintf(&plain, "key-%d: %s\n", plain.Len(), strings.Repeat("some words of a description ", 20))
	}
	harmless := linear.Time(func() {
		if _, err := frontmatter.Read("---\n"+plain.String()+"---\n"+strings.Repeat("text\n", (size-plain.Len())/5), &map[string]any{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("a harmless one takes %s", harmless)
	for name, of := range hostile {
		for _, n := range []int{15 << 10, size} {
			text := of(n)
			ratio := float64(linear.Time(func() { _, _ = frontmatter.Read("---\n"+text+"\n---\n", &map[string]any{}) })) / float64(harmless)
			t.Logf("%-22s %6d bytes: %5.1f times a harmless one", name, len(text), ratio)
			if ratio > 20 {
				t.Errorf("%s of %d bytes takes %.0f times as long as a harmless one", name, len(text), ratio)
			}
		}
	}
}
