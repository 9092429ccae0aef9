package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryNetwork tells the same stories through each network.
// Behaviour: file-fetch, file-retry, file-quoted, networks-same.
func TestEveryNetwork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, story := range []string{"story", "files"} {
		tell(t, dir, story)
	}
	run(t, dir)
}

// tell writes the scripts that tell a story.
func tell(t *testing.T, dir, name string) {
	t.Helper()
	story, err := os.ReadFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	const buttons, once = "Once 'This session' Always No because", "Once"
	for network, names := range map[string]struct{ owner, config, buttons, once string }{
		"telegram": {"1001", `token = env("BOT_TOKEN")
    api_endpoint = env("BOT_URL")`, buttons, once},
		"discord": {"1001", `token = env("DISCORD_TOKEN")
    test_endpoint = env("DISCORD_URL")`, buttons, once},
		"whatsapp": {"+15550000002", `test_endpoint = env("WHATSAPP_URL")
    test_noise_root = env("WHATSAPP_ROOT")`, "'allow it this once' 'in this conversation' 'always in this chat' 'no; what you add'", "'this once'"},
	} {
		script := strings.NewReplacer(
			"NETWORK", network, "OWNER", names.owner, "CONFIG", names.config, "BUTTONS", names.buttons, "BUTTON", names.once,
		).Replace(string(story))
		if err := os.WriteFile(filepath.Join(dir, network+"_"+name+".txtar"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
