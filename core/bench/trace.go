package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/stub"
)

// traceVariable makes this program the stub of claude, which appends to the variable's file when it reads a message and
// when it writes a result. Its lines are "<in or out> <message number> <unix nanoseconds>".
const traceVariable = "CLAWHOST_BENCH_TRACE"

// runTraced is the stub with a trace.
func runTraced(path string) int {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer file.Close()
	return stub.Run(os.Args[1:], os.Getenv, tracedReader{os.Stdin, file}, tracedWriter{os.Stdout, file}, os.Stderr)
}

// tracedReader notes messages as they come. A message's line is short enough to come in one piece.
type tracedReader struct {
	io.Reader
	trace io.Writer
}

func (r tracedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	note(r.trace, "in", time.Now(), p[:n], `"type":"user"`)
	return n, err
}

// tracedWriter notes results before they are written, all that the stub writes with them included.
type tracedWriter struct {
	io.Writer
	trace io.Writer
}

func (w tracedWriter) Write(p []byte) (int, error) {
	at := time.Now()
	n, err := w.Writer.Write(p)
	note(w.trace, "out", at, p, `"type":"result"`)
	return n, err
}

// note writes a line for each line of data that is of a kind and has the text of one of this program's messages.
func note(trace io.Writer, way string, at time.Time, data []byte, kind string) {
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(kind)) {
			continue
		}
		if number, ok := numberIn(line); ok {
			fmt.Fprintln(trace, way, number, at.UnixNano())
		}
	}
}

// traced is when messages were on claude's stdin, and when their results were on the way, by number.
type traced struct{ in, out map[int]time.Time }

func readTrace(path string) (traced, error) {
	file, err := os.Open(path)
	if err != nil {
		return traced{}, err
	}
	defer file.Close()
	t := traced{in: map[int]time.Time{}, out: map[int]time.Time{}}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var way string
		var number int
		var nanos int64
		if _, err := fmt.Sscan(lines.Text(), &way, &number, &nanos); err != nil {
			return t, fmt.Errorf("trace: %w", err)
		}
		map[string]map[int]time.Time{"in": t.in, "out": t.out}[way][number] = time.Unix(0, nanos)
	}
	return t, nil
}
