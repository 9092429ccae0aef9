//go:build e2e

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBrowserAtAHost drives the page in Chromium, as a real host serves it, with the stand-in for claude.
func TestBrowserAtAHost(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	home := t.TempDir()
	for _, pipe := range []string{"tea", "bread"} {
		if err := syscall.Mkfifo(filepath.Join(home, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process, link := startHost(ctx, t, home, "127.0.0.1:0")
	listen := strings.TrimPrefix(link[:strings.Index(link, "/#")], "http://")
	browse(ctx, t, func(said string) bool {
		if said != "restart" {
			return false
		}
		if err := process.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = process.Wait() // the signal is no news
		process, _ = startHost(ctx, t, home, listen)
		return true
	}, "e2e/host.mjs", link, home)
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the host ended with %v", err)
	}
}

// TestBrowserAtADemo opens the page of a host whose answers are those of a stand-in.
// Behaviour: demo-shown.
func TestBrowserAtADemo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	process, link := startHostAs(ctx, t, t.TempDir(), "127.0.0.1:0", nil, "-demo")
	browse(ctx, t, func(string) bool { return false }, "e2e/demo.mjs", link)
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the host ended with %v", err)
	}
}

// pageLink is what the host says of the page.
var pageLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=\S+`)

// startHost starts a host with the web chat and waits until it tells where the page is.
func startHost(ctx context.Context, t *testing.T, home, listen string) (process *exec.Cmd, link string) {
	t.Helper()
	return startHostAs(ctx, t, home, listen, nil)
}

func startHostAs(ctx context.Context, t *testing.T, home, listen string, as *syscall.SysProcAttr, arguments ...string) (process *exec.Cmd, link string) {
	t.Helper()
	bin := os.Getenv("CLAWHOST_BIN")
	config := filepath.Join(home, "config.hcl")
	err := os.WriteFile(config, fmt.Appendf(nil, `
claude {
  command = %q
}
inbound {
  debounce = "0"
}
access {
  owners = ["webchat:local"]
}
agent "server" {
  workspace = "~/server"
}
plugin "webchat" {
  config {
    listen = %q
  }
}
`, filepath.Join(bin, "claude-stub"), listen), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	process = exec.CommandContext(ctx, filepath.Join(bin, "clawhost"), append([]string{"-config", config}, arguments...)...)
	process.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	process.SysProcAttr = as
	process.Stderr = t.Output()
	said, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatalf("%v; CLAWHOST_BIN is to name the folder of the binaries: run \"make e2e\"", err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if link = pageLink.FindString(lines.Text()); link != "" {
			return process, link
		}
	}
	t.Fatalf("the host does not tell where its page is: %v", lines.Err())
	return nil, ""
}
