//go:build e2e

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// The CLI goes on where its transcript cannot be written, and says so when it leaves: then it is a problem of the host. What it was told
// in the meantime is not in the conversation that the next process resumes.
// Behaviour: transcript-lost.
func TestTranscriptThatIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	projects := filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], "projects")
	if err := os.MkdirAll(projects, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", projects, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		t.Skipf("this user may not mount a disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(projects, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	pool := r.pool()
	r.run(pool, r.turn("my number is 4711"))
	full := filepath.Join(projects, "full")
	fill(t, full)
	const colour = "my colour is red"
	long := strings.Repeat(" and so on", 1000) // a page of the disk that is not full takes some of it
	if got := r.run(pool, r.turn(colour+long)); !strings.Contains(got.Text, colour) {
		t.Errorf("without space the answer is %q", got.Text)
	}
	r.close(pool)
	var found bool
	for _, p := range pool.Problems(t.Context()) {
		found = found || p.Code == health.TranscriptLost && strings.Contains(p.Detail, "ENOSPC")
	}
	if !found {
		t.Errorf("the problems are %+v", pool.Problems(t.Context()))
	}

	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	r.run(r.pool(), r.turn("who am I?"))
	r.remembers("my number is 4711")
	r.remembers("who am I?")
	requests := r.api.Messages()
	if n := occurrences(requests[len(requests)-1], colour); n != 0 {
		t.Errorf("the next process knows %d times what could not be saved", n)
	}
}

// fill fills the disk of a file.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{4096, 1} { // the last page, too
		for err = nil; err == nil; _, err = f.Write(make([]byte, size)) {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}
