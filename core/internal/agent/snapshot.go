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

// get returns what read makes of files that look like the stamps, which are taken before it reads: a change in between is seen
// the next time.
func (s *snapshot[T]) get(stamps []stamp, read func([]stamp) T) T {
	if s.valid && slices.EqualFunc(s.stamps, stamps, stamp.same) {
		return s.value
	}
	s.value, s.stamps, s.valid = read(stamps), stamps, true
	// A second change within the same tick of the file system's clock would not be seen.
	for _, stamp := range stamps {
		s.valid = s.valid && stamp.settled()
	}
	return s.value
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
