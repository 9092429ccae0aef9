package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is not built is refused at its place, at the top level and for a channel, and what says that it is off is not.
func TestUnbuiltIsRefused(t *testing.T) {
	t.Parallel()
	type file struct{ text, place string }
	// in wraps a line in its block, and in a plugin's if it may stand there.
	in := func(path, line string) []file {
		top := file{fmt.Sprintf("%s {\n%s\n}\n", path, line), ":2:"}
		if path == "" {
			top = file{line + "\n", ":1:"}
		}
		files := []file{top}
		switch path {
		case "session", "inbound", "queue", "reply", "access":
			files = append(files, file{fmt.Sprintf("plugin \"p\" {\n%s {\n%s\n}\n}\n", path, line), ":3:"})
		}
		return files
	}
	for _, g := range unsupported {
		path, name := undotted(g.name)
		refused := []string{}
		for _, word := range g.later {
			refused = append(refused, `"`+word+`"`)
		}
		if g.later == nil {
			refused = []string{`"something"`, `20`, `["a"]`}
		}
		for _, value := range refused {
			for _, f := range in(path, name+" = "+value) {
				refusedAt(t, f.text, f.place, g.name)
			}
		}
		for _, value := range g.is {
			for _, f := range in(path, name+" = "+value) {
				if _, err := loadText(t, f.text); err != nil {
					t.Errorf("%s = %s: %v", g.name, value, err)
				}
			}
		}
	}
}

// A value that is not planned is no value, not one that comes later.
func TestUnplannedValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"reply {\nreasoning = \"loud\"\n}":    `reply.reasoning must be "off", "on" or "stream"`,
		"reply {\nstream = \"blocks\"\n}":     `reply.stream must be "off", "block" or "preview"`,
		"reply {\ntyping = \"allways\"\n}":    `reply.typing must be "never", "instant", "thinking" or "message"`,
		"claude {\nmode = \"one-shot\"\n}":    `claude.mode must be "persistent" or "oneshot"`,
		"access {\ndm = \"everybody\"\n}":     `access.dm must be "pairing", "allowlist", "open" or "disabled"`,
		"store {\ndriver = \"postgresql\"\n}": `store.driver must be "sqlite"`,
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %s", text, err, want)
		}
	}
}

func refusedAt(t *testing.T, text, place, name string) {
	t.Helper()
	_, err := loadText(t, text)
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 1 {
		t.Errorf("%s\nwant one problem, got %v", text, err)
		return
	}
	if p := problems[0]; p.Summary != "Not supported yet" || !strings.Contains(p.Detail, name) || !strings.Contains(p.String(), place) {
		t.Errorf("%s\nwant %s refused at %s, got %v", text, name, place, p)
	}
}

func loadText(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, func(name string) (string, bool) { return "/home/u", name == "HOME" })
}
