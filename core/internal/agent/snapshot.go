package agent

import (
	"io/fs"
	"os"
	"slices"
	"time"
)

// snapshot keeps what was made of files for as long as they look the same.
type snapshot[T any] struct {
	value  T
	stamps []stamp
	valid  bool
}

// refresh makes the value what read makes of files that look like the stamps, which are taken before it reads: a change in
// between is seen the next time. It tells whether it has read.
func (s *snapshot[T]) refresh(stamps []stamp, read func([]stamp) T) bool {
	if s.valid && slices.EqualFunc(s.stamps, stamps, stamp.same) {
		return false
	}
	s.value, s.stamps, s.valid = read(stamps), stamps, true
	// A second change within the same tick of the file system's clock would not be seen.
	for _, stamp := range stamps {
		s.valid = s.valid && stamp.settled()
	}
	return true
}

// look is a look into the workspace.
type look struct {
	workspace string
	root      *os.Root
	err       error // why there is no root
}

func lookInto(workspace string) look {
	root, err := os.OpenRoot(workspace)
	return look{workspace: workspace, root: root, err: err}
}

func (l look) close() {
	if l.err == nil {
		_ = l.root.Close()
	}
}

// stamp looks at a file by its name in the workspace, from within which no link leads out.
func (l look) stamp(name string) stamp {
	if l.err != nil {
		return stamp{path: name, err: l.err}
	}
	info, err := l.root.Stat(name)
	return stamp{path: name, info: info, err: err}
}

// files looks at the files that [open] would open.
func (l look) files(paths []string) []stamp {
	stamps := make([]stamp, len(paths))
	for i, path := range paths {
		if name, ok := within(l.workspace, path); ok {
			stamps[i] = l.stamp(name)
			continue
		}
		info, err := os.Stat(path)
		stamps[i] = stamp{path: path, info: info, err: err}
	}
	return stamps
}

// stamp is how a file looked.
type stamp struct {
	path string
	info fs.FileInfo // nil with an error
	err  error
}

// same tells whether the file has not changed between two stamps.
func (s stamp) same(t stamp) bool {
	if s.path != t.path {
		return false
	}
	if s.err != nil || t.err != nil {
		return s.err != nil && t.err != nil && s.err.Error() == t.err.Error()
	}
	return os.SameFile(s.info, t.info) && s.info.Mode() == t.info.Mode() &&
		s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime())
}

// settled tells whether a change from now on gets another time, also on a file system that counts in steps of two seconds.
func (s stamp) settled() bool {
	return s.err != nil || time.Since(s.info.ModTime()) > 2*time.Second
}
