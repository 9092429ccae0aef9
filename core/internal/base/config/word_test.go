package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A word that is no value is refused with those that are.
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"reply {\nreasoning = \"loud\"\n}":    `reply.reasoning must be "off", "on" or "stream"`,
		"reply {\nstream = \"blocks\"\n}":     `reply.stream must be "off", "block" or "preview"`,
		"reply {\ntyping = \"allways\"\n}":    `reply.typing must be "never", "instant", "thinking" or "message"`,
		"claude {\nmode = \"one-shot\"\n}":    `claude.mode must be "persistent" or "oneshot"`,
		"access {\ndm = \"everybody\"\n}":     `access.dm must be "pairing", "allowlist", "open" or "disabled"`,
		"store {\ndriver = \"postgresql\"\n}": `store.driver must be "sqlite" or "postgres"`,
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %s", text, err, want)
		}
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
