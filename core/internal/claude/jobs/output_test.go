package jobs

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// Of any output, however it is cut into writes, the beginning and the end are kept, and no more than the limit.
func TestOutputKeepsBothEnds(t *testing.T) {
	t.Parallel()
	const most = 400
	for _, size := range []int{0, 1, 199, 200, 201, 300, 301, 399, 400, 401, 599, 1000, 5000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o, err := newOutput(dir, most)
			if err != nil {
				t.Fatal(err)
			}
			all := make([]byte, size)
			random := rand.New(rand.NewPCG(uint64(size), 1))
			for i := range all {
				all[i] = byte('a' + random.IntN(26))
			}
			for rest := all; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(90))
				if _, err := o.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			if o.written != int64(size) {
				t.Errorf("%d bytes were written, want %d", o.written, size)
			}
			got, kept, err := readOutput(workspace.New(dir), 0, 10*most)
			if err != nil || int64(len(got)) != kept || kept > most {
				t.Fatalf("%d of %d bytes, %v", len(got), kept, err)
			}
			if size <= most/2 && !bytes.Equal(got, all) {
				t.Errorf("kept %q of %q", got, all)
			}
			first := min(size, most/2)
			end := kept - int64(first)
			if !bytes.HasPrefix(got, all[:first]) || !bytes.HasSuffix(all, got[first:]) || size > most && end < most/4 {
				t.Errorf("of %q, %q is kept", all, got)
			}
			if tail, _, err := readOutput(workspace.New(dir), -1, 30); err != nil || !bytes.Equal(tail, got[max(0, len(got)-30):]) {
				t.Errorf("the end is %q, %v", tail, err)
			}
			for _, offset := range []int64{0, 1, 150, 199, 200, 250, kept} {
				part, _, err := readOutput(workspace.New(dir), offset, 77)
				if want := got[min(offset, kept):min(offset+77, kept)]; err != nil || !bytes.Equal(part, want) {
					t.Errorf("from %d: %q, %v; want %q", offset, part, err, want)
				}
			}
		})
	}
}

func TestRunnerWithoutOrderDoesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := RunJob(io.NopCloser(strings.NewReader(`{"shell": "/bin/sh"`)), dir); err != nil {
		t.Errorf("the runner: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("it has made %v, %v", files, err)
	}
}

// The pattern is compared with whole lines, wherever writes cut them, and tells of the first one only.
func TestPattern(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	order := `{"shell": "/bin/sh", "command": "printf 'not rea'; printf 'dy\\nready at 1\\nready at 2\\n'; printf 'ready, without end'", "pattern": "^ready", "most": 65536}`
	if err := os.WriteFile(filepath.Join(dir, eventsFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RunJob(io.NopCloser(strings.NewReader(order)), dir); err != nil {
		t.Fatal(err)
	}
	events, err := os.ReadFile(filepath.Join(dir, eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(events), `"matched"`); n != 1 || !strings.Contains(string(events), `"matched":"ready at 1"`) || !strings.Contains(string(events), `"exited":0`) {
		t.Errorf("the events are\n%s", events)
	}
}
