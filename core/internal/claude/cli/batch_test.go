package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newBatchReader(t interface {
	Helper()
	Fatal(args ...any)
},
) (*batchReader, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return &batchReader{file: r}, w
}

// Whatever is written comes out as it was written, however reads and pauses take turns.
func TestBatchReader(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, w := newBatchReader(t)
		defer r.Close()
		var written, read bytes.Buffer
		take := func() {
			buffer := make([]byte, 64)
			n, err := r.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			read.Write(buffer[:n])
		}
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 3), 0, 40).Draw(t, "steps") {
			switch {
			case step == 0:
				r.Pause(time.Microsecond, nil)
			case step == 1 && read.Len() < written.Len():
				take()
			default:
				part := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "part")
				written.Write(part)
				if _, err := w.Write(part); err != nil {
					t.Fatal(err)
				}
			}
		}
		for read.Len() < written.Len() {
			take()
		}
		w.Close()
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("behind the end %d bytes are read, %v", n, err)
		}
		if !bytes.Equal(read.Bytes(), written.Bytes()) {
			t.Fatalf("%q was written, %q was read", written.Bytes(), read.Bytes())
		}
	})
}

// A read waits for what comes later, after a pause, too, and a deadline ends it while a process still has the pipe open.
func TestBatchReaderWaits(t *testing.T) {
	t.Parallel()
	for name, paused := range map[string]bool{"at once": false, "after a pause": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w := newBatchReader(t)
			defer r.Close()
			defer w.Close()
			if paused {
				r.Pause(time.Microsecond, nil)
			}
			type result struct {
				n   int
				err error
			}
			reads := make(chan result, 2)
			go func() {
				for range 2 {
					n, err := r.Read(make([]byte, 10))
					reads <- result{n, err}
				}
			}()
			next := func(what string) result {
				t.Helper()
				select {
				case got := <-reads:
					return got
				case <-time.After(10 * time.Second):
					t.Fatalf("not within 10 s: %s", what)
					panic("unreachable")
				}
			}
			if _, err := w.WriteString("late"); err != nil {
				t.Fatal(err)
			}
			if got := next("the text is read"); got.n != 4 || got.err != nil {
				t.Fatalf("%d bytes are read, %v", got.n, got.err)
			}
			if err := r.SetReadDeadline(time.Now()); err != nil {
				t.Fatal(err)
			}
			if got := next("the deadline ends the read"); !errors.Is(got.err, os.ErrDeadlineExceeded) {
				t.Fatalf("%d bytes are read, %v", got.n, got.err)
			}
		})
	}
}

// A deadline that was set during a pause holds behind it, and a pause ends with the process.
func TestBatchReaderEnds(t *testing.T) {
	t.Parallel()
	r, w := newBatchReader(t)
	defer r.Close()
	defer w.Close()
	gone := make(chan struct{})
	close(gone)
	r.Pause(time.Hour, gone)
	if err := r.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the read ends with %v", err)
	}
}
