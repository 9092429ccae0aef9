package agent

import (
	"io/fs"
	"os"
	"slices"
	"time"
)

// snapshot caches a value made from files until a file changes.
type snapshot[T any] struct {
	value  T
	stamps []stamp
	valid  bool
}

// refresh makes the value with read, if the stamps have changed. The stamps are taken before reading, so that a change
// in between is noticed the next time. It reports whether it has read.
func (s *snapshot[T]) refresh(stamps []stamp, read func([]stamp) T) bool {
	if s.valid && slices.EqualFunc(s.stamps, stamps, stamp.same) {
		return false
	}
	s.value, s.stamps, s.valid = read(stamps), stamps, true
	// A second change within the same tick of the file system's clock would not be noticed.
	for _, stamp := range stamps {
		s.valid = s.valid && stamp.settled()
	}
	return true
}

// look returns the stamp of a file, following links anywhere: only reading must stay within the workspace.
func look(name, path string) stamp {
	info, err := os.Stat(path)
	return stamp{path: name, info: info, err: err}
}

// lookAt returns the stamps of files.
func lookAt(paths []string) []stamp {
	stamps := make([]stamp, len(paths))
	for i, path := range paths {
		stamps[i] = look(path, path)
	}
	return stamps
}

// stamp identifies a version of a file.
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

// settled reports whether a change from now on gets another time, even on a file system with a resolution of two
// seconds.
func (s stamp) settled() bool {
	return s.err != nil || time.Since(s.info.ModTime()) > 2*time.Second
}
