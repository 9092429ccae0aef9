package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryNetwork tells the same story through each network.
func TestEveryNetwork(t *testing.T) {
	t.Parallel()
	story, err := os.ReadFile("testdata/story.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for network, names := range map[string][]string{
		"telegram": {"VARIABLE", "BOT", "ENDPOINT", "api_endpoint"},
		"discord":  {"VARIABLE", "DISCORD", "ENDPOINT", "test_endpoint"},
	} {
		script := strings.NewReplacer(append(names, "NETWORK", network)...).Replace(string(story))
		if err := os.WriteFile(filepath.Join(dir, network+".txtar"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir)
}
