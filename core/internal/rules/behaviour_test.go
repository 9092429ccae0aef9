package rules_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	behaviours = "docs/behaviour.md"
	scripts    = "core/scripts"
)

var (
	// point is how a behaviour begins on the page.
	point = regexp.MustCompile(`^- <a id="([a-z0-9]+(?:-[a-z0-9]+)*)"></a>`)

	aTest = regexp.MustCompile(`^(Test|Fuzz)[^a-z]`)

	// marker is the line of a test's or a script's comment that names the behaviours that it proves.
	marker = regexp.MustCompile(`(?m)^(?://|#) Behaviour: (.*)$`)
	marked = regexp.MustCompile(`^[a-z0-9-]+(?:, [a-z0-9-]+)*\.$`)

	span       = regexp.MustCompile("`([^`]+)`")
	aCommand   = regexp.MustCompile(`^/([a-z][a-z_-]*)`)
	configName = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+`)
	sdkName    = regexp.MustCompile(`^sdk\.([A-Z][A-Za-z]*)$`)
	configRow  = regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\|")
)

// behaviour is a point of the page.
type behaviour struct {
	line int
	id   string // "" if it has none
	set  string // what stands in italics at its end: the default, and the names that change it
}

// points are the behaviours of a page, up to those that are left out.
func points(text string) []behaviour {
	text, _, _ = strings.Cut(text, "\n## Left out")
	var found []behaviour
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		b := behaviour{line: i + 1}
		if id := point.FindStringSubmatch(line); id != nil {
			b.id = id[1]
		}
		for _, next := range lines[i+1:] {
			if !strings.HasPrefix(next, "  ") {
				break
			}
			line += " " + strings.TrimSpace(next)
		}
		if at := strings.LastIndex(line, " *"); at >= 0 && strings.HasSuffix(line, "*") {
			b.set = line[at+2 : len(line)-1]
		}
		found = append(found, b)
	}
	return found
}

// marks are the behaviours that comments name, and what is wrong with the comments.
func marks(comment string) (ids, wrong []string) {
	for _, found := range marker.FindAllStringSubmatch(comment, -1) {
		if !marked.MatchString(found[1]) {
			wrong = append(wrong, strconv.Quote(found[0])+" is no list of behaviours with a full stop behind it")
			continue
		}
		ids = append(ids, strings.Split(strings.TrimSuffix(found[1], "."), ", ")...)
	}
	return ids, wrong
}

// testMarks are the behaviours that the tests of a Go file name. Only the comment of a test counts.
func testMarks(path string, source []byte) (ids, wrong []string) {
	if !strings.HasSuffix(path, "_test.go") || !bytes.Contains(source, []byte("\n// Behaviour: ")) {
		return nil, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, []string{err.Error()}
	}
	ofTests := map[*ast.CommentGroup]bool{}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Doc != nil && aTest.MatchString(f.Name.Name) {
			ofTests[f.Doc] = true
		}
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			found, bad := marks(comment.Text)
			wrong = append(wrong, bad...)
			if len(found) > 0 && !ofTests[group] {
				wrong = append(wrong, strconv.Quote(comment.Text)+" belongs to no test")
				continue
			}
			ids = append(ids, found...)
		}
	}
	return ids, wrong
}

// scriptFiles are the scripts that drive the real binaries.
func scriptFiles(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, folder := range []string{scripts, "core/cmd/clawhost"} {
		paths, err := filepath.Glob(filepath.Join(root, folder, "testdata", "script", "*.txtar"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("the scripts of %s are %q: %v", folder, paths, err)
		}
		for _, path := range paths {
			found = append(found, strings.TrimPrefix(path, root+"/"))
		}
	}
	return found
}

// unproven says which behaviours no test names, and which are named and not on the page.
func unproven(page []behaviour, named map[string][]string) (wrong []string) {
	known := map[string]bool{}
	for _, b := range page {
		switch {
		case b.id == "":
			wrong = append(wrong, fmt.Sprintf("%s:%d: the behaviour has no id", behaviours, b.line))
		case known[b.id]:
			wrong = append(wrong, fmt.Sprintf("%s:%d: there is another %s", behaviours, b.line, b.id))
		case len(named[b.id]) == 0:
			wrong = append(wrong, fmt.Sprintf("%s:%d: no test names %s", behaviours, b.line, b.id))
		}
		known[b.id] = true
	}
	for id, places := range named {
		if !known[id] {
			wrong = append(wrong, fmt.Sprintf("%s: %s has no behaviour %s", places[0], behaviours, id))
		}
	}
	return wrong
}

// Each behaviour of the page is proven by a test that names it, and what changes it has a name that exists. The page about the
// config is held to the code by a test of its own.
func TestBehavioursAreProven(t *testing.T) {
	t.Parallel()
	named := map[string][]string{}
	note := func(path string, ids, wrong []string) {
		for _, id := range ids {
			named[id] = append(named[id], path)
		}
		for _, what := range wrong {
			t.Errorf("%s: %s", path, what)
		}
	}
	goFiles(t, func(path string, source []byte) {
		ids, wrong := testMarks(path, source)
		note(path, ids, wrong)
	})
	for _, path := range scriptFiles(t) {
		ids, wrong := marks(readPage(t, path))
		if note(path, ids, wrong); len(ids) == 0 && strings.HasPrefix(path, scripts) {
			t.Errorf("%s: no line such as %q names the behaviour that the script proves", path, "# Behaviour: stop.")
		}
	}
	page := points(readPage(t, behaviours))
	if len(page) < 100 {
		t.Errorf("%s: only %d behaviours were found", behaviours, len(page))
	}
	for _, what := range unproven(page, named) {
		t.Error(what)
	}
}

// The settings, commands and functions of the sdk that the page names exist, and each command is there.
func TestBehavioursNameWhatExists(t *testing.T) {
	t.Parallel()
	config := map[string]bool{}
	for _, found := range configRow.FindAllStringSubmatch(readPage(t, "docs/configuration.md"), -1) {
		for name := found[1]; name != ""; name = name[:max(0, strings.LastIndexByte(name, '.'))] {
			config[name] = true // with the blocks around it
		}
	}
	sdk := functions(t, "sdk")
	commands := command.New(nil, nil, command.Host{})
	reported := map[string]bool{}
	for _, b := range points(readPage(t, behaviours)) {
		for _, found := range span.FindAllStringSubmatch(b.set, -1) {
			text := found[1]
			if name := sdkName.FindStringSubmatch(text); name != nil {
				if !sdk[name[1]] {
					t.Errorf("%s:%d: the sdk has no %s", behaviours, b.line, name[1])
				}
				continue
			}
			if name := configName.FindString(text); name != "" && !config[name] {
				t.Errorf("%s:%d: the config has no %s", behaviours, b.line, name)
			}
			if name := aCommand.FindStringSubmatch(text); name != nil {
				c, known := commands.Lookup(name[1])
				if reported[c.Name] = true; !known {
					t.Errorf("%s:%d: there is no command /%s", behaviours, b.line, name[1])
				}
			}
		}
	}
	for _, c := range commands.List("main", chat.Owner) {
		if !reported[c.Name] {
			t.Errorf("%s: no behaviour names the command /%s", behaviours, c.Name)
		}
	}
}

// The check itself, so that a hole in it is seen while all behaviours happen to be proven.
func TestUnprovenIsFound(t *testing.T) {
	t.Parallel()
	page := points("# Page\n\n- <a id=\"one\"></a>One. *Default: `\"a\"`;\n  `b.c`.*\n- <a id=\"two-b\"></a>Two *x* y.\n\n- Three.\n\n## Left out, and why\n\n- Four.\n")
	if want := []behaviour{{3, "one", "Default: `\"a\"`; `b.c`."}, {5, "two-b", ""}, {7, "", ""}}; !slices.Equal(page, want) {
		t.Errorf("points = %+v, want %+v", page, want)
	}
	const test = "package x_test\n\n// It is so.\n// Behaviour: one, two-b.\nfunc TestOne(t *testing.T) {}\n"
	for name, tc := range map[string]struct {
		source string
		wrong  int
	}{
		"proven":                 {test, 0},
		"the test is gone":       {"package x_test\n\n// Behaviour: one.\nfunc TestOne(t *testing.T) {}\n", 1},
		"all tests are gone":     {"package x_test\n", 2},
		"only its comment stays": {strings.Replace(test, "func TestOne(t *testing.T) {}", "", 1), 3},
		"at no test":             {strings.Replace(test, "TestOne", "check", 1), 3},
		"in its body":            {"package x_test\n\nfunc TestOne(t *testing.T) {\n\t// Behaviour: one, two-b.\n}\n", 2},
		"no such behaviour":      {strings.Replace(test, "one, ", "one, three, ", 1), 1},
		"no full stop":           {strings.Replace(test, "two-b.", "two-b", 1), 3},
		"no Go":                  {strings.Replace(test, "package", "pakage", 1), 3},
	} {
		ids, wrong := testMarks("x_test.go", []byte(tc.source))
		named := map[string][]string{}
		for _, id := range ids {
			named[id] = append(named[id], "x_test.go")
		}
		if wrong = append(wrong, unproven(page[:2], named)...); len(wrong) != tc.wrong {
			t.Errorf("%s: %q, want %d", name, wrong, tc.wrong)
		}
	}
	for name, page := range map[string][]behaviour{"without an id": page[2:], "twice": {page[0], page[0]}} {
		if wrong := unproven(page, map[string][]string{"one": {"x"}}); len(wrong) == 0 {
			t.Errorf("a behaviour %s is not found", name)
		}
	}
}
