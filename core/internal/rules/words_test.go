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
	{`must mend`, "must fix"},
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

// words is the table as one regular expression for each row.
func words() []*regexp.Regexp {
	var found []*regexp.Regexp
	for _, word := range archaic {
		found = append(found, regexp.MustCompile(`\b(?:`+strings.ReplaceAll(word.phrase, " ", `\s+`)+`)\b`))
	}
	return found
}

// commentMarks begin the comment lines of files that are neither pages nor Go code, by their extensions.
var commentMarks = map[string]string{".txtar": "#", ".hcl": "#", ".js": "//", ".proto": "//"}

// spoken is the part of a file that is checked, line by line where it was: a page without code, and the comments of others.
func spoken(path string, text []byte) string {
	extension := filepath.Ext(path)
	if mark, ok := commentMarks[extension]; ok {
		script := string(text)
		if extension == ".txtar" {
			script, _, _ = strings.Cut(script, "\n-- ")
		}
		var comments strings.Builder
		for line := range strings.Lines(script) {
			comment, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), mark)
			if !ok {
				comment = "\n"
			}
			comments.WriteString(comment)
		}
		return comments.String()
	}
	if extension != ".go" {
		blank := func(code string) string { return strings.Repeat("\n", strings.Count(code, "\n")) }
		return span.ReplaceAllStringFunc(fence.ReplaceAllStringFunc(string(text), blank), blank)
	}
	files := token.NewFileSet()
	file := files.AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	var comments strings.Builder
	for line := 1; ; {
		at, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return comments.String()
		case token.COMMENT:
			for now := file.Line(at); line < now; line++ {
				comments.WriteByte('\n')
			}
			comments.WriteString(strings.TrimPrefix(literal, "//") + " ")
			line += strings.Count(literal, "\n")
		}
	}
}

// said lists the archaic phrases of a file, each as "line: what".
func said(path string, text []byte, phrases []*regexp.Regexp) (found []string) {
	checked := strings.ToLower(spoken(path, text))
	for i, phrase := range phrases {
		for _, at := range phrase.FindAllStringIndex(checked, -1) {
			found = append(found, fmt.Sprintf("%d: write %q in modern words, such as: %s", 1+strings.Count(checked[:at[0]], "\n"), checked[at[0]:at[1]], archaic[i].instead))
		}
	}
	return found
}

// All pages, and the comments of all code, scripts and configs, are in plain modern English.
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
			check(path, text)
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
		"a script":         {"a.txtar", "# heed\nexec heed\n# One,\n# heed\n-- heed --\n# heed\n", []int{1, 4}},
		"another language": {"a.js", "// heed\nlet heed\n  // heed\n", []int{1, 3}},
		"a comment":        {"a.go", "package a\n\n// heed it.\nvar a = 1 // heed\n", []int{3, 4}},
		"a block":          {"a.go", "package a\n\n/*\nheed */\n\n// heed\n", []int{4, 6}},
		"a name, a string": {"a.go", "package a\n\nvar heed = \"heed\"\n", nil},
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
