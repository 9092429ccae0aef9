package rules_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// archaic are words and phrases that readers stumble over, as regular expressions for text in small letters, each with what
// to write instead.
var archaic = []struct{ phrase, instead string }{
	{`tells? (whether|if)`, "reports whether"},
	{`(earlier|next|former) (life|lives)`, "previous process, next start"},
	{`in (each|every|its|another) life`, "in each process"},
	{`rooms?`, "package, space"},
	{`floors?`, "layer, minimum"},
	{`(fate|fates|fortune|fortunes)`, "status"},
	{`(overhear|overhears|overheard)`, "passive message, recorded"},
	{`(bury|buries|buried)`, "give up, dead letter"},
	{`(revive|revives|revived)`, "requeue"},
	{`(rebind|rebinds|rebound)`, "replace the session"},
	{`(heed|heeds|heeded)`, "support, follow"},
	{`(forgo|forgoes|forgoing)`, "skip, cancel"},
	{`(glance|glances|glanced)`, "snapshot"},
	{`(mend|mends|mended|mending|maxmends)`, "fix, repair"},
	{`(untell|untells|untold)`, "forget"},
	{`(is|are|was|were) let be`, "is left unchanged"},
	{`of (whomever|whoever|whosoever)`, "by anyone"},
	{`whoever has`, "the person who has"},
	{`(is|are|was|were) told of`, "learns of, gets"},
	{`(anew|afresh)`, "again, new"},
	{`for want of`, "without"},
	{`(unasked)`, "without asking, in the background"},
	{`(hitherto|herein|therein|thereof|thereby|whence|thence|hence|lest|albeit|upon|betwixt|amid|amidst|whilst|withal|ought)`, "a modern word"},
	{`comes? to nothing`, "fails"},
	{`give leave|gives leave|given leave|asks? for leave|asked for leave`, "approve, ask for permission"},
	{`dead pieces?`, "dead letter"},
	{`(?:outbox|early|kept) pieces?`, "item"},
	{`what is old`, "expired rows"},
	{`in the midst`, "during"},
	{`for ever`, "forever"},
	{`what became of`, "the result of"},
	{`(be|is|are|was|were) gone on with`, "continue"},
	{`in vain`, "without success"},
	{`gives? way`, "is removed, yields"},
	{`(life|lives) of (the|a) host`, "process of the host"},
	{`in the making`, "being written"},
	{`(can|cannot|could|to) be had`, "available, unavailable"},
	{`(pass|passes|passed) over`, "skip, ignore"},
	{`be it`, "whether, even if"},
	{`taken up`, "started, resumed"},
	{`of one's own`, "own, free"},
}

// allowed are the phrases that stay in the files whose paths begin with path, each with the reason.
var allowed = []struct{ path, phrase, reason string }{
	{"core/internal/rules/words_test.go", ".*", "this table, and the tests of the check"},
	{"core/internal/base/wording/wording_test.go", ".*", "a table like this one"},
	{"core/internal/operate/admin/", "anew", "a field of the HTTP API"},
	{"core/internal/base/domain/key", "unasked", "a key in databases"},
	{"sdk/pluginv1/", "room", "a field of the protocol"},
	{"sdk/wire/", "room", "the same field"},
	{"plugins/memory/stopwords.go", "upon", "a word that searches ignore"},
}

// words is the table as one regular expression.
func words() *regexp.Regexp {
	var phrases []string
	for _, word := range archaic {
		phrases = append(phrases, strings.ReplaceAll(word.phrase, " ", `\s+`))
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(phrases, "|") + `)\b`)
}

// instead is what to write for a phrase.
func instead(phrase string) string {
	for _, word := range archaic {
		if matches(word.phrase, strings.Join(strings.Fields(phrase), " ")) {
			return word.instead
		}
	}
	return ""
}

// matches reports whether a regular expression fits all of a text.
func matches(pattern, text string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(text)
}

// commentMarks begin the comment lines of files that are neither pages, scripts nor Go code, by their extensions.
var commentMarks = map[string]string{".hcl": "#", ".js": "//", ".proto": "//"}

var (
	// humps are the places in a name where a word begins that is written with a capital: mustFix, HTTPServer.
	humps = regexp.MustCompile(`([\p{Ll}\d])(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll})`)
	// escapes are the blanks in the source of a string.
	escapes = regexp.MustCompile(`\\[nrt]`)
)

// checkedText is the part of a file that is checked, line by line where it was: a script as a whole, a page without code, the
// comments, names and strings of Go code, and the comments of others.
func checkedText(path string, text []byte) string {
	extension := filepath.Ext(path)
	if mark, ok := commentMarks[extension]; ok {
		var comments strings.Builder
		for line := range strings.Lines(string(text)) {
			comment, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), mark)
			if !ok {
				comment = "\n"
			}
			comments.WriteString(comment)
		}
		return comments.String()
	}
	switch extension {
	case ".go":
		return textOfCode(text)
	case ".txtar":
		return strings.ReplaceAll(string(text), "\n# ", "\n")
	}
	blank := func(code string) string { return strings.Repeat("\n", strings.Count(code, "\n")) }
	return span.ReplaceAllStringFunc(fence.ReplaceAllStringFunc(string(text), blank), blank)
}

// wordsOf are the words of a name. What begins with a capital of its own, as "A" in "OfANewHost", needs a second look.
func wordsOf(name string) string {
	split := func(name string) string { return humps.ReplaceAllString(name, "$1$3 $2$4") }
	return strings.ReplaceAll(split(split(name)), "_", " ")
}

// textOfCode is the comments, the strings and the names of Go code, except the names behind a dot: they are declared elsewhere,
// and checked there if they are ours. No phrase goes on from a name or a string to the next.
func textOfCode(code []byte) string {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(code))
	var s scanner.Scanner
	s.Init(file, code, nil, scanner.ScanComments)
	var text strings.Builder
	for line, previous := 1, token.ILLEGAL; ; {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return text.String()
		case kind == token.COMMENT:
			literal = strings.TrimPrefix(literal, "//") + " "
		case kind == token.STRING:
			literal = "|" + escapes.ReplaceAllString(literal, "  ") + "|"
		case kind == token.IDENT && previous != token.PERIOD:
			literal = "|" + wordsOf(literal) + "|"
		default:
			literal = ""
		}
		previous = kind
		if literal != "" {
			now := file.Line(at)
			text.WriteString(strings.Repeat("\n", now-line) + literal)
			line = now + strings.Count(literal, "\n")
		}
	}
}

// said lists the archaic phrases of a file, each as "line: what".
func said(path string, text []byte, phrases *regexp.Regexp) (found []string) {
	checked := strings.ToLower(checkedText(path, text))
	for _, at := range phrases.FindAllStringIndex(checked, -1) {
		if phrase := checked[at[0]:at[1]]; !isAllowed(path, phrase) {
			line := 1 + strings.Count(checked[:at[0]], "\n")
			found = append(found, fmt.Sprintf("%d: write %q in modern words, such as: %s", line, phrase, instead(phrase)))
		}
	}
	return found
}

// isAllowed reports whether a phrase stays in a file.
func isAllowed(path, phrase string) bool {
	for _, a := range allowed {
		if strings.HasPrefix(path, a.path) && matches(a.phrase, phrase) {
			return true
		}
	}
	return false
}

// All pages and scripts, the comments, names and strings of Go code, and the comments of other code and of configs are in plain
// modern English.
func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	phrases, seen := words(), 0
	check := func(path string, text []byte) {
		seen++
		for _, what := range said(path, text, phrases) {
			t.Errorf("%s:%s", path, what)
		}
	}
	files(t, []string{".md", ".go", ".js", ".proto", ".hcl"}, check)
	for _, folder := range []string{"core/scripts", "core/cmd/clawhost"} {
		scripts, err := filepath.Glob(filepath.Join(root, folder, "testdata/script/*.txtar"))
		if err != nil || len(scripts) == 0 {
			t.Fatal(scripts, err)
		}
		for _, path := range scripts {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			check(strings.TrimPrefix(path, root+"/"), text)
		}
	}
	if seen < 10 {
		t.Errorf("only %d files were seen", seen)
	}
}

// The check itself, so that a hole in it is seen while all texts happen to be plain.
func TestArchaicWordsAreFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path, text string
		found      []int
	}{
		"plain":            {"a.md", "It reports whether there is space.\n", nil},
		"a phrase":         {"a.md", "One.\nIt tells whether\n", []int{2}},
		"over two lines":   {"a.md", "It tells\nwhether\n", []int{1}},
		"in capitals":      {"a.md", "Heed this.\n", []int{1}},
		"part of a word":   {"a.md", "The bathroom, a mushroom\n", nil},
		"in code":          {"a.md", "The `floor`\n```\nheed\n```\n", nil},
		"behind code":      {"a.md", "```\nheed\n```\nheed\n", []int{4}},
		"a script":         {"a.txtar", "# heed\nexec heed\n# It tells\n# whether.\n-- heed --\n", []int{1, 2, 3, 5}},
		"another language": {"a.js", "// heed\nlet heed\n  // heed\n", []int{1, 3}},
		"a comment":        {"a.go", "package a\n\n// heed it.\nvar a = 1 // heed\n", []int{3, 4}},
		"a block":          {"a.go", "package a\n\n/*\nheed */\n\n// heed\n", []int{4, 6}},
		"names":            {"a.go", "package a\n\nconst maxRooms = 1\n\nfunc (b Heed) a(heed_it int) {}\n", []int{3, 5, 5}},
		"a name's phrase":  {"a.go", "package a\n\nvar whatBecameOf, forEver int\n", []int{3, 3}},
		"name and article": {"a.go", "package a\n\nfunc ofANewHTTPFloor()\n", []int{3}},
		"parts of a name":  {"a.go", "package a\n\nvar bathroom, mendel, aNewHost = 1, 2, b.Heed\n", nil},
		"names in a row":   {"a.go", "package a\n\nvar what, is, old = \"for\", \"ever\"\n", nil},
		"a string":         {"a.go", "package a\n\nvar a = \"\\nHeed\\tit\"\n", []int{3}},
		"a raw string":     {"a.go", "package a\n\nvar a = `\none\nheed`\nvar heed int\n", []int{5, 6}},
		"a test's name":    {"a.go", "package a\n\nfunc TestHostIsToldOfIt(t *testing.T) {\n\tt.Run(\"a room\", nil)\n}\n", []int{3, 4}},
		"allowed":          {"sdk/wire/a.go", "package a\n\n// room\nvar heed = 1\n", []int{4}},
	} {
		var lines []int
		for _, what := range said(tc.path, []byte(tc.text), words()) {
			line, _, _ := strings.Cut(what, ":")
			number, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, number)
		}
		if slices.Sort(lines); !slices.Equal(lines, tc.found) {
			t.Errorf("%s: found in lines %v, want %v", name, lines, tc.found)
		}
	}
}
