package workspace

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// coarse is the coarsest resolution of modification times: two changes within it may get the same time.
const coarse = 2 * time.Second

// Seen is what a reader has looked at in a folder. What was derived from it is valid as long as [Workspace.Unchanged] reports true.
type Seen map[string]look

// look is what was seen under a name.
type look struct {
	info fs.FileInfo // nil with an error
	why  string      // the error
	at   time.Time
}

// Seen returns what Stat, List and the methods that read files have looked at since the folder was opened.
func (f *Folder) Seen() Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.seen)
}

// saw records the first look at a name, which was taken before its content was read. Without info, the error is recorded.
func (f *Folder) saw(name string, info fs.FileInfo, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, again := f.seen[name]; again {
		return
	}
	if f.seen == nil {
		f.seen = Seen{}
	}
	l := look{info: info, at: time.Now()}
	if info == nil {
		l.why = reason(err)
	}
	f.seen[name] = l
}

// Unchanged reports whether nothing that was seen has changed. It also reports false for nil, and for something that had
// changed less than two seconds before it was seen, because a further change could have the same time. The error is
// [ErrStuck] if the file system does not answer.
func (w *Workspace) Unchanged(s Seen) (bool, error) {
	if s == nil {
		return false, nil
	}
	return call(w, func() (bool, error) {
		var root *os.Root // for what could not be read, perhaps because a link leads out
		for name, before := range s {
			stat := os.Stat
			switch {
			case filepath.IsAbs(name): // of ReadOutside
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
		l.info.ModTime().Equal(info.ModTime()) && l.at.Sub(info.ModTime()) > coarse
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
