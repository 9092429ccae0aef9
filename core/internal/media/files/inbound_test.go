package files_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestALinkInTheWorkspaceLeadsNowhere(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	m := b.Stored(t, chat.Media{}, text)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(b.Workspace, "inbound")); err != nil {
		t.Fatal(err)
	}
	if _, path, err := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{}).Show(t.Context(), "telegram", m); err == nil || path != "" {
		t.Errorf("it is at %q, %v", path, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside of the workspace there is %v, %v", entries, err)
	}
}

func TestAPipeInTheWorkspaceHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	m := b.Stored(t, chat.Media{}, text)
	dir := filepath.Join(b.Workspace, "inbound")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, string(m.Ref)+".txt.part"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, path, err := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{}).Show(t.Context(), "telegram", m)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(text) {
		t.Errorf("the file at %q has %q, %v", path, got, err)
	}
}

// Turns that need one file at the same time find all of it.
func TestAFileThatSeveralTurnsNeed(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	content := bytes.Repeat([]byte{'x'}, 16<<20) // long enough that they meet
	b.Store = files.NewStore(files.Options{Dir: b.Dir, Rows: b.Rows, MaxBytes: int64(len(content))})
	m := b.Stored(t, chat.Media{}, content)
	in := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{})
	var turns errgroup.Group
	for range 4 {
		turns.Go(func() error {
			_, path, err := in.Show(t.Context(), "telegram", m)
			if err != nil {
				return err
			}
			info, err := os.Stat(path)
			if err == nil && info.Size() != int64(len(content)) {
				err = fmt.Errorf("the file has %d bytes of %d", info.Size(), len(content))
			}
			return err
		})
	}
	if err := turns.Wait(); err != nil {
		t.Error(err)
	}
}

// What people sent is not kept in the workspace forever.
// Behaviour: file-inbound.
func TestForgetInbound(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	in := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{})
	if err := in.Discard(); err != nil {
		t.Fatalf("without the folder: %v", err)
	}
	paths := map[string]string{"folder": filepath.Join(b.Workspace, "inbound", "folder")}
	for _, name := range []string{"old", "new"} {
		_, path, err := in.Show(t.Context(), "telegram", b.Stored(t, chat.Media{}, text))
		if err != nil {
			t.Fatal(err)
		}
		paths[name] = path
	}
	if err := os.Mkdir(paths["folder"], 0o700); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-files.KeptFor - time.Hour)
	for _, name := range []string{"old", "folder"} {
		if err := os.Chtimes(paths[name], before, before); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Discard(); err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{"old": false, "new": true, "folder": true} {
		if _, err := os.Stat(paths[name]); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A link in the place of a folder of the host's leads to files that are not the host's to remove.
// Behaviour: file-inbound.
func TestForgetFollowsNoLink(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	before := time.Now().Add(-files.KeptFor - time.Hour)
	own := filepath.Join(b.Workspace, "taxes")
	for _, path := range []string{own, filepath.Join(own, "2024")} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(own, "receipt"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"2024", "receipt"} {
		if err := os.Chtimes(filepath.Join(own, name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("taxes", filepath.Join(b.Workspace, "inbound")); err != nil {
		t.Fatal(err)
	}
	if err := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{}).Discard(); err == nil {
		t.Error("no problem says that inbound is no folder")
	}
	for _, name := range []string{"2024", "receipt"} {
		if _, err := os.Stat(filepath.Join(own, name)); err != nil {
			t.Error(err)
		}
	}
}

// Neither is the host held up by a pipe in the place of its folder.
// Behaviour: file-inbound.
func TestAPipeForTheFolder(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	if err := syscall.Mkfifo(filepath.Join(b.Workspace, "inbound"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := b.Stored(t, chat.Media{}, text)
	in := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{})
	if _, path, err := in.Show(t.Context(), "telegram", m); err == nil {
		t.Errorf("shown at %q", path)
	}
	if in.Discard() == nil {
		t.Error("no problem says that the folder is none")
	}
}
