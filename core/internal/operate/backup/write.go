package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// transcriptEnd is the end of the names of Claude's transcripts. What belongs to one is in a folder of its name without it.
const transcriptEnd = ".jsonl"

// Source is what an archive is made of.
type Source struct {
	StateDir string
	Version  string            // of clawhost
	Claude   map[string]string // the CLI's folders with its transcripts, by the labels of their agents
}

// ErrNoDatabase is returned if there is nothing to make an archive of.
var ErrNoDatabase = errors.New("there is no database: no host has run with this config")

// WriteFile writes an archive to a new file, or in place of an old one once it is complete. Only the user can read it.
func WriteFile(ctx context.Context, name string, from Source) (_ Summary, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".clawhost-backup-*")
	if err != nil {
		return Summary{}, fmt.Errorf("write the archive: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	summary, err := Write(ctx, f, from)
	if err != nil {
		return summary, err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return summary, fmt.Errorf("write the archive: %w", err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return summary, fmt.Errorf("write the archive: %w", err)
	}
	return summary, syncFolder(filepath.Dir(name))
}

// Write writes an archive. A host may run meanwhile; what it has accepted before is in the archive.
func Write(ctx context.Context, to io.Writer, from Source) (Summary, error) {
	if _, err := os.Stat(filepath.Join(from.StateDir, store.File)); errors.Is(err, fs.ErrNotExist) {
		return Summary{}, fmt.Errorf("%w (%s)", ErrNoDatabase, from.StateDir)
	}
	scratch, err := newScratch(from.StateDir)
	if err != nil {
		return Summary{}, fmt.Errorf("make a backup: %w", err)
	}
	compressed := gzip.NewWriter(to)
	w := &writer{ctx: ctx, from: from, scratch: scratch.dir, archive: tar.NewWriter(compressed)}
	err = w.write()
	if err == nil {
		err = errors.Join(w.archive.Close(), compressed.Close())
	}
	if err = errors.Join(err, scratch.remove()); err != nil {
		return Summary{}, fmt.Errorf("make a backup: %w", err)
	}
	w.summary.sort()
	return w.summary, nil
}

// writer writes one archive.
type writer struct {
	ctx     context.Context // of the call that it lives for
	from    Source
	scratch string // a folder for copies
	archive *tar.Writer
	list    list
	summary Summary
}

// write writes all parts. The database is copied when the files of messages are held fast, and before everything else is read: so all
// that it refers to is in the archive, while the host removes and adds files.
func (w *writer) write() error {
	media, held := filepath.Join(w.from.StateDir, mediaFolder), filepath.Join(w.scratch, mediaFolder)
	if err := hold(media, held); err != nil {
		return err
	}
	made := time.Now().UTC()
	database := filepath.Join(w.scratch, store.File)
	if err := sqlite.Snapshot(w.ctx, filepath.Join(w.from.StateDir, store.File), database); err != nil {
		return err
	}
	if err := hold(media, held); err != nil {
		return err
	}
	db := store.NewCopy(database)
	schema, err := db.Schema(w.ctx)
	if err != nil {
		return err
	}
	conversations, err := db.ClaudeSessions(w.ctx)
	if err != nil {
		return err
	}
	w.summary.Head = Head{Format: format, Version: w.from.Version, Schema: schema, Made: made}
	if err := w.json(headName, w.summary.Head); err != nil {
		return err
	}
	if err := w.fixed(databaseName, database); err != nil {
		return err
	}
	err = errors.Join(
		w.tree(stateName+"/"+mediaFolder, held, func(as string, _ *workspace.Folder, name string) error {
			return w.fixed(as, filepath.Join(held, filepath.FromSlash(name)))
		}),
		w.tree(stateName+"/"+exportsFolder, filepath.Join(w.from.StateDir, exportsFolder), w.changing),
		w.tree(stateName+"/"+pluginsFolder, filepath.Join(w.from.StateDir, pluginsFolder), w.plugins),
	)
	if err != nil {
		return err
	}
	if err := w.transcripts(conversations); err != nil {
		return err
	}
	return w.json(listName, w.list)
}

// hold gives files a second name, under which they stay when the host removes them. Where the file system has no second names, it does
// nothing: then a file that is removed in the same moment is missing.
func hold(from, to string) error {
	return walk(from, func(folder *workspace.Folder, name string) error {
		target := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		err := os.Link(filepath.Join(from, filepath.FromSlash(name)), target)
		if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return copyTo(folder, name, target)
	})
}

// copyTo copies a file of a folder.
func copyTo(folder *workspace.Folder, name, target string) (err error) {
	source, err := folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, source); err != nil {
		return err
	}
	changed := source.Info().ModTime() // files of messages are kept by their age
	return os.Chtimes(target, changed, changed)
}

// walk calls found for each regular file of a folder and those below, by its name with slashes. Links, sockets and pipes are left out.
func walk(dir string, found func(folder *workspace.Folder, name string) error) error {
	folder, err := workspace.New(dir).Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	return walkIn(folder, ".", found)
}

func walkIn(folder *workspace.Folder, dir string, found func(folder *workspace.Folder, name string) error) error {
	entries, more, err := folder.List(dir, maxFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	if more {
		return fmt.Errorf("%s has more than %d files", dir, maxFiles)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = walkIn(folder, name, found)
		case e.Type().IsRegular():
			err = found(folder, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tree adds the files of a folder, by an add that is given each.
func (w *writer) tree(as, dir string, add func(as string, folder *workspace.Folder, file string) error) error {
	return walk(dir, func(folder *workspace.Folder, name string) error {
		if err := w.ctx.Err(); err != nil {
			return context.Cause(w.ctx)
		}
		return add(path.Join(as, name), folder, name)
	})
}

// plugins adds a file of a plugin. Databases are copied as they are at one moment, with what is in their side files.
func (w *writer) plugins(as string, folder *workspace.Folder, name string) error {
	if !strings.Contains(name, "/") || passing(path.Base(name)) {
		return nil
	}
	beginning, err := folder.ReadFile(name, 16)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && !errors.Is(err, workspace.ErrTooLong) {
		return err
	}
	if !sqlite.IsDatabase(beginning) {
		return w.changing(as, folder, name)
	}
	copied := filepath.Join(w.scratch, "plugin.db")
	if err := sqlite.Snapshot(w.ctx, filepath.Join(w.from.StateDir, pluginsFolder, filepath.FromSlash(name)), copied); err != nil {
		return err
	}
	return errors.Join(w.fixed(as, copied), os.Remove(copied))
}

// passing reports whether a file is of no use to another process: a lock, or a side file of a database.
func passing(name string) bool {
	for _, end := range []string{".lock", "-wal", "-shm", "-journal"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "lock"
}

// transcripts adds what Claude Code keeps of the conversations that the database knows, wherever they were held.
func (w *writer) transcripts(conversations map[string]bool) error {
	seen := map[string]bool{} // agents may share a folder
	for _, label := range slices.Sorted(maps.Keys(w.from.Claude)) {
		dir := w.from.Claude[label]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		err := w.tree(path.Join(claude, label, projects), filepath.Join(dir, projects),
			func(as string, folder *workspace.Folder, name string) error {
				parts := strings.Split(name, "/")
				if len(parts) < 2 || !conversations[strings.TrimSuffix(parts[1], transcriptEnd)] {
					return nil
				}
				return w.changing(as, folder, name)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// changing adds a file that may grow, shrink or vanish while it is read.
func (w *writer) changing(as string, folder *workspace.Folder, name string) (err error) {
	copied := filepath.Join(w.scratch, "copy")
	if err := copyTo(folder, name, copied); err != nil {
		return err
	}
	if err := w.fixed(as, copied); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(copied))
	}
	return nil
}

// fixed adds a file that does not change, or only grows.
func (w *writer) fixed(as, name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	sum, err := w.entry(as, io.LimitReader(f, info.Size()), info.Size(), info.ModTime())
	if err != nil {
		return err
	}
	w.list.Files = append(w.list.Files, file{Name: as, Size: info.Size(), Sum: hex.EncodeToString(sum.Sum(nil))})
	w.summary.add(as, info.Size())
	return nil
}

// json adds a value.
func (w *writer) json(as string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	_, err = w.entry(as, bytes.NewReader(text), int64(len(text)), w.summary.Made)
	return err
}

func (w *writer) entry(as string, content io.Reader, size int64, changed time.Time) (hash.Hash, error) {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: as, Size: size, Mode: 0o600, ModTime: changed, Format: tar.FormatPAX}
	if err := w.archive.WriteHeader(header); err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err := io.Copy(io.MultiWriter(w.archive, sum), content)
	return sum, err
}

// syncFolder has the names in a folder survive a power cut.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
