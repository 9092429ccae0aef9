package frontmatter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/frontmatter"
	"github.com/clawhost/clawhost/sdk/sdktest/linear"
)

// hostile are front matters for which parsers of YAML take long, each of about n bytes.
var hostile = map[string]func(n int) string{
	"a repeated key": func(int) string { return strings.Repeat("a: 1\n", 249) },
	"a repeated map": func(int) string { return "a: &a {x: 1}\nb:\n" + strings.Repeat("  <<: *a\n", 240) },
	"few aliases": func(int) string {
		return "a: &a {" + strings.ReplaceAll(keys(150), "\n", ", ") + "}\nb: [" + strings.Repeat("*a,", 180) + "]"
	},
	"merged aliases": func(int) string {
		return "a: &a {" + strings.ReplaceAll(keys(150), "\n", ", ") + "}\nb: {<<: [" + strings.Repeat("*a,", 180) + "]}"
	},
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

// laughs is a list of lists, each of which contains the one before ten times.
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
