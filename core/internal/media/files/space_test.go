package files_test

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

	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// needs are the files that messages need.
type needs map[string][]chat.Media

func (n needs) NeededMedia(context.Context) (map[string][]chat.Media, error) { return n, nil }

// sized is a file's content, of 10 KB.
var sized = bytes.Repeat([]byte("0123456789"), 1024)

// crammed returns a bundle with space for 16 files, and for 8 of each channel, and for 16 in the workspace.
func crammed(t *testing.T, needed needs) (*mediatest.Bundle, *files.Inbound, chan files.Crowded) {
	t.Helper()
	b, crowded := mediatest.Setup(t), make(chan files.Crowded, 4)
	bounds := files.SpaceOptions{Most: 16 * int64(len(sized)), Each: 8 * int64(len(sized)), Needs: needed, Crowded: crowded}
	b.Store = files.NewStore(files.Options{Dir: b.Dir, Rows: b.Rows, MaxBytes: mediatest.MaxBytes, Space: bounds})
	bounds.Each = 0
	return b, files.NewInbound(b.Store, b.Workspace, bounds), crowded
}

// However many files come, the folders hold no more than they may, and a channel no more than its part: the files of others
// stay. The oldest go first, and that is said once.
// Behaviour: file-inbound.
func TestSpaceLeft(t *testing.T) {
	t.Parallel()
	b, in, crowded := crammed(t, nil)
	quiet, err := b.Put(t.Context(), "discord", chat.Media{}, bytes.NewReader(sized))
	if err != nil {
		t.Fatal(err)
	}
	mediatest.Age(t, filepath.Join(b.Dir, "discord", string(quiet.Ref)), 10_000)
	for n := range 100 {
		m, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(sized))
		if err != nil {
			t.Fatal(err)
		}
		_, path, err := in.Show(t.Context(), "telegram", m)
		if err != nil {
			t.Fatal(err)
		}
		mediatest.Age(t, filepath.Join(b.Dir, "telegram", string(m.Ref)), 1000-n)
		mediatest.Age(t, path, 1000-n)
		if stored, most := mediatest.BytesIn(t, filepath.Join(b.Dir, "telegram")), 8*int64(len(sized)); stored > most {
			t.Fatalf("after %d files the channel has %d bytes, want at most %d", n+1, stored, most)
		}
		if shown, most := mediatest.BytesIn(t, filepath.Join(b.Workspace, "inbound")), 16*int64(len(sized)); shown > most {
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

// What is being written counts with the rest, and stays while it is.
// Behaviour: file-inbound.
func TestUnfinishedFilesCountAsUsedSpace(t *testing.T) {
	t.Parallel()
	const each = 8 << 20
	b := mediatest.Setup(t)
	b.Store = files.NewStore(files.Options{Dir: b.Dir, Rows: b.Rows, MaxBytes: 4 << 20, Space: files.SpaceOptions{Most: 2 * each, Each: each}})
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
		if stored := mediatest.BytesIn(t, b.Dir); stored > each+2<<20 {
			t.Fatalf("after %d uploads, none of which has ended, there are %d bytes", len(uploads), stored)
		}
	}
	kept, refused := 0, 0
	for n, upload := range uploads {
		_ = upload.Close()
		switch got := <-done[n]; {
		case errors.Is(got.err, files.ErrNoSpace):
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
		_, path, err := in.Show(t.Context(), "telegram", m)
		if err != nil {
			t.Fatal(err)
		}
		mediatest.Age(t, path, 100-n)
		kept = append(kept, path, filepath.Join(b.Dir, "telegram", string(m.Ref)))
		mediatest.Age(t, kept[len(kept)-1], 100-n)
	}
	before := mediatest.BytesIn(t, b.Dir)
	for range 3 {
		if _, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(sized)); !errors.Is(err, files.ErrNoSpace) {
			t.Errorf("one more: %v, want %v", err, files.ErrNoSpace)
		}
	}
	if after := mediatest.BytesIn(t, b.Dir); after != before {
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

// Behaviour: retention.
func TestExpired(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for _, tc := range []struct {
		age, since time.Duration
		want       bool
	}{
		{0, files.KeptFor - hour, false},
		{0, files.KeptFor + hour, true},
		{2 * hour, hour, false},
		{2 * hour, 3 * hour, true},
		{files.ForGood, 1000 * files.KeptFor, false},
	} {
		space := files.NewSpace(files.Folder{}, files.SpaceOptions{Age: tc.age})
		if got := space.Expired(time.Now().Add(-tc.since)); got != tc.want {
			t.Errorf("kept for %s, after %s: %v, want %v", tc.age, tc.since, got, tc.want)
		}
	}
}
