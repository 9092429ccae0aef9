// Package workspace reads a folder in which an untrusted process can write, such as the working folder of the agent. It can
// contain pipes, devices, links to files outside, folders with a million entries, and mounted file systems that never
// answer. None of these blocks the reader: only regular files and folders are opened, no link is followed out of the folder,
// the numbers of bytes and entries are limited, and a call that takes longer than [Patience] fails with [ErrStuck].
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Patience is the maximum duration of one call.
const Patience = 5 * time.Second

var (
	// ErrNoFile is returned for something that is not a regular file.
	ErrNoFile = errors.New("it is not a regular file")
	// ErrNoFolder is returned for something that is not a folder.
	ErrNoFolder = errors.New("it is not a folder")
	// ErrTooLong is returned for a file with more bytes than may be read.
	ErrTooLong = errors.New("it is too long")
	// ErrStuck is returned if the file system does not answer. Until it does, further calls fail immediately.
	ErrStuck = errors.New("its file system does not answer")
)

// Workspace is a folder that may be read. Create it with [New]. It is safe for concurrent use.
type Workspace struct {
	dir   string
	stuck atomic.Int32 // number of calls that exceeded [Patience] and still run
}

// New returns the workspace at a path. It does not access the file system.
func New(dir string) *Workspace { return &Workspace{dir: dir} }

// Dir returns the path of the workspace.
func (w *Workspace) Dir() string { return w.dir }

// Open opens the workspace; the caller closes the folder. In a workspace that does not exist, every name is reported as
// [io/fs.ErrNotExist].
func (w *Workspace) Open() (*Folder, error) {
	if w.dir == "" {
		return nil, fs.ErrInvalid // and not the root of the file system
	}
	// With the slash the kernel opens only folders.
	root, err := call(w, func() (*os.Root, error) { return os.OpenRoot(w.dir + "/") })
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return nil, ErrNoFolder
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return &Folder{w: w, root: root}, nil
}

// call calls f and waits for it, at most for [Patience]. A value that f returns later is closed.
func call[T any](w *Workspace, f func() (T, error)) (T, error) {
	var none T
	if w.stuck.Load() > 0 {
		return none, ErrStuck
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome)
	late := make(chan struct{})
	go func() {
		value, err := f()
		select {
		case done <- outcome{value, err}:
		case <-late:
			if closer, ok := any(value).(io.Closer); ok && err == nil {
				_ = closer.Close()
			}
			w.stuck.Add(-1)
		}
	}()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-timer.C:
		w.stuck.Add(1)
		close(late)
		return none, ErrStuck
	}
}

// content is the data of a file, and its description from before it was read.
type content struct {
	data []byte
	info fs.FileInfo
}

// read reads at most so many bytes of a file that was just opened, and closes it. With [ErrTooLong] it returns the beginning.
func read(file *os.File, err error, most int) (content, error) {
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return content{}, err
	}
	if !info.Mode().IsRegular() {
		return content{info: info}, ErrNoFile
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(data) > most {
		data, err = data[:most], fmt.Errorf("%w: it has more than %d bytes", ErrTooLong, most)
	}
	return content{data, info}, err
}
