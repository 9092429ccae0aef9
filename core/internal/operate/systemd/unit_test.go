package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxExposure is the highest exposure of the unit, in tenths, as systemd rates it: 0 is a service that may do nothing.
const maxExposure = "29"

// Systemd accepts the shipped unit, and rates what the service may do as little.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile("../../../../docs/clawhost.service")
	if err != nil {
		t.Fatal(err)
	}
	// The host need not be installed here.
	const installed = "=/opt/clawhost/bin/clawhost "
	if !strings.Contains(string(text), installed) {
		t.Fatalf("the unit has no line %s…", installed)
	}
	if !strings.Contains(string(text), "\nStandardError=journal\n") {
		t.Error("the log goes where the output goes, which is nowhere")
	}
	unit := filepath.Join(t.TempDir(), "clawhost.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), installed, "=/bin/sh ")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "--man=no", "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "--offline=true", "--threshold="+maxExposure, "security", unit).CombinedOutput()
	if err != nil {
		t.Errorf("the unit may do too much: %v\n%s", err, out)
	}
}
