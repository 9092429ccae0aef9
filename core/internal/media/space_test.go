package media_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/sdk/chat"
)

// needs are the files that messages need.
type needs map[string][]chat.Media

func (n needs) NeededMedia(context.Context) (map[string][]chat.Media, error) { return n, nil }

// sized is a file's content, of 10 KB.
var sized = bytes.Repeat([]byte("0123456789"), 1024)

// crammed returns a bundle with space for 16 files, and for 8 of each channel, and for 16 in the workspace.
func crammed(t *testing.T, needed needs) (*bundle, *media.Inbound, chan media.Crowded) {
	t.Helper()
	b, crowded := setup(t), make(chan media.Crowded, 4)
	bounds := media.SpaceOptions{Most: 16 * int64(len(sized)), Each: 8 * int64(len(sized)), Needs: needed, Crowded: crowded}
	b.Files = media.NewFiles(media.FilesOptions{Dir: b.dir, Rows: b.rows, MaxBytes: maxBytes, Space: bounds})
	bounds.Each = 0
	return b, media.NewInbound(b.Files, b.workspace, bounds), crowded
}

// bytesIn is what the files below a folder have together.
func bytesIn(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// age makes a file older by some minutes.
func age(t *testing.T, path string, minutes int) {
	t.Helper()
	at := time.Now().Add(-time.Duration(minutes) * time.Minute)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// However many files come, the folders hold no more than they may, and a channel no more than its part: the files of others
// stay. The oldest go first, and that is said once.
// Behaviour: file-inbound.
func TestRoom(t *testing.T) {
	t.Parallel()
	b, in, crowded := crammed(t, nil)
	quiet, err := b.Put(t.Context(), "discord", chat.Media{}, bytes.NewReader(sized))
	if err != nil {
		t.Fatal(err)
	}
	age(t, filepath.Join(b.dir, "discord", string(quiet.Ref)), 10_000)
	for n := range 100 {
		m, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(sized))
		if err != nil {
			t.Fatal(err)
		}
		_, path, err := in.Show("telegram", m)
		if err != nil {
			t.Fatal(err)
		}
		age(t, filepath.Join(b.dir, "telegram", string(m.Ref)), 1000-n)
		age(t, path, 1000-n)
		if stored, most := bytesIn(t, filepath.Join(b.dir, "telegram")), 8*int64(len(sized)); stored > most {
			t.Fatalf("after %d files the channel has %d bytes, want at most %d", n+1, stored, most)
		}
		if shown, most := bytesIn(t, filepath.Join(b.workspace, "inbound")), 16*int64(len(sized)); shown > most {
			t.Fatalf("after %d files the workspace has %d bytes, want at most %d", n+1, shown, most)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("file %d, the newest: %v", n+1, err)
		}
	}
	if _, file, err := b.Open(t.Context(), "discord", quiet.Ref); err != nil {
		t.Errorf("the other channel's file: %v", err)
	} else {
		_ = file.Close()
	}
	close(crowded)
	said := map[string]int{}
	for c := range crowded {
		said[c.Folder]++
		if c.Files == 0 || c.Bytes != int64(c.Files*len(sized)) {
			t.Errorf("%+v", c)
		}
	}
	if len(said) != 2 || said["The folder media/ of state_dir"] != 1 || said["The folder inbound/ of the workspace"] != 1 {
		t.Errorf("it was said %v", said)
	}
}

// The conversations' folders hold no more than they may together: the oldest files go, but none that a turn may work on.
// Behaviour: files-out.
func TestRoomForOutgoingFiles(t *testing.T) {
	t.Parallel()
	b, crowded := setup(t), make(chan media.Crowded, 1)
	out := media.NewOutgoing(media.OutgoingOptions{
		Files: b.Files, Ledger: b.rows, Workspace: b.workspace, Space: media.SpaceOptions{Most: 16 * int64(len(sized)), Crowded: crowded},
	}, hclog.NewNullLogger())
	for n := range 20 {
		for _, session := range []string{"6d1c2a3e5f70", "000000000000"} {
			name := fmt.Sprintf("outbound/%s/%02d.bin", session, n)
			b.write(t, name, sized)
			age(t, filepath.Join(b.workspace, name), 60*(20-n)+1)
		}
	}
	b.write(t, "mine.bin", bytes.Repeat(sized, 20))
	if err := out.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := bytesIn(t, filepath.Join(b.workspace, "outbound")); kept != 14*int64(len(sized)) {
		t.Errorf("%d bytes are kept, want 14 of 16 files", kept)
	}
	for name, want := range map[string]bool{"outbound/000000000000/00.bin": false, "outbound/000000000000/19.bin": true, "outbound/6d1c2a3e5f70/19.bin": true, "mine.bin": true} {
		if _, err := os.Stat(filepath.Join(b.workspace, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case c := <-crowded:
		if c.Folder != "The folder outbound/ of the workspace" || c.Files != 26 {
			t.Errorf("it is said %+v", c)
		}
	default:
		t.Error("nothing is said of it")
	}
	b.write(t, "outbound/000000000000/film.bin", bytes.Repeat(sized, 18)) // by a turn that runs
	if err := out.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := bytesIn(t, filepath.Join(b.workspace, "outbound")); kept != 18*int64(len(sized)) {
		t.Errorf("%d bytes are kept, want the new file alone", kept)
	}
}

// What is being written counts with the rest, and stays while it is.
// Behaviour: file-inbound.
func TestWhatIsBeingWrittenTakesUpRoom(t *testing.T) {
	t.Parallel()
	const each = 8 << 20
	b := setup(t)
	b.Files = media.NewFiles(media.FilesOptions{Dir: b.dir, Rows: b.rows, MaxBytes: 4 << 20, Space: media.SpaceOptions{Most: 2 * each, Each: each}})
	type outcome struct {
		m   chat.Media
		err error
	}
	var done []chan outcome
	var uploads []*io.PipeWriter
	for range 12 {
		content, upload := io.Pipe()
		ended := make(chan outcome, 1)
		go func() {
			m, err := b.Put(t.Context(), "telegram", chat.Media{}, content)
			_ = content.CloseWithError(err)
			ended <- outcome{m, err}
		}()
		done, uploads = append(done, ended), append(uploads, upload)
		_, _ = upload.Write(make([]byte, 1<<20+64<<10)) // until it is taken, or the upload is refused
		if stored := bytesIn(t, b.dir); stored > each+2<<20 {
			t.Fatalf("after %d uploads, none of which has ended, there are %d bytes", len(uploads), stored)
		}
	}
	kept, refused := 0, 0
	for n, upload := range uploads {
		_ = upload.Close()
		switch got := <-done[n]; {
		case errors.Is(got.err, media.ErrNoSpace):
			refused++
		case got.err != nil:
			t.Errorf("upload %d: %v", n, got.err)
		default:
			kept++
			if n == 0 { // Later ones may have taken the place of those that have ended.
				_, file, err := b.Open(t.Context(), "telegram", got.m.Ref)
				if err != nil {
					t.Errorf("upload %d: %v", n, err)
					continue
				}
				_ = file.Close()
			}
		}
	}
	if kept < 5 || refused == 0 {
		t.Errorf("%d uploads were kept, %d refused", kept, refused)
	}
}

// What a message needs that waits does not go, however old it is. Where all is needed, nothing more is taken in, and what
// was taken in for it is not left behind.
// Behaviour: file-inbound.
func TestWhatIsNeededStays(t *testing.T) {
	t.Parallel()
	needed := needs{}
	b, in, _ := crammed(t, needed)
	var kept []string
	for n := range 8 {
		m, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(sized))
		if err != nil {
			t.Fatal(err)
		}
		needed["telegram"] = append(needed["telegram"], m)
		_, path, err := in.Show("telegram", m)
		if err != nil {
			t.Fatal(err)
		}
		age(t, path, 100-n)
		kept = append(kept, path, filepath.Join(b.dir, "telegram", string(m.Ref)))
		age(t, kept[len(kept)-1], 100-n)
	}
	before := bytesIn(t, b.dir)
	for range 3 {
		if _, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(sized)); !errors.Is(err, media.ErrNoSpace) {
			t.Errorf("one more: %v, want %v", err, media.ErrNoSpace)
		}
	}
	if after := bytesIn(t, b.dir); after != before {
		t.Errorf("the folder has %d bytes, had %d", after, before)
	}
	if _, err := b.Put(t.Context(), "discord", chat.Media{}, bytes.NewReader(sized)); err != nil {
		t.Errorf("another channel: %v", err)
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	needed["telegram"] = nil // They were answered.
	for n := range 20 {
		if _, err := b.Put(t.Context(), "telegram", chat.Media{FileName: fmt.Sprint(n)}, bytes.NewReader(sized)); err != nil {
			t.Fatalf("once they were answered: %v", err)
		}
	}
}
