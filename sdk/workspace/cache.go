package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// coarse is the coarsest resolution of modification times: two changes within it may get the same time.
const coarse = 2 * time.Second

// Cache keeps a value that is read from a workspace until something that the reader has looked at changes. Create it with
// [NewCache]. It is not safe for concurrent use.
type Cache[T any] struct {
	workspace *Workspace
	value     T
	seen      seen // nil: the value is not kept
}

// NewCache returns a cache of a value of the workspace at a path.
func NewCache[T any](dir string) *Cache[T] { return &Cache[T]{workspace: New(dir)} }

// Get returns the kept value, or calls read for a fresh one. What read has looked at by Stat, Lstat, List and the methods that
// read files counts; a change within two seconds after another one may have the same time, so such a value is not kept.
//
// A fresh value with an error is zero: the workspace cannot be opened. A kept value with an error, which is [ErrStuck], may be
// outdated, because the file system does not answer.
func (c *Cache[T]) Get(read func(*Folder) T) (value T, fresh bool, err error) {
	same, err := c.workspace.unchanged(c.seen)
	if same {
		return c.value, false, nil
	}
	var folder *Folder
	if err == nil {
		folder, err = c.workspace.Open()
	}
	var looks seen
	stuck := errors.Is(err, ErrStuck)
	if err == nil {
		defer folder.Close()
		folder.seen = seen{}
		value = read(folder)
		looks, stuck = folder.looks()
	}
	if stuck && c.seen != nil {
		return c.value, false, ErrStuck
	}
	c.value, c.seen = value, looks
	return value, true, err
}

// seen is what a reader has looked at in a folder, by name.
type seen map[string]look

// look is what was seen under a name.
type look struct {
	info fs.FileInfo // nil with an error
	why  string      // the error
	at   time.Time
}

// looks returns what was looked at in the folder; nil if the file system did not answer once.
func (f *Folder) looks() (all seen, stuck bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stuck {
		return nil, true
	}
	return f.seen, false
}

// saw records the first look at a name, which was taken before its content was read. Without info, the error is recorded.
func (f *Folder) saw(name string, info fs.FileInfo, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stuck = f.stuck || errors.Is(err, ErrStuck)
	if _, again := f.seen[name]; again || f.seen == nil {
		return
	}
	l := look{info: info, at: time.Now()}
	if info == nil {
		l.why = reason(err)
	}
	f.seen[name] = l
}

// unchanged reports whether nothing that was seen has changed. It also reports false if nothing was seen, and for something that had
// changed less than [coarse] before it was seen.
func (w *Workspace) unchanged(s seen) (bool, error) {
	if len(s) == 0 {
		return false, nil
	}
	return call(w, func() (bool, error) {
		var root *os.Root // for what could not be read, perhaps because a link leads out
		for name, before := range s {
			stat := os.Stat
			switch {
			case filepath.IsAbs(name): // of ReadOutside
			case before.info != nil && before.info.Mode()&fs.ModeSymlink != 0: // of Lstat
				stat, name = os.Lstat, filepath.Join(w.dir, name)
			case before.info != nil, before.why == fs.ErrNotExist.Error():
				name = filepath.Join(w.dir, name)
			default:
				if root == nil {
					var err error
					if root, err = os.OpenRoot(w.dir + "/"); err != nil {
						return false, nil
					}
					defer root.Close()
				}
				stat = root.Stat
			}
			if info, err := stat(name); !before.same(info, err) {
				return false, nil
			}
		}
		return true, nil
	})
}

func (l look) same(info fs.FileInfo, err error) bool {
	if l.info == nil || err != nil {
		return l.info == nil && err != nil && l.why == reason(err)
	}
	return os.SameFile(l.info, info) && l.info.Mode() == info.Mode() && l.info.Size() == info.Size() &&
		l.info.ModTime().Equal(info.ModTime()) && l.at.Sub(info.ModTime()).Abs() > coarse // a write sets a time in the future back
}

// reason is the text of an error without the operation and the path.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist.Error()
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
