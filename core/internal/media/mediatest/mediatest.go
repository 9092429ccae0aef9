// Package mediatest has what the tests of the packages that handle files share: a store of files in a folder of the test, samples of
// each sort of file, and programs that stand in for the operator's.
package mediatest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/programtest"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// MaxBytes is the size of the largest file that comes in.
	MaxBytes = 200_000
	// AllBytes is what the host's own folder holds.
	AllBytes = 2 << 30
	// Patience is how long a test waits for what must happen. No test is quicker or slower by it.
	Patience = 20 * time.Second
)

// Files of each sort.
const (
	PDF  = "%PDF-1.7\n%âãÏÓ\n1 0 obj\n"
	Opus = "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01\x13OpusHead\x01\x01"
	MP3  = "ID3\x04\x00\x00\x00\x00\x00\x00"
	MP4  = "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2mp41"
	WebP = "RIFF\x24\x00\x00\x00WEBPVP8L\x18\x00\x00\x00\x2f\x3f\xc0\x0f\x00\x00\x00\x00\x00\x00\x00"
	Text = "Once in a while,\nthere was a text.\n"
)

// Rows are what is known of the files of one test.
type Rows struct {
	Known map[string]chat.Media
	Fail  error
	Space *int // number of further files that fit; nil: any
	Dealt []domain.OutgoingFile

	mutex sync.Mutex
}

// OutgoingFiles implements outgoing.Ledger.
func (r *Rows) OutgoingFiles(_ context.Context, agent, folder string) (list []domain.OutgoingFile, _ error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, f := range r.Dealt {
		if f.Agent == agent && (folder == "" || f.Folder == folder) {
			list = append(list, f)
		}
	}
	return list, r.Fail
}

// DeleteOutgoing implements outgoing.Ledger.
func (r *Rows) DeleteOutgoing(_ context.Context, over ...domain.OutgoingFile) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.Dealt = slices.DeleteFunc(r.Dealt, func(f domain.OutgoingFile) bool {
		return slices.ContainsFunc(over, func(o domain.OutgoingFile) bool {
			return o.Folder == f.Folder && o.Name == f.Name && o.Version == f.Version
		})
	})
	return r.Fail
}

// PutMedia implements files.Rows.
func (r *Rows) PutMedia(_ context.Context, instance string, m chat.Media, _ time.Time) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.Fail != nil {
		return r.Fail
	}
	if r.Space != nil {
		if *r.Space == 0 {
			return fmt.Errorf("note a file: %w", syscall.ENOSPC)
		}
		*r.Space--
	}
	if r.Known == nil {
		r.Known = map[string]chat.Media{}
	}
	r.Known[instance+"/"+string(m.Ref)] = m
	return nil
}

// Media implements files.Rows.
func (r *Rows) Media(_ context.Context, instance string, ref chat.MediaRef) (chat.Media, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	m, ok := r.Known[instance+"/"+string(ref)]
	if !ok {
		return chat.Media{}, domain.ErrNotFound
	}
	return m, nil
}

// Bundle is a store of files and a workspace of a test's own.
type Bundle struct {
	*files.Store
	Rows      *Rows
	Dir       string // of the store
	Workspace string
}

// Setup returns a new bundle.
func Setup(t testing.TB) *Bundle {
	t.Helper()
	b := &Bundle{Rows: &Rows{}, Dir: filepath.Join(t.TempDir(), "media"), Workspace: t.TempDir()}
	b.Store = files.NewStore(files.Options{Dir: b.Dir, Rows: b.Rows, MaxBytes: MaxBytes, Space: files.SpaceOptions{Most: AllBytes}})
	return b
}

// Stored stores a file of telegram's.
func (b *Bundle) Stored(t testing.TB, claim chat.Media, content []byte) chat.Media {
	t.Helper()
	m, err := b.Put(t.Context(), "telegram", claim, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Kept lists what is in the host's own folder, as instance/name.
func (b *Bundle) Kept(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(b.Dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		paths[i] = strings.TrimPrefix(path, b.Dir+"/")
	}
	return paths
}

// Write makes a file in the workspace.
func (b *Bundle) Write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(b.Workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Picture is an image in a format: png, jpeg or gif.
func Picture(t testing.TB, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	dots := image.NewGray(image.Rect(0, 0, 3, 2))
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, dots)
	case "jpeg":
		err = jpeg.Encode(&b, dots, nil)
	case "gif":
		err = gif.Encode(&b, dots, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Age makes a file older by some minutes.
func Age(t testing.TB, path string, minutes int) {
	t.Helper()
	at := time.Now().Add(-time.Duration(minutes) * time.Minute)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// BytesIn is what the files below a folder have together.
func BytesIn(t testing.TB, dir string) (total int64) {
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

// Install puts files with contents into a folder.
func Install(t testing.TB, dir string, mode os.FileMode, contents map[string]string) {
	t.Helper()
	for name, content := range contents {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		programtest.Write(t, path, content)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// Script is the path of a script of this package, for the tests of the neighbouring packages.
func Script(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "mediatest", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Empty fails the test if something is left in a folder.
func Empty(t testing.TB, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// PID waits for the pid of a process in a file.
func PID(t testing.TB, path string) int {
	t.Helper()
	pid := 0
	wait(t, func() string {
		text, _ := os.ReadFile(path)
		var err error
		if pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			return "there is no pid in " + path
		}
		return ""
	})
	return pid
}

// Gone waits for the end of a process.
func Gone(t testing.TB, pid int) {
	t.Helper()
	wait(t, func() string {
		if _, err := process.StartTime(pid); err == nil {
			return fmt.Sprintf("process %d is still there", pid)
		}
		return ""
	})
}

// Lines waits until a file has a number of lines.
func Lines(t testing.TB, path string, want int) {
	t.Helper()
	wait(t, func() string {
		text, _ := os.ReadFile(path)
		if bytes.Count(text, []byte("\n")) < want {
			return fmt.Sprintf("%s is %q, want %d lines", path, text, want)
		}
		return ""
	})
}

// wait waits until nothing is lacking: a foreign process gives no event.
func wait(t testing.TB, lacking func() string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		what := lacking()
		if what == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal(what)
		}
	}
}
