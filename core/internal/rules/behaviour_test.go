package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	behaviours = "docs/behaviour.md"
	scripts    = "core/scripts"
)

var (
	// aTest is how a test is named: with its folder before it, or in the folder of the one before, and with a subtest
	// behind it.
	aTest   = regexp.MustCompile("^(?:([a-z0-9/]+) )?`((?:Test|Fuzz)[A-Za-z0-9]+)(?:/([^`]+))?`$")
	aScript = regexp.MustCompile("^(?:([a-z0-9/]+) )?`([a-z0-9_]+\\.txtar)`$")

	span       = regexp.MustCompile("`([^`]+)`")
	aCommand   = regexp.MustCompile(`^/([a-z][a-z_-]*)`)
	configName = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+`)
	sdkName    = regexp.MustCompile(`^sdk\.([A-Z][A-Za-z]*)$`)
	configRow  = regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\|")
)

// row is a line of a table.
type row struct {
	line  int
	cells []string
}

// readPage returns the text of a file of the repository.
func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rows are the lines of the tables in a text, with their headings.
func rows(text string) []row {
	var found []row
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		line = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), `\|`, "\x00")
		cells := strings.Split(line, "|")
		for j, cell := range cells {
			cells[j] = strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))
		}
		found = append(found, row{i + 1, cells})
	}
	return found
}

// source is what the Go files of a folder hold.
type source struct {
	functions map[string]bool // of the top level
	texts     map[string]bool // the string literals, as subtests are called by them
}

// sources reads folders of Go files, each once.
type sources map[string]source

func (s sources) folder(t *testing.T, dir string) source {
	t.Helper()
	if found, known := s[dir]; known {
		return found
	}
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	read := source{map[string]bool{}, map[string]bool{}}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				read.functions[n.Name.Name] = read.functions[n.Name.Name] || n.Recv == nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
					read.texts[strings.ReplaceAll(text, " ", "_")] = true
				}
			}
			return true
		})
	}
	s[dir] = read
	return read
}

// folderOf is the folder that the table means by a name, or "".
func folderOf(name string) string {
	for _, dir := range []string{"core/internal/" + name, name, "core/" + name} {
		if info, err := os.Stat(filepath.Join(root, dir)); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// unproven says what is wrong with the tests that a cell names.
func (s sources) unproven(t *testing.T, cell string) (wrong []string) {
	t.Helper()
	dir := ""
	for _, named := range strings.Split(cell, ", ") {
		if found := aScript.FindStringSubmatch(named); found != nil {
			of := scripts
			if found[1] != "" {
				of = folderOf(found[1])
			}
			if _, err := os.Stat(filepath.Join(root, of, "testdata", "script", found[2])); err != nil {
				wrong = append(wrong, named+" is not there")
			}
			continue
		}
		found := aTest.FindStringSubmatch(named)
		if found == nil {
			wrong = append(wrong, strconv.Quote(named)+" names no test")
			continue
		}
		if found[1] != "" {
			dir = folderOf(found[1])
		}
		held := s.folder(t, dir)
		if dir == "" || !held.functions[found[2]] || found[3] != "" && !held.texts[strings.ReplaceAll(found[3], " ", "_")] {
			wrong = append(wrong, named+" is not there")
		}
	}
	return wrong
}

// Each behaviour names tests that there are, and what changes it by a name that there is. The page about the config, which
// says what names it has, is held to that by a test of its own.
func TestBehavioursAreProven(t *testing.T) {
	t.Parallel()
	config := map[string]bool{}
	for _, found := range configRow.FindAllStringSubmatch(readPage(t, "docs/configuration.md"), -1) {
		for name := found[1]; name != ""; name = name[:max(0, strings.LastIndexByte(name, '.'))] {
			config[name] = true // with the blocks around it
		}
	}
	commands := command.New(nil, nil, command.Host{})
	told := map[string]bool{}
	tree := sources{}
	for _, r := range rows(readPage(t, behaviours))[1:] {
		bad := func(what string) { t.Errorf("%s:%d: %s", behaviours, r.line, what) }
		switch {
		case strings.Trim(strings.Join(r.cells, ""), "-") == "" || strings.HasPrefix(r.cells[0], "**"):
			continue
		case len(r.cells) != 4:
			bad("the row has not four cells")
			continue
		}
		for _, wrong := range tree.unproven(t, r.cells[3]) {
			bad(wrong)
		}
		for _, found := range span.FindAllStringSubmatch(r.cells[2], -1) {
			text := found[1]
			if name := sdkName.FindStringSubmatch(text); name != nil {
				if !tree.folder(t, "sdk").functions[name[1]] {
					bad("the sdk has no " + name[1])
				}
				continue
			}
			if name := configName.FindString(text); name != "" && !config[name] {
				bad("the config has no " + name)
			}
			if name := aCommand.FindStringSubmatch(text); name != nil {
				c, known := commands.Lookup(name[1])
				if told[c.Name] = true; !known {
					bad("there is no command /" + name[1])
				}
			}
		}
	}
	for _, c := range commands.List(chat.Owner) {
		if !told[c.Name] {
			t.Errorf("%s: no row has the command /%s", behaviours, c.Name)
		}
	}
}

// Each script that drives the host is the proof of a behaviour.
func TestScriptsProveBehaviours(t *testing.T) {
	t.Parallel()
	page := readPage(t, behaviours)
	paths, err := filepath.Glob(filepath.Join(root, scripts, "testdata", "script", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("the scripts are %q: %v", paths, err)
	}
	for _, path := range paths {
		if name := filepath.Base(path); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s: no row has the script %s", behaviours, name)
		}
	}
}

// The tests that the README names are in the folders or files that it names.
func TestClaimsAreProven(t *testing.T) {
	t.Parallel()
	proof := regexp.MustCompile("((?:`Test[A-Za-z]+`(?: and )?)+)[^`]*? in ((?:\\[[a-z0-9/]+\\]\\([a-z0-9/_.]+\\)(?: and in )?)+)")
	link := regexp.MustCompile(`\(([^)]+)\)`)
	tree, seen := sources{}, 0
	for _, r := range rows(readPage(t, "README.md")) {
		for _, found := range proof.FindAllStringSubmatch(r.cells[len(r.cells)-1], -1) {
			for _, test := range span.FindAllStringSubmatch(found[1], -1) {
				for _, in := range link.FindAllStringSubmatch(found[2], -1) {
					seen++
					dir := strings.TrimSuffix(in[1], "/"+filepath.Base(in[1]))
					if filepath.Ext(in[1]) == "" {
						dir = in[1]
					}
					if !tree.folder(t, dir).functions[test[1]] {
						t.Errorf("README.md:%d: %s has no %s", r.line, in[1], test[1])
					}
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d tests were seen", seen)
	}
}

// The reading of a row itself, so that a hole in it is seen while the table happens to be right.
func TestUnprovenIsFound(t *testing.T) {
	t.Parallel()
	for cell, wrong := range map[string]int{
		"rules `TestUnprovenIsFound`":                                         0,
		"rules `TestUnprovenIsFound`, `TestLayers`, config `TestSendPolicy`":  0,
		"core `TestCrash`, store `TestCrash`, `crash.txtar`, e2e `TestSteer`": 0,
		"cmd/clawhost `restart.txtar`, `crash.txtar`, sdk/wire `FuzzEvent`":   1,
		"rules `TestHouseRulesFindWhatTheyForbid/a mark`":                     0,
		"rules `TestHouseRulesFindWhatTheyForbid/a_mark`":                     0,
		"rules `TestHouseRulesFindWhatTheyForbid/no such`":                    1,
		"`TestLayers`":                    1,
		"store `TestLayers`":              1,
		"rules `packages`":                1,
		"rules tests":                     1,
		"":                                1,
		"nowhere `TestLayers`":            1,
		"rules `TestLayers` and the like": 1,
		"`no_such.txtar`, cmd/clawhost `crash.txtar`": 2,
	} {
		if got := (sources{}).unproven(t, cell); len(got) != wrong {
			t.Errorf("%s: %q, want %d", cell, got, wrong)
		}
	}
	if got := rows("x\n| a | `b\\|c` | |\n|---|---|---|\n"); len(got) != 1 || got[0].line != 2 || !slices.Equal(got[0].cells, []string{"a", "`b|c`", ""}) {
		t.Errorf("rows = %v", got)
	}
}
