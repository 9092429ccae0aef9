package workspace_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// lay makes a folder with files, by name. A text that begins with "-> " makes a link, "|" a pipe.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if target, link := strings.CutPrefix(text, "-> "); err != nil {
	} else if link {
		err = os.Symlink(target, path)
	} else if text == "|" {
		err = syscall.Mkfifo(path, 0o600)
	} else {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *workspace.Folder {
	t.Helper()
	f, err := workspace.New(dir).Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Whatever the untrusted put in the place of files and folders is refused, and nothing waits for it.
// Behaviour: workspace-reads.
func TestNothingButFilesAndFolders(t *testing.T) {
	t.Parallel()
	outside := lay(t, map[string]string{"secret": "secret"})
	dir := lay(t, map[string]string{
		"file": "text", "pipe": "|", "folder/file": "deep", "folder/pipe": "|",
		"in": "-> folder/file", "out": "-> " + outside + "/secret", "up": "-> ../" + filepath.Base(outside) + "/secret",
		"to-pipe": "-> pipe", "loop": "-> loop", "to-folder": "-> folder", "away": "-> " + outside,
	})
	if l, err := net.Listen("unix", filepath.Join(dir, "socket")); err == nil {
		defer l.Close()
	}
	f := open(t, dir)
	for name, want := range map[string]struct {
		text string
		err  error
	}{
		"file": {"text", nil}, "in": {"deep", nil}, "folder/file": {"deep", nil}, "to-folder/file": {"deep", nil},
		"pipe": {"", workspace.ErrNoFile}, "to-pipe": {"", workspace.ErrNoFile}, "folder/pipe": {"", workspace.ErrNoFile},
		"folder": {"", workspace.ErrNoFile}, "missing": {"", fs.ErrNotExist}, "file/below": {"", syscall.ENOTDIR}, "pipe/below": {"", syscall.ENOTDIR},
		"loop": {"", syscall.ELOOP}, "socket": {"", syscall.ENXIO},
		"out": {"", errOther}, "up": {"", errOther}, "away/secret": {"", errOther}, "../x": {"", errOther}, "/etc/passwd": {"", errOther},
	} {
		data, err := f.ReadFile(name, 100)
		if string(data) != want.text || !fits(err, want.err) {
			t.Errorf("ReadFile(%q) = %q, %v, want %q, %v", name, data, err, want.text, want.err)
		}
		file, err := f.Open(name)
		if !fits(err, want.err) {
			t.Errorf("Open(%q): %v, want %v", name, err, want.err)
		}
		if err == nil {
			text, err := io.ReadAll(file)
			at := make([]byte, 2)
			_, errAt := file.ReadAt(at, 1)
			if string(text) != want.text || string(at) != want.text[1:3] || errors.Join(err, errAt, file.Close()) != nil {
				t.Errorf("%q holds %q, and %q behind its first byte, %v, %v", name, text, at, err, errAt)
			}
		}
	}
	for name, want := range map[string]error{
		".": nil, "folder": nil, "to-folder": nil, "file": workspace.ErrNoFolder, "pipe": workspace.ErrNoFolder, "to-pipe": workspace.ErrNoFolder,
		"missing": fs.ErrNotExist, "away": errOther, "..": errOther,
	} {
		if _, _, err := f.List(name, 100); !fits(err, want) {
			t.Errorf("List(%q): %v, want %v", name, err, want)
		}
		if _, _, err := f.Names(name, 100); !fits(err, want) {
			t.Errorf("Names(%q): %v, want %v", name, err, want)
		}
	}
	for name, want := range map[string]error{
		"folder": nil, "to-folder": nil, "pipe": workspace.ErrNoFolder, "to-pipe": workspace.ErrNoFolder, "file": workspace.ErrNoFolder, "away": errOther, "missing": fs.ErrNotExist,
	} {
		below, err := f.Folder(name)
		if !fits(err, want) {
			t.Errorf("Folder(%q): %v, want %v", name, err, want)
		}
		if err != nil {
			continue
		}
		if text, err := below.ReadFile("file", 10); string(text) != "deep" || err != nil {
			t.Errorf("in Folder(%q) the file holds %q, %v", name, text, err)
		}
		if _, err := below.ReadFile("../file", 10); err == nil {
			t.Errorf("Folder(%q) leads out of it", name)
		}
		if err := below.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, text := range map[string]string{"pipe": "|", "file": "x", "link-to-pipe": "-> pipe-"} {
		dir := lay(t, map[string]string{name: text, "pipe-": "|"})
		if _, err := workspace.New(filepath.Join(dir, name)).Open(); err == nil {
			t.Errorf("a workspace that is a %s was opened", name)
		}
	}
}

// errOther stands for any error.
var errOther = errors.New("any")

func fits(err, want error) bool {
	return (err == nil) == (want == nil) && (errors.Is(want, errOther) || errors.Is(err, want))
}

// A workspace without a path is not the root of the file system.
func TestNoPath(t *testing.T) {
	t.Parallel()
	if _, err := workspace.New("").Open(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("opened, %v", err)
	}
}

// Bytes and entries are bounded.
func TestBounds(t *testing.T) {
	t.Parallel()
	f := open(t, lay(t, map[string]string{"long": "0123456789", "a": "", "b": ""}))
	if data, err := f.ReadFile("long", 10); string(data) != "0123456789" || err != nil {
		t.Errorf("read %q, %v", data, err)
	}
	if data, err := f.ReadFile("long", 9); string(data) != "012345678" || !errors.Is(err, workspace.ErrTooLong) {
		t.Errorf("read %q, %v", data, err)
	}
	for most, want := range map[int]bool{2: true, 3: false, 100: false} {
		entries, more, err := f.List(".", most)
		if len(entries) != min(most, 3) || more != want || err != nil {
			t.Errorf("of at most %d there are %d entries, more: %t, %v", most, len(entries), more, err)
		}
		names, more, err := f.Names(".", most)
		if len(names) != min(most, 3) || more != want || err != nil || most == 100 && !slices.Equal(names, []string{"a", "b", "long"}) {
			t.Errorf("of at most %d there are the names %q, more: %t, %v", most, names, more, err)
		}
	}
}

// A value is kept until a file, a folder, or the lack of one changes.
func TestCache(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) error{
		"":        func(string) error { return nil },
		"content": func(dir string) error { return os.WriteFile(dir+"/file", []byte("xxxx"), 0o600) },
		"length":  func(dir string) error { return os.Truncate(dir+"/file", 1) },
		"mode":    func(dir string) error { return os.Chmod(dir+"/file", 0o400) },
		"another file": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/x", []byte("text"), 0o600), os.Chtimes(dir+"/x", old, old), os.Rename(dir+"/x", dir+"/file"))
		},
		"gone":         func(dir string) error { return os.Remove(dir + "/file") },
		"new entry":    func(dir string) error { return os.WriteFile(dir+"/folder/new", nil, 0o600) },
		"what was not": func(dir string) error { return os.WriteFile(dir+"/missing", nil, 0o600) },
		"link elsewhere": func(dir string) error {
			return errors.Join(os.Remove(dir+"/link"), os.Symlink("folder/a", dir+"/link"))
		},
		"file for link": func(dir string) error {
			return errors.Join(os.Remove(dir+"/link"), os.WriteFile(dir+"/link", nil, 0o600))
		},
		"pipe for file": func(dir string) error { return errors.Join(os.Remove(dir+"/file"), syscall.Mkfifo(dir+"/file", 0o600)) },
	} {
		dir := lay(t, map[string]string{"file": "text", "folder/a": "", "pipe": "|", "link": "-> missing"})
		for _, path := range []string{"file", "folder", "pipe", "."} {
			if err := os.Chtimes(filepath.Join(dir, path), old, old); err != nil {
				t.Fatal(err)
			}
		}
		then := unix.NsecToTimeval(old.UnixNano())
		if err := unix.Lutimes(dir+"/link", []unix.Timeval{then, then}); err != nil {
			t.Fatal(err)
		}
		c, reads := workspace.NewCache[int](dir), 0
		read := func(f *workspace.Folder) int {
			for _, path := range []string{"file", "missing", "pipe"} {
				_, _ = f.ReadFile(path, 10)
			}
			_, _, _ = f.List("folder", 10)
			_, _ = f.Lstat("link")
			reads++
			return reads
		}
		if value, fresh, err := c.Get(read); value != 1 || !fresh || err != nil {
			t.Errorf("at first there is %d, fresh: %t, %v", value, fresh, err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		want := 2
		if name == "" {
			want = 1
		}
		if value, fresh, err := c.Get(read); value != want || fresh != (want == 2) || err != nil {
			t.Errorf("after a change of %q there is %d, fresh: %t, %v", name, value, fresh, err)
		}
	}
	dir := lay(t, map[string]string{"file": "text"})
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(dir+"/file", future, future); err != nil {
		t.Fatal(err)
	}
	c := workspace.NewCache[string](dir)
	for _, text := range []string{"text", "xxxx"} {
		for _, want := range []bool{true, false} { // the changed file has the time of now: it is read again
			if text == "xxxx" {
				want = true
			}
			value, fresh, err := c.Get(func(f *workspace.Folder) string {
				data, _ := f.ReadFile("file", 10)
				return string(data)
			})
			if value != text || fresh != want || err != nil {
				t.Errorf("of a file from the future there is %q, fresh: %t, %v, want %q, %t", value, fresh, err, text, want)
			}
		}
		if err := os.WriteFile(dir+"/file", []byte("xxxx"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, read := range map[string]func(f *workspace.Folder) bool{
		"nothing that was looked at":       func(*workspace.Folder) bool { return true },
		"a file that was written just now": func(f *workspace.Folder) bool { _, err := f.ReadFile("file", 10); return err == nil },
	} {
		c := workspace.NewCache[bool](dir)
		for range 2 {
			if value, fresh, err := c.Get(read); !value || !fresh || err != nil {
				t.Errorf("%s is kept: %t, fresh: %t, %v", name, value, fresh, err)
			}
		}
	}
	if value, fresh, err := workspace.NewCache[bool](dir + "/file").Get(func(*workspace.Folder) bool { return true }); value || !fresh || !errors.Is(err, workspace.ErrNoFolder) {
		t.Errorf("of what is not a folder there is %t, fresh: %t, %v", value, fresh, err)
	}
}

var old = time.Now().Add(-time.Hour)
