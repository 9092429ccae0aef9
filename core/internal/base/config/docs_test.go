package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// The page documents every name that the file may hold, once, and no other.
func TestEveryNameIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := []string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1])
	}
	slices.Sort(documented)
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(knownNames())), documented); diff != "" {
		t.Errorf("documented names (-decoded +documented):\n%s", diff)
	}
}

// Configuration.md leaves the modes of the queue to the page of behaviours, which describes each.
func TestEveryModeIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/behaviour.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## The queue\n")
	if !found {
		t.Fatal("the page has no section on the queue")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, mode := range domain.Modes() {
		if !regexp.MustCompile("[Mm]ode `" + mode + "`").MatchString(section) {
			t.Errorf("the mode %s is not described", mode)
		}
	}
}

// knownNames are the arguments that the decoder takes.
func knownNames() map[string]bool {
	names := map[string]bool{}
	var walk func(b block)
	walk = func(b block) {
		for _, name := range b.attrNames() {
			names[dotted(b.path, name)] = true
		}
		for _, c := range b.blocks {
			walk(c.holds("label"))
		}
	}
	walk(defaults().fileBlock(nil))
	return names
}

var (
	documented = regexp.MustCompile("^\\| `([a-z0-9_.]+)`$")
	written    = regexp.MustCompile("`(\"[^`]*\"|\\[[^`]*\\]|\\{(?: [^`]*)?\\}|[0-9]+|true|false)`")
	variable   = regexp.MustCompile(`env\("[A-Z_]+"\)`)
)

// What the page calls a default changes nothing when the file says it, and what it calls a value is one, or is one of a list.
func TestDocumentedValuesAreTrue(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	defaults := 0
	for i, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, " | ")
		name := documented.FindStringSubmatch(cells[0])
		if name == nil {
			continue
		}
		if len(cells) != 5 {
			t.Errorf("line %d has %d cells, want name, meaning, default, values and change", i+1, len(cells))
			continue
		}
		if effect := strings.TrimSuffix(cells[4], " |"); effect != string(EffectOf(name[1])) {
			t.Errorf("line %d: a change of %s needs %q, want %q", i+1, name[1], effect, EffectOf(name[1]))
		}
		if at := written.FindStringSubmatchIndex(cells[2]); at != nil && at[0] == 0 {
			defaults++
			checkDefault(t, fmt.Sprint("line ", i+1), name[1], cells[2][at[2]:at[3]])
		}
		for _, found := range written.FindAllStringSubmatch(cells[3], -1) {
			value := variable.ReplaceAllString(found[1], `"secret"`)
			_, err := loadText(t, saying(name[1], value))
			if _, inList := loadText(t, saying(name[1], "["+value+"]")); err != nil && inList != nil {
				t.Errorf("line %d: %s = %s: %v", i+1, name[1], value, err)
			}
		}
	}
	if defaults < 50 {
		t.Errorf("only %d defaults were seen", defaults)
	}
}

// behaved is a default in behaviour.md: its value, and the first of the names that change it.
var behaved = regexp.MustCompile("\\*Default:\\s+(?:`([^`]+)`|([0-9]+)(?:\\s+(ms|s|MB))?\\b)[^;*]*;\\s+`([a-z_]+\\.[a-z_.]+)`")

// The page of behaviours names the same defaults.
func TestBehavioursHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/behaviour.md")
	if err != nil {
		t.Fatal(err)
	}
	found := behaved.FindAllStringSubmatch(string(page), -1)
	for _, point := range found {
		value, name := cmp.Or(point[1], point[2]), point[4]
		if point[3] != "" {
			value = strconv.Quote(value + point[3])
		}
		checkDefault(t, strings.Join(strings.Fields(point[0]), " "), name, value)
	}
	if len(found) < 25 {
		t.Errorf("only %d defaults were seen", len(found))
	}
}

// checkDefault fails the test if a file that gives a name this value means something else than one that does not give it.
func checkDefault(t *testing.T, where, name, value string) {
	t.Helper()
	unsaid, err := loadText(t, saying(name, "null"))
	if err != nil {
		t.Fatal(err)
	}
	if said, err := loadText(t, saying(name, value)); err != nil {
		t.Errorf("%s: the default of %s: %v", where, name, err)
	} else if diff := gocmp.Diff(plain(t, unsaid), plain(t, said)); diff != "" {
		t.Errorf("%s: the default of %s is another (-is +documented):\n%s", where, name, diff)
	}
}

// saying is a file that gives a name this value.
func saying(name, value string) string {
	path, last := undotted(name)
	text := fmt.Sprintf("%s = %s\n", last, value)
	if path == "send.rule" && last != "policy" {
		text += "policy = \"allow\"\n"
	}
	if path == "route" && last != "agent" {
		text += "agent = \"main\"\n"
	}
	if path == "budget" {
		text += map[string]string{"per": "daily = \"$5\"\n", "daily": "per = \"all\"\n", "monthly": "per = \"all\"\n"}[last]
	}
	if path == "claude.mcp" && last != "url" && last != "command" {
		text += map[string]string{"env": "command = [\"files\"]\n", "headers": "url = \"https://example.com\"\n"}[last]
	}
	if name == "media.tts" {
		text += "speak = [\"true\", \"{out}\"]\n"
	}
	if path == "store" && value == `"postgres"` {
		text += "dsn = \"postgres://h/d\"\n"
	}
	if path == "store" && last == "dsn" {
		text += "driver = \"postgres\"\n"
	}
	if path == "admin" {
		text += map[string]string{
			"listen": "token = \"0123456789abcdef\"\n",
			"hosts":  "listen = \":8765\"\ntoken = \"0123456789abcdef\"\n",
		}[last]
	}
	if name == "media.store" {
		return "store {\n  driver = \"postgres\"\n  dsn = \"postgres://h/d\"\n}\nmedia {\n" + text + "}\n"
	}
	for path != "" {
		label := map[string]string{"plugin": `"p"`, "session.reset": `"group"`, "reply.chat": `"group"`, "access.group": `"-1"`, "claude.mcp": `"files"`}[path]
		path, last = undotted(path)
		text = fmt.Sprintf("%s %s {\n%s}\n", last, label, text)
	}
	return text + "plugin \"telegram\" {\n  enabled = false\n}\nplugin \"discord\" {\n  enabled = false\n}\n"
}

// plain is what a file says, but for its own place.
func plain(t *testing.T, c *Config) string {
	t.Helper()
	c.Path = ""
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(": []", ": null", ": {}", ": null").Replace(string(text))
}
