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
// between is seen the next time. It reports whether it has read.
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

// look looks at a file, wherever a link leads: only what reads it must stay within the workspace. The stamp has the name.
func look(name, path string) stamp {
	info, err := os.Stat(path)
	return stamp{path: name, info: info, err: err}
}

// lookAt looks at files by their paths.
func lookAt(paths []string) []stamp {
	stamps := make([]stamp, len(paths))
	for i, path := range paths {
		stamps[i] = look(path, path)
	}
	return stamps
}

// stamp is how a file looked.
type stamp struct {
	path string
	info fs.FileInfo // nil with an error
	err  error
}

// same reports whether the file has not changed between two stamps.
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

// settled reports whether a change from now on gets another time, also on a file system that counts in steps of two seconds.
func (s stamp) settled() bool {
	return s.err != nil || time.Since(s.info.ModTime()) > 2*time.Second
}
