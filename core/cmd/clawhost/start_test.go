package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A service manager may stop a host that has just started: that is no failure, wherever it happens.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(path, []byte("state_dir = \"state\"\nagent { workspace = \"workspace\" }\nclaude { command = \"claude-stub\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for after := 1; ; after++ { // lines of the log
		if line := stopAfter(t, path, after); line == "" {
			t.Fatalf("the host is stopped before it has written line %d", after)
		} else if strings.Contains(line, "ready") {
			return
		}
	}
}

// stopAfter starts a host some times and stops it once it has written a line of its log, which is returned.
func stopAfter(t *testing.T, path string, after int) (line string) {
	for range 3 {
		host := exec.CommandContext(t.Context(), "clawhost", "-config", path)
		host.Env = append(os.Environ(), "HOME="+filepath.Dir(path))
		out, err := host.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		for n, lines := 0, bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if n++; n == after {
				line = lines.Text()
				if err := host.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := host.Wait(); err != nil {
			t.Fatalf("stopped after %q: %v\n%s", line, err, log.String())
		}
	}
	return line
}
