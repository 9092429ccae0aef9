package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/process"
)

// ID is a process of the system, told from another with the same pid by its start time.
type ID struct {
	PID     int
	Started uint64
}

// newProc returns a process that this one has started and not waited for. One that has ended has no start time.
func newProc(pid int) (ID, error) {
	started, err := process.StartTime(pid)
	if err != nil && !errors.Is(err, process.ErrGone) {
		return ID{}, fmt.Errorf("identify the process: %w", err)
	}
	return ID{PID: pid, Started: started}, nil
}

// alive reports whether the process runs, or may run.
func (p ID) alive() bool { return p.PID > 0 && process.Alive(p.PID, p.Started) }

// patience bounds the wait for killed processes. One that is stuck in the kernel cannot be waited for.
const patience = 2 * time.Second

// killAll kills the known processes, in their order, and all that find still finds, until none is left and find has seen all
// there are. The kernel tells nobody of the end of a process that is not its child, so it is polled.
func killAll(known []ID, find func() ([]ID, error)) {
	const step = 2 * time.Millisecond
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		var left []ID
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

// forgetter forgets recorded processes.
type forgetter interface {
	DeleteProcess(ctx context.Context, pid int, startTime uint64) error
}

// Reap ends what a previous process of the host left running: claude processes, known by pid, start time and boot, and the
// tools that they started, known by its mark. A pid that is another process's by now is not touched. Each is forgotten once it is gone.
//
// A claude whose host died goes on to the end of its turn and then leaves by itself, as its stdin has ended. It is ended
// here because the message is run again, and two writers on a session lose messages.
func Reap(ctx context.Context, left []domain.Process, records forgetter, log hclog.Logger) {
	boot := process.BootID()
	for _, old := range left {
		if ctx.Err() != nil {
			return
		}
		if old.BootID == boot {
			reap(old, log)
		}
		if err := records.DeleteProcess(ctx, old.PID, old.StartTime); err != nil {
			log.Warn("forget a process", "pid", old.PID, "error", err)
		}
	}
}

func reap(old domain.Process, log hclog.Logger) {
	root := ID{PID: old.PID, Started: old.StartTime}
	// Its tools outlive it, as children of nobody. They carry the session's name, which is also that of another host's session
	// if the state folder is a copy, and the mark of the life that started them; of an old record, that of any.
	find := func() ([]ID, error) {
		return descendants(0, nil, sessionMarker+"="+old.Name, marker+"="+old.Mark)
	}
	var known []ID
	if root.alive() {
		// Claude goes first, so that it does not take the end of its tools for their results.
		below, _ := descendants(root.PID, nil) // those that are not seen yet are found by their marks
		known = append([]ID{root}, below...)
	}
	if found, err := find(); len(known) > 0 || len(found) > 0 || err != nil {
		log.Warn("ending a claude of the previous process", "session", old.Name, "pid", old.PID)
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
