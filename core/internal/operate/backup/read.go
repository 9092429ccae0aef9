package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// Open opens an archive of the operator's.
func Open(name string) (*os.File, error) { return os.Open(name) }

// Verify reads a whole archive and reports whether it can be restored: whether everything is in it as it was written, and its databases
// are whole. For that it unpacks it to a folder that it makes in the given one and removes.
func Verify(ctx context.Context, from io.Reader, dir string) (_ Summary, err error) {
	scratch, err := os.MkdirTemp(dir, "clawhost-verify-")
	if err != nil {
		return Summary{}, fmt.Errorf("verify the archive: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	return unpack(ctx, from, scratch)
}

// unpack unpacks an archive to an empty folder and checks all of it.
func unpack(ctx context.Context, from io.Reader, dir string) (_ Summary, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	r := &reader{ctx: ctx, dir: dir, root: root, found: map[string]file{}}
	if err := r.read(from); err != nil {
		return r.summary, err
	}
	r.summary.sort()
	return r.summary, nil
}

// reader unpacks one archive.
type reader struct {
	ctx     context.Context // of the call that it lives for
	dir     string
	root    *os.Root // dir
	found   map[string]file
	order   []string
	summary Summary
}

func (r *reader) read(from io.Reader) error {
	compressed, err := gzip.NewReader(bufio.NewReaderSize(from, 1<<20))
	if err != nil {
		return damaged("%v", err)
	}
	archive := tar.NewReader(compressed)
	if err := r.head(archive); err != nil {
		return err
	}
	if err := r.files(archive); err != nil {
		return err
	}
	// Nothing may follow, and what was read must have the sum that the compression keeps.
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return damaged("it does not end with its list of files")
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(compressed, maxHead)); err != nil || n == maxHead {
		return damaged("its end is missing or too long")
	}
	return r.databases()
}

// head reads the first entry, and refuses what this program cannot restore before anything else is read.
func (r *reader) head(archive *tar.Reader) error {
	h, err := archive.Next()
	if err != nil {
		return damaged("%v", err)
	}
	if h.Name != headName || h.Typeflag != tar.TypeReg {
		return damaged("it does not begin as one")
	}
	if err := decode(archive, h, maxHead, &r.summary.Head); err != nil {
		return err
	}
	if r.summary.Format != format {
		return fmt.Errorf("the archive has format %d, and this clawhost reads format %d: use the clawhost that wrote it (%s)",
			r.summary.Format, format, r.summary.Version)
	}
	return nil
}

// files reads the files up to the list of them, and compares the two.
func (r *reader) files(archive *tar.Reader) error {
	for {
		if err := r.ctx.Err(); err != nil {
			return context.Cause(r.ctx)
		}
		h, err := archive.Next()
		switch {
		case err != nil:
			return damaged("%v", err)
		case h.Typeflag != tar.TypeReg:
			return damaged("%q is not a file", h.Name)
		case h.Name == listName:
			var all list
			if err := decode(archive, h, maxList, &all); err != nil {
				return err
			}
			return r.compare(all)
		case len(r.found) == maxFiles:
			return damaged("it has more than %d files", maxFiles)
		}
		if err := r.file(archive, h); err != nil {
			return err
		}
	}
}

func decode(archive io.Reader, h *tar.Header, most int64, into any) error {
	if h.Size > most {
		return damaged("%s is too long", h.Name)
	}
	text, err := io.ReadAll(io.LimitReader(archive, most))
	if err != nil {
		return damaged("%v", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return damaged("%s: %v", h.Name, err)
	}
	return nil
}

// file unpacks a file.
func (r *reader) file(archive io.Reader, h *tar.Header) (err error) {
	if err := checkName(h.Name); err != nil {
		return err
	}
	if _, twice := r.found[h.Name]; twice {
		return damaged("%q is in it twice", h.Name)
	}
	if free, err := freeSpace(r.dir); err == nil && h.Size > free {
		return fmt.Errorf("%s has %d MB, and there are only %d MB left where it would be unpacked (%s): %w", h.Name, h.Size>>20, free>>20, r.dir, unix.ENOSPC)
	}
	if err := r.root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return fmt.Errorf("unpack the archive: %w", err)
	}
	f, err := r.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("unpack the archive: %w", err)
	}
	sum, from := sha256.New(), &tracked{Reader: archive}
	_, err = io.Copy(io.MultiWriter(f, sum), from)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); from.err != nil {
		return damaged("%v", from.err)
	} else if err != nil {
		return fmt.Errorf("unpack the archive: %w", err)
	}
	r.found[h.Name] = file{Name: h.Name, Size: h.Size, Sum: hex.EncodeToString(sum.Sum(nil))}
	r.order = append(r.order, h.Name)
	r.summary.add(h.Name, h.Size)
	if err := r.root.Chtimes(h.Name, h.ModTime, h.ModTime); err != nil {
		return fmt.Errorf("unpack the archive: %w", err)
	}
	return nil
}

// tracked tells errors of reading from those of writing.
type tracked struct {
	io.Reader
	err error
}

func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

func (r *reader) compare(all list) error {
	if len(all.Files) != len(r.found) {
		return damaged("it has %d files, and lists %d", len(r.found), len(all.Files))
	}
	for i, f := range all.Files {
		if r.order[i] != f.Name || r.found[f.Name] != f {
			return damaged("%s is not as it was written", r.order[i])
		}
	}
	if _, ok := r.found[databaseName]; !ok {
		return damaged("it has no database")
	}
	return nil
}

// databases checks each database.
func (r *reader) databases() error {
	for _, name := range r.order {
		unpacked := filepath.Join(r.dir, filepath.FromSlash(name))
		if is, err := r.isDatabase(name); err != nil {
			return err
		} else if !is {
			continue
		}
		if err := sqlite.Check(r.ctx, unpacked); err != nil {
			return damaged("%s: %v", name, err)
		}
		if name != databaseName {
			continue
		}
		if _, err := store.NewCopy(unpacked).Schema(r.ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (r *reader) isDatabase(name string) (bool, error) {
	if name == databaseName {
		return true, nil
	}
	if !strings.HasPrefix(name, stateName+"/"+pluginsFolder+"/") { // what others may be is not of the host
		return false, nil
	}
	f, err := r.root.Open(name)
	if err != nil {
		return false, err
	}
	beginning, err := io.ReadAll(io.LimitReader(f, 16))
	return sqlite.IsDatabase(beginning), errors.Join(err, f.Close())
}

// freeSpace returns the bytes that a file system has left for users.
func freeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail * uint64(s.Bsize)), nil
}
