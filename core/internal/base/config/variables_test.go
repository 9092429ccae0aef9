package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "# tokens\nTOKEN=1:abc\n QUOTED = \"a b=c\" \nSINGLE='x'\nno assignment\n#OFF=1\nBOTH=file\nEMPTY=\n"
	if err := os.WriteFile(config.VariablesPath(filepath.Join(dir, "config.hcl")), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	look := config.Variables(filepath.Join(dir, "config.hcl"), func(name string) (string, bool) { return "environment", name == "BOTH" })
	for name, want := range map[string]string{
		"TOKEN": "1:abc", "QUOTED": "a b=c", "SINGLE": "x", "BOTH": "environment", "EMPTY": "",
	} {
		if got, ok := look(name); got != want || !ok {
			t.Errorf("%s is %q, %v, want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"OFF", "no assignment", "MISSING", ""} {
		if got, ok := look(name); ok {
			t.Errorf("%q is %q, want none", name, got)
		}
	}
}

// A folder of that name, as of a virtual environment of Python, is no file of variables.
func TestVariablesOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(config.VariablesPath(filepath.Join(dir, "config.hcl")), 0o700); err != nil {
		t.Fatal(err)
	}
	look := config.Variables(filepath.Join(dir, "config.hcl"), func(string) (string, bool) { return "", false })
	if got, ok := look("TOKEN"); ok {
		t.Errorf("TOKEN is %q, want none", got)
	}
}
