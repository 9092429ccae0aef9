package command_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A plugin whose block lets it replace every command, by name or alias, gets neither what stops, resets or decides something, nor
// what the host's buttons send, and has no right that the host's command does not give.
// Behaviour: command-override.
func TestAPluginThatReplacesAllItCan(t *testing.T) {
	t.Parallel()
	kept := []string{
		"new", "reset", "stop", "abort", "answer", "bash", "compact", "undo", "next", "withdraw", "approve", "deny", "allowlist", "grants", "mcp",
		"elevated", "exec", "model", "think", "queue", // directives
	}
	d := &hostCommands{shell: &shell{}}
	var names []string
	for _, c := range d.registry().List("main", chat.Owner) {
		names = append(append(names, c.Name), c.Aliases...)
	}
	for _, name := range append(slices.Clone(names), "?", "Status", "export-session", "") {
		d.plugins = append(d.plugins, chat.CommandSpec{Name: name})
		d.overrides = append(d.overrides, name)
	}
	d.plugin = answering(t, func(string) (string, error) { return "the plugin's", nil })
	own, r := (&hostCommands{shell: &shell{}}).registry(), d.registry()
	for _, name := range names {
		c, known := r.Lookup(name)
		before, _ := own.Lookup(name)
		if !known || c.Name != before.Name || c.MinAuthority < before.MinAuthority || before.Private && !c.Private {
			t.Errorf("/%s is %+v", name, c)
			continue
		}
		if slices.Contains(kept, name) && (c.Overrides || r.Lane(name, chat.Owner) != own.Lane(name, chat.Owner)) {
			t.Errorf("/%s is the plugin's", name)
		}
		parsed, ok := r.Parse("/" + name + " x")
		if want, is := own.Parse("/" + name + " x"); ok != is || fmt.Sprint(parsed) != fmt.Sprint(want) {
			t.Errorf("/%s is read as %+v, want %+v", name, parsed, want)
		}
	}
	for _, text := range []string{"/think high", "/elevated full", "/model opus"} {
		_, got, _ := r.Directives(text+" go", true, chat.Owner)
		if _, want, _ := own.Directives(text+" go", true, chat.Owner); got != want {
			t.Errorf("%s sets %+v, want %+v", text, got, want)
		}
	}
	// Whoever the plugin says may use it, an owner's command is an owner's.
	for _, name := range []string{"restart", "config", "debug", "export_session"} {
		for _, by := range []chat.Authority{chat.Other, chat.Authorised} {
			if got, err := textOf(r.Run(t.Context(), d.call("/"+name, by))); err != nil || !strings.HasPrefix(got, "You may not use /"+name) {
				t.Errorf("/%s answers %v with %q, %v", name, by, got, err)
			}
		}
		inGroup := d.call("/"+name, chat.Owner)
		inGroup.Caller.Kind = chat.Group
		if got, _ := textOf(r.Run(t.Context(), inGroup)); name != "export_session" && got == "the plugin's" {
			t.Errorf("/%s answers in a group", name)
		}
	}
}

// What the host refuses to have replaced is an error of the block that asks for it.
// Behaviour: command-override.
func TestWhatNoPluginReplaces(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for _, name := range []string{
		"new", "reset", "stop", "abort", "answer", "bash", "compact", "undo", "next", "withdraw", "approve", "deny", "allowlist", "grants", "mcp",
		"elevated", "exec", "model", "think", "queue", "id", "nothing",
	} {
		clashes := r.Clashes([]command.PluginCommands{{Plugin: "p", Names: []string{name}, Overrides: []string{name}}})
		if len(clashes) != 1 || clashes[0].Attribute != "overrides" {
			t.Errorf("%s: %v", name, clashes)
		}
	}
}

// The page of the config names each command that no plugin replaces, except aliases and directives, and no other.
func TestThePageSaysWhatNoPluginReplaces(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "such as `/model`, and ")
	list, _, ended := strings.Cut(list, " cannot be replaced")
	if !found || !ended {
		t.Fatal("the page has no list of the commands that cannot be replaced")
	}
	documented := regexp.MustCompile("`/([a-z_]+)`").FindAllStringSubmatch(list, -1)
	var names, want []string
	for _, name := range documented {
		names = append(names, name[1])
	}
	r := (&hostCommands{shell: &shell{}}).registry()
	for _, c := range r.List("main", chat.Owner) {
		clashes := r.Clashes([]command.PluginCommands{{Plugin: "p", Names: []string{c.Name}, Overrides: []string{c.Name}}})
		if _, _, directives := r.Directives("/"+c.Name, true, chat.Owner); len(clashes) > 0 && len(directives) == 0 {
			want = append(want, c.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the commands on the page (-want +got):\n%s", diff)
	}
}
