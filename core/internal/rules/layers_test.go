package rules_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/clawhost/clawhost"
	root   = "../../.." // of the repository
)

// wing is a folder of core/internal with its packages.
type wing struct {
	name     string // empty: the packages stand in core/internal itself
	packages []string
}

// wings are the packages of core/internal in reading order. A package imports only packages that stand before it; one that is
// not listed stands with the folder that it is in. A new package is written here first, and in the page of its wing, which has
// the same order.
var wings = []wing{
	{"base", []string{
		"crashpoint", "lazyregexp", "build", "recentlog", "logfile", "loglevel", "memory", "process", "cgroup", "budget", "frontmatter", "folder", "domain", "metrics", "trace", "wording", "health", "session", "access",
		"config", "agent",
	}},
	{"store", []string{"engine", "migrations", "sqlite", "postgres", "copying", "hosts", "dedupe", "sessions", "delivery", "queue", "questions", "plugindata", "."}},
	{"", []string{"fleet"}},
	{"", []string{"dispatch"}},
	{"text", []string{"normalise", "answer", "chunk", "envelope"}},
	{"network", []string{"remote", "plugins", "relay", "supervisor", "hook", "wakeup", "reaction", "conversation"}},
	{"media", []string{"filetype", "files", "program", "web", "speech", "extract", "outgoing"}},
	{"", []string{"notice"}},
	{"claude", []string{
		"credential", "protocol", "exchange", "transcript", "cli", "client", ".", "project", "jobs", "tools", "equip", "worktree", "sessions",
	}},
	{"chat", []string{
		"stream", "activity", "permission", "spending", "debounce", "command", "interpret", "inbox", "prompt", "early", "view", "posting", "turn", "heartbeat",
		"outbox",
	}},
	{"operate", []string{"claims", "backup", "retention", "forget", "gateway", "hostapi", "reload", "exposition", "page", "admin", "banner", "systemd", "service", "doctor", "support", "setup"}},
}

// layers are the paths of these packages below core/internal, in the same order.
var layers = func() (paths []string) {
	for _, w := range wings {
		for _, name := range w.packages {
			paths = append(paths, path.Join(w.name, name))
		}
	}
	return paths
}()

// testSupport are the packages that only tests import.
var testSupport = []string{
	"base/journal", "base/programtest", "claude/messagesapi", "claude/recordings", "media/mediatest", "network/plugins/plugintest", "rules",
	"store/engine/enginetest", "store/postgres/postgrestest", "store/storetest",
}

// translators are the packages of core that know the protocol's messages. All others see the vocabulary of sdk/chat.
var translators = []string{"network/remote", "operate/hostapi"}

// violation says what is wrong with an import of one package of the repository by another, or "". Paths are relative to its
// root. A test of core may import what it likes, a test of the sdk, a plugin or an example only what they may.
func violation(importer, imported string, inTest bool) string {
	from, to := strings.Split(importer, "/"), strings.Split(imported, "/")
	switch from[0] {
	case "docs":
		return refuse(true, "the pages import nothing")
	case "sdk":
		switch importer {
		case "sdk/chat":
			return refuse(imported != "sdk/chat" && !inTest, "the vocabulary imports the standard library only")
		case "sdk/pluginv1":
			return refuse(imported != "sdk/pluginv1", "the protocol imports only itself")
		}
		return refuse(to[0] != "sdk", "the sdk imports only itself")
	case "plugins", "examples":
		own := len(from) > 1 && len(to) > 1 && from[0] == to[0] && from[1] == to[1]
		return refuse((to[0] != "sdk" || imported == "sdk/pluginv1") && !own, "plugins and examples import only the sdk, without the protocol")
	case "core":
		return coreViolation(importer, imported, inTest)
	}
	return "packages stand below core, sdk, plugins or examples"
}

func coreViolation(importer, imported string, inTest bool) string {
	if imported == "sdk/pluginv1" && !inTest {
		return refuse(!slices.Contains(translators, inside(importer)), "only remote, hostapi and the sdk translate the protocol")
	}
	if inTest || !strings.HasPrefix(imported, "core") && !strings.HasPrefix(imported, "plugins") && !strings.HasPrefix(imported, "examples") {
		return ""
	}
	from, to := inside(importer), inside(imported)
	layer, known := slices.Index(layers, to), to != ""
	switch {
	case importer == "core/bench" && (to == "claude/messagesapi" || strings.HasPrefix(imported, "plugins/") && strings.HasSuffix(imported, "test")):
		return "" // it measures the host and plugins against the API and the networks of their tests, and ships with nothing
	case !strings.HasPrefix(imported, "core"):
		return "core imports no plugin"
	case slices.Contains(testSupport, to):
		return refuse(!slices.Contains(testSupport, from), "what ships imports no test support")
	case from == to && known, from == "" && !known:
		return ""
	case !known:
		return "package core and what is built on it stand above all of core/internal"
	case layer < 0:
		return "the imported package has no layer: add it to the list of this test"
	case from == "" || slices.Contains(testSupport, from):
		return ""
	case !slices.Contains(layers, from):
		return "the package has no layer: add it to the list of this test"
	}
	return refuse(layer > slices.Index(layers, from), from+" stands before "+to)
}

// inside is the listed package of core/internal that a package is, or is below; its folder, if none is listed; or "".
func inside(path string) string {
	name, found := strings.CutPrefix(path, "core/internal/")
	if !found {
		return ""
	}
	for {
		if slices.Contains(layers, name) || slices.Contains(testSupport, name) {
			return name
		}
		slash := strings.LastIndex(name, "/")
		if slash < 0 {
			return name
		}
		name = name[:slash]
	}
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

// packages lists all packages of the repository's modules, end-to-end tests included.
func packages(t *testing.T) []pkg {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-tags=e2e", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
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

func TestLayers(t *testing.T) {
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
		if name := inside(importer); name != "" && !slices.Contains(layers, name) && !slices.Contains(testSupport, name) {
			t.Errorf("%s has no layer: add it to the list of this test", importer)
		}
	}
	if checked == 0 {
		t.Error("no import within the repository was seen")
	}
}

// The page about the architecture shows the wings in their order, and the page of each wing its packages in theirs.
func TestLayersAreDocumented(t *testing.T) {
	t.Parallel()
	shown := func(page, from, to string) (names []string) {
		_, text, _ := strings.Cut(readPage(t, page), from)
		text, _, _ = strings.Cut(text, to)
		for _, r := range rows(text)[1:] {
			names = append(names, span.FindStringSubmatch(r.cells[0])[1])
		}
		return names
	}
	var names []string
	for _, w := range wings {
		if w.name == "" {
			names = append(names, w.packages...)
			continue
		}
		names = append(names, w.name)
		page := "core/internal/" + w.name + "/README.md"
		if packages := shown(page, "# ", "\n## "); !slices.Equal(packages, w.packages) {
			t.Errorf("%s shows the packages\n%v, the list of this test has\n%v", page, packages, w.packages)
		}
	}
	if wings := shown("docs/architecture.md", "\n## Layers\n", "\nAn interface is declared"); !slices.Equal(wings, names) {
		t.Errorf("docs/architecture.md shows\n%v, the list of this test has\n%v", wings, names)
	}
}

func relative(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

// The rules themselves, so that a hole in them is seen while the tree happens to be clean.
func TestLayersRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		importer, imported string
		inTest, allowed    bool
	}{
		{"sdk", "sdk/chat", false, true},
		{"sdk/wire", "sdk/pluginv1", false, true},
		{"sdk", "core", false, false},
		{"sdk/sdktest", "core/internal/store", true, false},
		{"sdk/chat", "sdk/wire", false, false},
		{"sdk/pluginv1", "sdk/chat", false, false},

		{"plugins/telegram", "sdk/chat", false, true},
		{"plugins/telegram", "plugins/telegram/markup", false, true},
		{"plugins/telegram", "plugins/webchat/page", false, false},
		{"plugins/telegram", "core/internal/text/chunk", true, false},
		{"examples/echo", "sdk/pluginv1", false, false},
		{"examples/echo", "sdk", false, true},

		{"core/internal/store", "sdk/chat", false, true},
		{"core/internal/store", "core/internal/base/session", false, true},
		{"core/internal/base/session", "core/internal/store", false, false},
		{"core/internal/store", "core/internal/chat/turn", false, false},
		{"core/internal/chat/turn", "core/internal/store", false, true},
		{"core/internal/claude", "core/internal/chat/turn", false, false},
		{"core/internal/chat/turn", "core/internal/claude", false, true},
		{"core/internal/chat/turn", "core/internal/claude", true, true},
		{"core/internal/chat/turn", "core/internal/operate/hostapi", false, false},
		{"core/internal/claude", "core/internal/claude/protocol", false, true},
		{"core/internal/claude/protocol", "core/internal/claude", false, false},
		{"core/internal/claude/protocol", "core/internal/claude/exchange", false, false},
		{"core/internal/claude/cli", "core/internal/claude/client", false, false},
		{"core/internal/dispatch", "core/internal/claude/protocol", false, false},
		{"core/internal/claude/stub", "core/internal/claude", false, true},
		{"core/internal/dispatch", "core/internal/claude/stub", false, false},
		{"core/internal/claude", "core/internal/claude/recordings", false, false},
		{"core/internal/claude", "core/internal/claude/recordings", true, true},
		{"core/internal/network/remote", "sdk/pluginv1", false, true},
		{"core/internal/operate/hostapi", "sdk/pluginv1", false, true},
		{"core/internal/chat/view", "sdk/pluginv1", false, false},
		{"core/internal/network/supervisor", "sdk/pluginv1", false, false},
		{"core/internal/network/supervisor", "sdk/pluginv1", true, true},
		{"core", "sdk/pluginv1", false, false},
		{"core/internal/operate/hostapi", "core/internal/chat/inbox", false, true},
		{"core/internal/operate/hostapi", "core/internal/operate/admin", false, false},
		{"core/internal/operate/hostapi", "core", false, false},
		{"core/internal/unknown", "core/internal/store", false, false},
		{"core/internal/chat/turn", "core/internal/unknown", false, false},
		{"core/internal/claude", "core/internal/claude/messagesapi", false, false},
		{"core/internal/claude", "core/internal/claude/messagesapi", true, true},
		{"core", "core/internal/claude/messagesapi", false, false},
		{"core", "core/internal/chat/turn", false, true},
		{"core/internal/chat/turn", "core", false, false},
		{"core/cmd/clawhost", "core", false, true},
		{"core", "plugins/telegram", false, false},
		{"core/bench", "plugins/telegram", false, false},
		{"core/bench", "plugins/telegram/telegramtest", false, true},
		{"core/bench", "core/internal/claude/messagesapi", false, true},
		{"core/bench", "core/internal/store/storetest", false, false},
		{"core/bench", "core/internal/claude/recordings", false, false},
		{"core", "plugins/telegram/telegramtest", false, false},

		{"tools/thing", "sdk", false, false},
	} {
		if why := violation(tc.importer, tc.imported, tc.inTest); (why == "") != tc.allowed {
			t.Errorf("%s imports %s (in a test: %t): %q, want allowed %t", tc.importer, tc.imported, tc.inTest, why, tc.allowed)
		}
	}
}
