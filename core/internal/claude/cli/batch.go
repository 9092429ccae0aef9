package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// batchReader reads a pipe that receives many small writes. Each would wake the process, which costs more than reading
// it, because the runtime polls all open pipes. While the reader pauses, it removes the pipe from the runtime's poller,
// and adds it again when there is nothing to read.
type batchReader struct {
	mu       sync.Mutex
	file     *os.File  // nil: the pipe is removed from the poller, and detached is its descriptor
	detached int       // non-blocking
	deadline time.Time // zero: none
}

// Pause waits, at most until end is closed, while writes to the pipe wake no reader.
func (r *batchReader) Pause(d time.Duration, end <-chan struct{}) {
	if err := r.detach(); err != nil {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-end:
	}
}

// Read reads what is available, or waits for something.
func (r *batchReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	file := r.file
	r.mu.Unlock()
	if file != nil {
		return file.Read(p)
	}
	for {
		n, err := unix.Read(r.detached, p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return r.attach().Read(p)
		case err != nil:
			return 0, fmt.Errorf("read pipe: %w", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// detach removes the pipe from the runtime's poller.
func (r *batchReader) detach() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	raw, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	if err := raw.Control(func(fd uintptr) {
		r.detached, failure = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	r.file.Close() // removes it; the duplicate stays non-blocking
	r.file = nil
	return nil
}

// attach adds the pipe to the runtime's poller.
func (r *batchReader) attach() *os.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = os.NewFile(uintptr(r.detached), "stdout")
	if !r.deadline.IsZero() {
		_ = r.file.SetReadDeadline(r.deadline)
	}
	return r.file
}

// SetReadDeadline ends reading at a time: another process may still have the pipe open.
func (r *batchReader) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = t
	if r.file == nil {
		return nil
	}
	return r.file.SetReadDeadline(t)
}

// Close closes the pipe. There must be no more reads.
func (r *batchReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return unix.Close(r.detached)
	}
	return r.file.Close()
}
