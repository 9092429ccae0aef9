package sdk_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDocumentation checks that the documentation hides how a plugin is served, because that may change.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "doc", "-all", ".")
	page, err := command.Output()
	if err != nil {
		t.Fatalf("go doc: %v", err)
	}
	if !strings.Contains(string(page), "func Serve(") {
		t.Errorf("go doc shows no Serve:\n%s", page)
	}
	for line := range strings.Lines(string(page)) {
		for _, name := range []string{"grpc", "go-plugin", "hclog", "pluginv1"} {
			if strings.Contains(strings.ToLower(line), name) {
				t.Errorf("the documentation names %s: %s", name, line)
			}
		}
	}
}
