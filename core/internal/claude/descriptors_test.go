package claude_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// fewDescriptors names the variable by which the test runs itself in a process that may have few open files.
const fewDescriptors = "CLAWHOST_TEST_DESCRIPTORS"

// alone reports whether the test runs in a process of its own, and else has it run so.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(fewDescriptors) != "" {
		return true
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fewDescriptors+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("with few descriptors: %v\n%s", err, out)
	}
	return false
}

// Idle processes are ended when one cannot start because of a lack of descriptors: each holds some.
// Behaviour: process-resources.
func TestIdleProcessesAreEvictedWhenDescriptorsRunOut(t *testing.T) {
	if !alone(t) {
		return
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list its open files")
	}
	r := newRig(t)
	r.config.MaxProcesses = 16
	pool := r.pool()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	const free = 30
	limit.Cur = uint64(len(open) + free)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	most := 0
	for range r.config.MaxProcesses {
		turn := r.turn("hello")
		turn.Session = uuid.NewString()
		turn.Watcher = nil
		if _, err := pool.Run(t.Context(), turn); err != nil {
			t.Fatalf("beside %d idle processes: %v", pool.Stats().Idle, err)
		}
		most = max(most, pool.Stats().Idle)
	}
	if most == r.config.MaxProcesses {
		t.Errorf("there was space for all %d, so this proves nothing", most)
	}
	// If none is idle, this is reported.
	limit.Cur = uint64(len(open))
	if err := pool.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	pool = r.pool()
	_, err = pool.Run(t.Context(), r.turn("hello"))
	limit.Cur = limit.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	r.wantClass(err, agent.Unavailable)
}

// What a turn has started ends with it also where there is no descriptor left to look for it.
func TestStopWithoutDescriptors(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	pool := r.pool()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	a := r.begin(ctx, pool, r.turn(directive(map[string]any{"tool": "(setsid sleep 100 &); touch begun; sleep 100", "hang": "dead"})))
	poll(t, "the tool runs", func() bool { return exists(filepath.Join(r.config.Workspace, "begun")) })
	poll(t, "its children run", func() bool { return len(tools(t, r.session)) > 1 })
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = 0
	open, err := os.ReadDir("/proc/self/fd")
	for _, f := range open {
		if n, err := strconv.ParseUint(f.Name(), 10, 64); err == nil {
			limit.Cur = max(limit.Cur, n+1)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for err == nil { // what claude has in this process becomes free with its end
		_, err = unix.Dup(0)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Fatal(err)
	}
	stop()
	<-a.done
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	r.wantClass(a.err, agent.Aborted)
	if left := tools(t, r.session); len(left) > 0 {
		t.Errorf("processes outlived the stop: %v", left)
	}
}
