package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/stub"
)

// traceVariable turns this program into the stub of claude, which appends to the variable's file when it reads a
// message, when it writes the first piece of its answer, and when it writes a result. Its lines are "<in, token or out>
// <message number> <unix nanoseconds>".
const traceVariable = "CLAWHOST_BENCH_TRACE"

// runTraced is the stub with a trace.
func runTraced(path string) int {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer file.Close()
	t := &tracer{file: file}
	return stub.Run(os.Args[1:], os.Getenv, tracedReader{os.Stdin, t}, tracedWriter{os.Stdout, t}, os.Stderr)
}

// tracer writes the trace. The stub reads and writes concurrently.
type tracer struct {
	mu     sync.Mutex
	file   io.Writer
	number int  // of the last message
	mute   bool // its answer has not begun
}

// tracedReader records messages as they arrive. A message's line is short enough to arrive in one piece.
type tracedReader struct {
	io.Reader
	trace *tracer
}

func (r tracedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.trace.note("in", time.Now(), p[:n], `"type":"user"`)
	return n, err
}

// tracedWriter records results before they are written.
type tracedWriter struct {
	io.Writer
	trace *tracer
}

func (w tracedWriter) Write(p []byte) (int, error) {
	at := time.Now()
	n, err := w.Writer.Write(p)
	w.trace.token(at, p)
	w.trace.note("out", at, p, `"type":"result"`)
	return n, err
}

// token writes a line for the first piece of an answer.
func (t *tracer) token(at time.Time, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mute && bytes.Contains(data, []byte(`"text_delta"`)) {
		t.mute = false
		fmt.Fprintln(t.file, "token", t.number, at.UnixNano())
	}
}

// note writes a line for each line of data that is of a kind and has the text of one of this program's messages.
func (t *tracer) note(way string, at time.Time, data []byte, kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(kind)) {
			continue
		}
		if number, ok := numberIn(line); ok {
			fmt.Fprintln(t.file, way, number, at.UnixNano())
			t.number, t.mute = number, way == "in"
		}
	}
}

// traced is when messages were on claude's stdin, and when the beginnings of their answers and their results were
// written, by number.
type traced struct{ in, token, out map[int]time.Time }

func readTrace(path string) (traced, error) {
	file, err := os.Open(path)
	if err != nil {
		return traced{}, err
	}
	defer file.Close()
	t := traced{in: map[int]time.Time{}, token: map[int]time.Time{}, out: map[int]time.Time{}}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var way string
		var number int
		var nanos int64
		if _, err := fmt.Sscan(lines.Text(), &way, &number, &nanos); err != nil {
			return t, fmt.Errorf("trace: %w", err)
		}
		map[string]map[int]time.Time{"in": t.in, "token": t.token, "out": t.out}[way][number] = time.Unix(0, nanos)
	}
	return t, nil
}
