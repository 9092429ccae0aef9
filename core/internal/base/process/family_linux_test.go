package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// What a member has started ends with it, however it has left, and nothing else does.
// Behaviour: media-programs.
func TestFamily(t *testing.T) { apart(t, "family") }

// ways are how a process leaves the one that started it, with a line that starts "sleep".
var ways = map[string]string{
	"in the background":        `sleep 1000 &`,
	"in a session":             `setsid sleep 1000 &`,
	"by a double fork":         `(setsid sh -c '(setsid sleep 1000 &)' &)`,
	"without an environment":   `env -i setsid sleep 1000 &`,
	"by two forks without one": `(env -i setsid sh -c '(/usr/bin/setsid /bin/sleep 1000 &)' &)`,
}

func family() error {
	var children process.Children
	if err := children.Adopt(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	reaped := make(chan struct{})
	go func() { children.Reap(ctx); close(reaped) }()
	defer func() { cancel(); <-reaped }()
	dir, err := os.MkdirTemp("", "family")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f := process.NewFamily(&children, process.Marks{Host: "HOST", Name: "NAME"}, "1")

	// What others have left, and what another member has started, is not its own.
	before := filepath.Join(dir, "before")
	line := `env -i setsid sh -c 'echo $$ > "$0"; exec /bin/sleep 1000' "$0" & until [ -s "$0" ]; do :; done`
	leaves := exec.Command("sh", "-c", line, before)
	if err := children.Start(leaves); err != nil {
		return err
	}
	if err := children.Wait(leaves); err != nil {
		return err
	}
	left, err := pidFrom(before)
	if err != nil {
		return err
	}
	for now := left.Started; now == left.Started; { // what starts in the same tick may be taken for the member's
		probe := exec.Command("sleep", "1000")
		if err := children.Start(probe); err != nil {
			return err
		}
		id, err := process.Identify(probe.Process.Pid)
		if err != nil {
			return err
		}
		now = id.Started
		_ = probe.Process.Kill()
		_ = children.Wait(probe)
	}
	other := exec.CommandContext(ctx, "sh", "-c", `setsid sh -c 'echo $$ > "$0"; exec sleep 1000' "$0" & wait`, filepath.Join(dir, "other"))
	other.Env = os.Environ()
	member, err := f.Start(other, "other")
	if err != nil {
		return err
	}
	others, err := pidFrom(filepath.Join(dir, "other"))
	if err != nil {
		return err
	}

	for how, way := range ways {
		for _, end := range []string{"returns", "fails", "is ended"} {
			if err := leavesNothing(ctx, f, filepath.Join(dir, "pids"), way, end); err != nil {
				return fmt.Errorf("what it started %s, and it %s: %w", how, end, err)
			}
			if !left.Alive() || !others.Alive() {
				return fmt.Errorf("what it started %s, and it %s: others are gone", how, end)
			}
		}
	}
	if err := other.Process.Kill(); err != nil {
		return err
	}
	if err := member.Wait(); err == nil {
		return errors.New("a killed member has not failed")
	}
	if others.Alive() {
		return errors.New("what the other member has started is left")
	}
	if !left.Alive() {
		return errors.New("what was left before ended with a member")
	}
	process.KillAll(nil, f.Strays)
	if left.Alive() {
		return errors.New("a stray of nobody is left")
	}
	return nil
}

// leavesNothing runs a member that starts a process in some way and ends in some way.
func leavesNothing(ctx context.Context, f *process.Family, pids, way, end string) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	_ = os.Remove(pids)
	started := strings.ReplaceAll(way, "/bin/sleep", "sleep")
	started = strings.ReplaceAll(started, "sleep 1000", `/bin/sh -c "echo \$\$ > `+pids+`; exec /bin/sleep 1000"`)
	line := started + "\nuntil [ -s " + pids + " ]; do :; done\n" + map[string]string{"returns": "exit 0", "fails": "exit 3", "is ended": "exec sleep 1000"}[end]
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = os.Environ()
	member, err := f.Start(cmd, "member")
	if err != nil {
		return err
	}
	id, err := pidFrom(pids)
	if err != nil {
		return err
	}
	if end == "is ended" {
		stop()
	}
	if err := member.Wait(); (err == nil) != (end == "returns") {
		return fmt.Errorf("its end: %w", err)
	}
	if id.Alive() {
		return fmt.Errorf("process %d is left", id.PID)
	}
	return nil
}

// pidFrom waits for a process whose pid a file has.
func pidFrom(path string) (process.ID, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 20_000 {
		text, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return process.Identify(pid)
		}
		<-tick.C
	}
	return process.ID{}, fmt.Errorf("%s has no pid", path)
}
