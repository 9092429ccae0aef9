package core

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/sdk/chat"
)

// withFiles returns a host with files of its plugins, each as instance/ref.
func withFiles(t *testing.T, files ...string) *Host {
	t.Helper()
	h := &Host{log: hclog.NewNullLogger(), config: &config.Config{StateDir: t.TempDir(), Agent: config.Agent{Workspace: t.TempDir()}}}
	for _, name := range files {
		path := filepath.Join(h.mediaDir(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestAttachment(t *testing.T) {
	t.Parallel()
	h := withFiles(t, "telegram/abc", "discord/abc")
	// The agent can make folders and links.
	if err := os.Mkdir(filepath.Join(h.config.Agent.Workspace, "discord"), 0o700); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[chat.MediaRef]string{
		"":               "",
		"abc":            "inbound/abc.jpg",
		"gone":           "",
		"..":             "",
		".":              "",
		"../discord/abc": "",
		"/etc/passwd":    "",
	} {
		a := h.attachment("telegram", chat.Media{Ref: ref, MIMEType: "image/jpeg"})
		if want != "" {
			want = filepath.Join(h.config.Agent.Workspace, want)
		}
		if a.Path != want {
			t.Errorf("%q is at %q, want %q", ref, a.Path, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(h.config.Agent.Workspace, "inbound", "abc.jpg")); string(text) != "telegram/abc" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestALinkInTheWorkspaceLeadsNowhere(t *testing.T) {
	t.Parallel()
	h := withFiles(t, "telegram/abc")
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(h.config.Agent.Workspace, inboundDir)); err != nil {
		t.Fatal(err)
	}
	if a := h.attachment("telegram", chat.Media{Ref: "abc"}); a.Path != "" {
		t.Errorf("it is at %s", a.Path)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside of the workspace there is %v, %v", entries, err)
	}
}

func TestAPipeInTheWorkspaceHoldsNothingUp(t *testing.T) {
	t.Parallel()
	h := withFiles(t, "telegram/abc")
	dir := filepath.Join(h.config.Agent.Workspace, inboundDir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "abc.jpg.part"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := h.attachment("telegram", chat.Media{Ref: "abc", MIMEType: "image/jpeg"})
	if text, err := os.ReadFile(a.Path); string(text) != "telegram/abc" {
		t.Errorf("the file at %q has %q, %v", a.Path, text, err)
	}
}

func TestForgetMedia(t *testing.T) {
	t.Parallel()
	h := withFiles(t, "telegram/old", "telegram/new", "discord/large", "discord/before")
	now := time.Now()
	for name, age := range map[string]time.Duration{"telegram/old": inboundAge + time.Hour, "discord/large": 2 * time.Hour, "discord/before": 3 * time.Hour} {
		if err := os.Chtimes(filepath.Join(h.mediaDir(), name), time.Time{}, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(names ...string) {
		t.Helper()
		if err := h.forgetMedia(); err != nil {
			t.Error(err)
		}
		left, err := filepath.Glob(filepath.Join(h.mediaDir(), "*", "*"))
		if err != nil || len(left) != len(names) {
			t.Errorf("left are %v, want %v", left, names)
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(h.mediaDir(), name)); err != nil {
				t.Error(err)
			}
		}
	}
	keep("telegram/new", "discord/large", "discord/before")
	path := filepath.Join(h.mediaDir(), "discord/large")
	if err := os.Truncate(path, allMedia-100); err != nil { // a sparse file
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	keep("telegram/new", "discord/large", "discord/before")
	if err := os.Truncate(path, allMedia-20); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	keep("telegram/new", "discord/large")
}

// What people sent is not kept in the workspace for ever.
func TestForgetInbound(t *testing.T) {
	t.Parallel()
	h := withFiles(t, "telegram/old", "telegram/new")
	if err := h.forgetInbound(); err != nil {
		t.Fatalf("without the folder: %v", err)
	}
	for _, ref := range []chat.MediaRef{"old", "new"} {
		if a := h.attachment("telegram", chat.Media{Ref: ref}); a.Path == "" {
			t.Fatalf("%s is not shown", ref)
		}
	}
	dir := filepath.Join(h.config.Agent.Workspace, inboundDir)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-inboundAge - time.Hour)
	for _, name := range []string{"old", "folder"} {
		if err := os.Chtimes(filepath.Join(dir, name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.forgetInbound(); err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{"old": false, "new": true, "folder": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}
