package claude_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// fewDescriptors names the variable by which the test runs itself in a process that may have few open files.
const fewDescriptors = "CLAWHOST_TEST_DESCRIPTORS"

// Idle processes make room for one that cannot start for want of descriptors, as each holds some.
func TestIdleMakeRoom(t *testing.T) {
	if os.Getenv(fewDescriptors) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIdleMakeRoom$", "-test.v")
		cmd.Env = append(os.Environ(), fewDescriptors+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestIdleMakeRoom") {
			t.Fatalf("with few descriptors: %v\n%s", err, out)
		}
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
	const room = 30
	limit.Cur = uint64(len(open) + room)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	most := 0
	for range r.config.MaxProcesses {
		turn := r.turn("hello")
		turn.Session = uuid.NewString()
		turn.OnConsumed = nil
		if _, err := pool.Run(t.Context(), turn); err != nil {
			t.Fatalf("beside %d idle processes: %v", pool.Stats().Idle, err)
		}
		most = max(most, pool.Stats().Idle)
	}
	if most == r.config.MaxProcesses {
		t.Errorf("there was room for all %d, so this proves nothing", most)
	}
	// Where none is idle it is told.
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
