package claude

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/process"
)

// proc is a process of the system, told from another with the same pid by its start time.
type proc struct {
	pid     int
	started uint64
}

// newProc returns a process that this one has started and not waited for. One that has ended has no start time.
func newProc(pid int) (proc, error) {
	started, err := process.StartTime(pid)
	if err != nil && !errors.Is(err, process.ErrGone) {
		return proc{}, fmt.Errorf("identify the process: %w", err)
	}
	return proc{pid: pid, started: started}, nil
}

// alive reports whether the process runs, or may run.
func (p proc) alive() bool { return p.pid > 0 && process.Alive(p.pid, p.started) }

// patience bounds the wait for killed processes. One that is stuck in the kernel cannot be waited for.
const patience = 2 * time.Second

// killAll kills the known processes, in their order, and all that find still finds, until none is left and find has seen all
// there are. The kernel tells nobody of the end of a process that is not its child, so it is polled.
func killAll(known []proc, find func() ([]proc, error)) {
	const step = 2 * time.Millisecond
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		var left []proc
		for _, p := range known {
			if p.alive() {
				left = append(left, p)
			}
		}
		found, err := find()
		left = append(left, found...)
		if len(left) == 0 && err == nil {
			return
		}
		for _, p := range left {
			p.kill()
		}
		select {
		case <-deadline.C:
			return
		case <-ticker.C:
		}
	}
}

// Reap ends what an earlier life of the host left running: claude processes, known by pid, start time and boot, and the
// tools that they started, known by that life's mark. A pid that is another process's by now is not touched. Each is forgotten once it is gone.
//
// A claude whose host died goes on to the end of its turn and then leaves by itself, as its stdin has ended. It is ended
// here because the message is run again, and two writers on a session lose messages.
func Reap(ctx context.Context, left []domain.Process, processes Processes, log hclog.Logger) {
	boot := process.BootID()
	for _, old := range left {
		if ctx.Err() != nil {
			return
		}
		if old.BootID == boot {
			reap(old, log)
		}
		if err := processes.ForgetProcess(ctx, old.PID, old.StartTime); err != nil {
			log.Warn("forget a process", "pid", old.PID, "error", err)
		}
	}
}

func reap(old domain.Process, log hclog.Logger) {
	root := proc{pid: old.PID, started: old.StartTime}
	// Its tools outlive it, as children of nobody. They carry the session's name, which is also that of another host's session
	// if the state folder is a copy, and the mark of the life that started them; of an old record, that of any.
	find := func() ([]proc, error) {
		return descendants(0, nil, sessionMarker+"="+old.Name, marker+"="+old.Mark)
	}
	var known []proc
	if root.alive() {
		// Claude goes first, so that it does not take the end of its tools for their results.
		below, _ := descendants(root.pid, nil) // those that are not seen yet are found by their marks
		known = append([]proc{root}, below...)
	}
	if found, err := find(); len(known) > 0 || len(found) > 0 || err != nil {
		log.Warn("ending a claude of an earlier life", "session", old.Name, "pid", old.PID)
		killAll(known, find)
	}
}

// IsTool reports whether a process descends from a claude of any host, perhaps a previous one: it or one of its ancestors
// carries a host's mark. One that is gone, so that nobody can tell, counts as one.
func IsTool(pid int) bool {
	const depth = 64
	for range depth {
		if pid <= 1 {
			return false
		}
		if carried, err := carries(pid, []string{marker + "="}); carried || err != nil {
			return true
		}
		parent, err := process.Parent(pid)
		if err != nil {
			return true
		}
		pid = parent
	}
	return true
}
