package media_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestALinkInTheWorkspaceLeadsNowhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.put(t, chat.Media{}, text)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(b.workspace, "inbound")); err != nil {
		t.Fatal(err)
	}
	if _, path, err := media.NewInbound(b.Files, b.workspace, media.SpaceOptions{}).Show("telegram", m); err == nil || path != "" {
		t.Errorf("it is at %q, %v", path, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside of the workspace there is %v, %v", entries, err)
	}
}

func TestAPipeInTheWorkspaceHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.put(t, chat.Media{}, text)
	dir := filepath.Join(b.workspace, "inbound")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, string(m.Ref)+".txt.part"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, path, err := media.NewInbound(b.Files, b.workspace, media.SpaceOptions{}).Show("telegram", m)
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
	b := setup(t)
	content := bytes.Repeat([]byte{'x'}, 16<<20) // long enough that they meet
	b.Files = media.NewFiles(media.FilesOptions{Dir: b.dir, Rows: b.rows, MaxBytes: int64(len(content))})
	m := b.put(t, chat.Media{}, content)
	in := media.NewInbound(b.Files, b.workspace, media.SpaceOptions{})
	var turns errgroup.Group
	for range 4 {
		turns.Go(func() error {
			_, path, err := in.Show("telegram", m)
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
	b := setup(t)
	in := media.NewInbound(b.Files, b.workspace, media.SpaceOptions{})
	if err := in.Discard(); err != nil {
		t.Fatalf("without the folder: %v", err)
	}
	paths := map[string]string{"folder": filepath.Join(b.workspace, "inbound", "folder")}
	for _, name := range []string{"old", "new"} {
		_, path, err := in.Show("telegram", b.put(t, chat.Media{}, text))
		if err != nil {
			t.Fatal(err)
		}
		paths[name] = path
	}
	if err := os.Mkdir(paths["folder"], 0o700); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-media.KeptFor - time.Hour)
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
	b := setup(t)
	before := time.Now().Add(-media.KeptFor - time.Hour)
	own := filepath.Join(b.workspace, "taxes")
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
	for _, name := range []string{"inbound", "outbound"} {
		if err := os.Symlink("taxes", filepath.Join(b.workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, err := range map[string]error{"inbound": media.NewInbound(b.Files, b.workspace, media.SpaceOptions{}).Discard(), "outbound": b.outgoing().Discard(t.Context())} {
		if err == nil {
			t.Errorf("nobody says that %s is no folder", name)
		}
	}
	for _, name := range []string{"2024", "receipt"} {
		if _, err := os.Stat(filepath.Join(own, name)); err != nil {
			t.Error(err)
		}
	}
}

// Neither is the host held up by pipes in the places of its folders.
// Behaviour: files-out.
func TestPipesForFolders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out := b.outgoing()
	for _, name := range []string{"inbound", "outbound"} {
		if err := syscall.Mkfifo(filepath.Join(b.workspace, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := b.put(t, chat.Media{}, text)
	in := media.NewInbound(b.Files, b.workspace, media.SpaceOptions{})
	if _, path, err := in.Show("telegram", m); err == nil {
		t.Errorf("shown at %q", path)
	}
	if folder, err := out.Open(run); err == nil {
		t.Errorf("the folder %q is made", folder)
	}
	if in.Discard() == nil || out.Discard(t.Context()) == nil {
		t.Error("nobody says that the folders are none")
	}
	if err := os.Remove(filepath.Join(b.workspace, "outbound")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.workspace, "outbound"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.workspace, media.Folder(run)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, problems := collect(t.Context(), out, nil, run, true, all); got != nil || problems != nil {
		t.Errorf("sent %v, %q", got, problems)
	}
	if err := out.Clear(t.Context(), []domain.OutgoingFile{{Folder: media.Folder(run), Name: "x", Version: "1", Sent: true}}); err != nil {
		t.Error(err)
	}
}
