package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const (
	module = "github.com/clawhost/clawhost"
	root   = "../../.." // of the repository
)

// floors says where each package of core/internal stands. What ships imports only what stands lower; of its own floor a
// package sees none. A new package is written here first.
var floors = map[string]int{
	"process": 0,

	"access": 1, "agent": 1, "answer": 1, "budget": 1, "chunk": 1, "config": 1, "credential": 1, "envelope": 1,
	"session": 1, "store": 1,

	"claude": 2, "command": 2, "dispatch": 2, "heartbeat": 2, "hook": 2, "inbox": 2, "media": 2, "outbox": 2, "permission": 2, "remote": 2, "reply": 2, "stream": 2, "tools": 2, "turn": 2,

	"admin": 3, "hostapi": 3, "supervisor": 3,

	"journal": testSupport, "messagesapi": testSupport, "rules": testSupport,
}

// testSupport is the floor of packages that only tests import.
const testSupport = -1

// top is the floor of package core and of what is built on it.
const top = 4

// violation says what is wrong with an import of one package of this module by another, or "". Paths are relative to the
// module. A test of core may import what it likes, a test of the sdk, a plugin or an example only what they may.
func violation(importer, imported string, inTest bool) string {
	from, to := strings.Split(importer, "/"), strings.Split(imported, "/")
	switch from[0] {
	case "proto":
		return refuse(to[0] != "proto", "the protocol imports only itself")
	case "sdk":
		if importer == "sdk/chat" {
			return refuse(imported != "sdk/chat" && !inTest, "the vocabulary imports the standard library only")
		}
		return refuse(to[0] != "sdk" && to[0] != "proto", "the sdk imports only itself and the protocol")
	case "plugins", "examples":
		own := len(from) > 1 && len(to) > 1 && from[0] == to[0] && from[1] == to[1]
		return refuse(to[0] != "sdk" && !own, "plugins and examples import only the sdk of this module")
	case "core":
		return coreViolation(importer, imported, inTest)
	}
	return "packages stand below core, sdk, proto, plugins or examples"
}

func coreViolation(importer, imported string, inTest bool) string {
	if inTest {
		return ""
	}
	upper, known := floor(importer)
	if !known {
		return "the package stands on no floor: add it to the table of this test"
	}
	lower, known := floor(imported)
	switch {
	case importer == "core/bench" && strings.HasPrefix(imported, "plugins/") && strings.HasSuffix(imported, "test"):
		return "" // it measures plugins against the networks of their tests, and ships with nothing
	case !known:
		return "the imported package stands on no floor: add it to the table of this test"
	case lower == testSupport && upper != testSupport:
		return "what ships imports no test support"
	case inside(importer) == inside(imported) && inside(importer) != "":
		return ""
	}
	return refuse(lower >= upper && !(upper == top && lower == top),
		fmt.Sprintf("floor %d may not import floor %d", upper, lower))
}

// floor is a package's floor; false where the table has none.
func floor(path string) (int, bool) {
	switch {
	case strings.HasPrefix(path, "sdk"), strings.HasPrefix(path, "proto"):
		return 0, true
	case path == "core", strings.HasPrefix(path, "core/cmd/"), path == "core/e2e", path == "core/bench":
		return top, true
	}
	f, known := floors[inside(path)]
	return f, known
}

// inside is the folder of core/internal that a package belongs to, or "".
func inside(path string) string {
	rest, found := strings.CutPrefix(path, "core/internal/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func refuse(bad bool, why string) string {
	if bad {
		return why
	}
	return ""
}

// pkg is a package as "go list" shows it.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// packages lists all packages of the module, end-to-end tests included.
func packages(t *testing.T) []pkg {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-tags=e2e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestFloors(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range packages(t) {
		importer := relative(p.ImportPath)
		check := func(imports []string, inTest bool) {
			for _, imported := range imports {
				if imported != module && !strings.HasPrefix(imported, module+"/") {
					continue
				}
				checked++
				if why := violation(importer, relative(imported), inTest); why != "" {
					t.Errorf("%s imports %s: %s", importer, relative(imported), why)
				}
			}
		}
		check(p.Imports, false)
		check(p.TestImports, true)
		check(p.XTestImports, true)
		if importer == "sdk/chat" {
			for _, imported := range p.Imports {
				if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
					t.Errorf("%s imports %s: the vocabulary imports the standard library only", importer, imported)
				}
			}
		}
		if _, known := floors[inside(importer)]; inside(importer) != "" && !known {
			t.Errorf("%s stands on no floor: add it to the table of this test", importer)
		}
	}
	if checked == 0 {
		t.Error("no import within the module was seen")
	}
}

func relative(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

// The rules themselves, so that a hole in them is seen while the tree happens to be clean.
func TestFloorsRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		importer, imported string
		inTest, allowed    bool
	}{
		{"sdk", "sdk/chat", false, true},
		{"sdk/wire", "proto/clawhost/plugin/v1", false, true},
		{"sdk", "core", false, false},
		{"sdk/sdktest", "core/internal/store", true, false},
		{"sdk/chat", "sdk/wire", false, false},
		{"proto/clawhost/plugin/v1", "sdk/chat", false, false},

		{"plugins/telegram", "sdk/chat", false, true},
		{"plugins/telegram", "plugins/telegram/markup", false, true},
		{"plugins/telegram", "plugins/webchat/page", false, false},
		{"plugins/telegram", "core/internal/chunk", true, false},
		{"examples/echo", "proto/clawhost/plugin/v1", false, false},
		{"examples/echo", "sdk", false, true},

		{"core/internal/store", "sdk/chat", false, true},
		{"core/internal/store", "core/internal/session", false, false},
		{"core/internal/store", "core/internal/turn", false, false},
		{"core/internal/turn", "core/internal/store", false, true},
		{"core/internal/turn", "core/internal/claude", false, false},
		{"core/internal/turn", "core/internal/claude", true, true},
		{"core/internal/turn", "core/internal/hostapi", false, false},
		{"core/internal/claude", "core/internal/claude/transcript", false, true},
		{"core/internal/turn", "core/internal/claude/transcript", false, false},
		{"core/internal/hostapi", "core/internal/inbox", false, true},
		{"core/internal/hostapi", "core/internal/admin", false, false},
		{"core/internal/hostapi", "core", false, false},
		{"core/internal/unknown", "core/internal/store", false, false},
		{"core/internal/turn", "core/internal/unknown", false, false},
		{"core/internal/claude", "core/internal/messagesapi", false, false},
		{"core/internal/claude", "core/internal/messagesapi", true, true},
		{"core", "core/internal/messagesapi", false, false},
		{"core", "core/internal/turn", false, true},
		{"core/cmd/clawhost", "core", false, true},
		{"core", "plugins/telegram", false, false},
		{"core/bench", "plugins/telegram", false, false},
		{"core/bench", "plugins/telegram/telegramtest", false, true},
		{"core", "plugins/telegram/telegramtest", false, false},

		{"tools/thing", "sdk", false, false},
	} {
		if why := violation(tc.importer, tc.imported, tc.inTest); (why == "") != tc.allowed {
			t.Errorf("%s imports %s (in a test: %t): %q, want allowed %t", tc.importer, tc.imported, tc.inTest, why, tc.allowed)
		}
	}
}
