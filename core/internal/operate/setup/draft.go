// Package setup makes a first config: it finds the networks that there are plugins for, tries what it is told with the networks
// themselves, and finds out who the owner is.
package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/claims"
)

// Draft is a config that is not written yet.
type Draft struct {
	Path      string // of the file
	Name      string // of the agent
	Workspace string // of the agent
	StateDir  string // empty: the default
	Command   string // of Claude Code
	Owners    []string
	Networks  []Network // that are used
	Memory    bool      // use the plugin memory
}

// Host is this program, as far as its plugins need it.
type Host struct {
	Version  string
	Children *process.Children // starts plugins; nil: without adopting processes
}

// Text returns the config file.
func (d Draft) Text() string {
	var b strings.Builder
	b.WriteString("# The config of clawhost, written by `clawhost init`. docs/configuration.md explains every name.\n" +
		"# After a change: `clawhost reload`.\n\n")
	if d.StateDir != "" {
		b.WriteString(aligned("", argument{"state_dir", quoted(d.StateDir), "database, media, state of plugins"}) + "\n")
	}
	owners := make([]string, len(d.Owners))
	for i, owner := range d.Owners {
		owners[i] = quoted(owner)
	}
	for _, block := range []struct {
		name      string
		arguments []argument
	}{
		{"agent", []argument{{"name", quoted(d.Name), ""}, {"workspace", quoted(d.Workspace), "claude's working folder"}}},
		{"claude", []argument{
			{"command", quoted(d.Command), "uses its own login"},
			{"allowed_tools", "[]", `tools that run without asking, such as ["Read", "Bash(git *)"]`},
		}},
		{"access", []argument{
			{"owners", "[" + strings.Join(owners, ", ") + "]", "may do everything; written channel:user"},
			{"dm", `"pairing"`, "a stranger gets a code for `clawhost pairing approve CODE`"},
			{"groups", `"allowlist"`, `only groups that have a block here, such as: group "-1001234567890" {}`},
		}},
	} {
		fmt.Fprintf(&b, "%s {\n%s}\n\n", block.name, aligned("  ", block.arguments...))
	}
	var blocks []string
	for _, n := range d.Networks {
		blocks = append(blocks, n.block())
	}
	if d.Memory {
		blocks = append(blocks, "plugin \"memory\" {\n  # The agent is reminded of MEMORY.md, memory/*.md and earlier conversations, in its owner's direct chats only.\n"+
			aligned("  ", argument{"read_transcripts", "true", "also those from before it was switched on"})+"}\n")
	}
	return b.String() + strings.Join(blocks, "\n")
}

// argument is a line of a block.
type argument struct{ name, value, comment string } // the comment may be empty

// aligned writes lines as HCL's formatter does.
func aligned(indent string, list ...argument) string {
	names, values := 0, 0
	for _, a := range list {
		names = max(names, len(a.name))
		if a.comment != "" {
			values = max(values, utf8.RuneCountInString(a.value))
		}
	}
	var b strings.Builder
	for _, a := range list {
		line := fmt.Sprintf("%s%-*s = %s", indent, names, a.name, a.value)
		if a.comment != "" {
			line += strings.Repeat(" ", values-utf8.RuneCountInString(a.value)) + " # " + a.comment
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Variables returns the lines of the file of variables that the config needs.
func (d Draft) Variables() []string {
	var lines []string
	for _, n := range d.Networks {
		for _, s := range n.Settings {
			if s.Secret && s.Value != "" {
				lines = append(lines, s.Variable+"="+s.Value)
			}
		}
	}
	return lines
}

// escapes are what HCL reads differently within quotes.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "${", "$${", "%{", "%%{")

// quoted returns a text as HCL.
func quoted(text string) string { return `"` + escapes.Replace(text) + `"` }

// Check checks the config, and asks the networks about its accounts. It writes it to a folder that is removed afterwards.
func (d Draft) Check(ctx context.Context, h Host) (_ claims.Report, err error) {
	dir, err := os.MkdirTemp("", "clawhost-init-*")
	if err != nil {
		return claims.Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := d.load(dir)
	if err != nil {
		return claims.Report{}, err
	}
	// Claude is examined by itself.
	return claims.Check(ctx, c, claims.Options{Version: h.Version, Demo: true, Online: true, Children: h.Children}), nil
}

// load writes the config to another folder and reads it.
func (d Draft) load(dir string) (*config.Config, error) {
	path := filepath.Join(dir, filepath.Base(d.Path))
	if err := os.WriteFile(path, []byte(d.Text()), 0o600); err != nil {
		return nil, err
	}
	if err := writeVariables(config.VariablesPath(path), d.Variables()); err != nil {
		return nil, err
	}
	return config.Load(path, config.Variables(path, func(name string) (string, bool) {
		if slices.ContainsFunc(d.Variables(), func(line string) bool { return strings.HasPrefix(line, name+"=") }) {
			return "", false // what was entered now, not what the environment has
		}
		return os.LookupEnv(name)
	}))
}

// Write writes the config and, if there are any, its variables. A config that is there already is kept beside it, with the ending .bak.
func (d Draft) Write() error {
	if err := os.MkdirAll(filepath.Dir(d.Path), 0o700); err != nil {
		return err
	}
	if lines := d.Variables(); len(lines) > 0 {
		if err := writeVariables(config.VariablesPath(d.Path), lines); err != nil {
			return err
		}
	}
	if err := os.Rename(d.Path, d.Path+".bak"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the config that is there: %w", err)
	}
	return replace(d.Path, []byte(d.Text()))
}

// writeVariables adds lines to a file of variables, in place of those that set the same ones. Only its owner can read it.
func writeVariables(path string, lines []string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var kept bytes.Buffer
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, strings.TrimSpace(name)+"=") }) {
			kept.WriteString(strings.TrimRight(line, "\n") + "\n")
		}
	}
	for _, line := range lines {
		kept.WriteString(line + "\n")
	}
	return replace(path, kept.Bytes())
}

// replace writes a file that only its owner can read, at once.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".clawhost-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
