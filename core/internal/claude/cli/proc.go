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

// ID identifies a process of the system by pid and start time.
type ID struct {
	PID     int
	Started uint64
}

// newProc identifies a child of this process that has not been waited for. An ended one has no start time.
func newProc(pid int) (ID, error) {
	started, err := process.StartTime(pid)
	if err != nil && !errors.Is(err, process.ErrGone) {
		return ID{}, fmt.Errorf("identify the process: %w", err)
	}
	return ID{PID: pid, Started: started}, nil
}

// alive reports whether the process runs, or may run.
func (p ID) alive() bool { return p.PID > 0 && process.Alive(p.PID, p.Started) }

// patience bounds the wait for killed processes: one may be stuck in the kernel.
const patience = 2 * time.Second

// killAll kills the known processes in order, and all that find returns, until none is left and find is sure. The end
// of a process that is not a child can only be polled. It returns those that are left when its patience ends.
func killAll(known []ID, find func() ([]ID, error)) (left []ID) {
	const step = 2 * time.Millisecond
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		left = nil
		for _, p := range known {
			if p.alive() {
				left = append(left, p)
			}
		}
		found, err := find()
		left = append(left, found...)
		if len(left) == 0 && err == nil {
			return nil
		}
		for _, p := range left {
			p.kill()
		}
		select {
		case <-deadline.C:
			return left
		case <-ticker.C:
		}
	}
}

// forgetter deletes the records of processes.
type forgetter interface {
	DeleteProcess(ctx context.Context, pid int, startTime uint64) error
}

// Reap ends what a previous process of the host left running: claude processes, identified by pid, start time and boot,
// and the tools that they started, found by their mark. A pid that belongs to another process by now is not touched.
// Records are deleted once the processes are gone.
//
// A claude whose host died completes its turn and exits, because its stdin has ended. It must be ended here because the
// message runs again, and two writers on a session lose messages.
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
			log.Warn("cannot delete the record of a process", "pid", old.PID, "error", err)
		}
	}
}

func reap(old domain.Process, log hclog.Logger) {
	root := ID{PID: old.PID, Started: old.StartTime}
	// Its tools outlive it as orphans. They carry the session's name, which another host's session may share if the
	// state folder was copied, and the mark of the host process that started them; old records have no mark.
	find := func() ([]ID, error) {
		return descendants(0, nil, sessionMarker+"="+old.Name, marker+"="+old.Mark)
	}
	var known []ID
	if root.alive() {
		// Claude is killed first, so that it does not take the end of its tools for their results.
		below, _ := descendants(root.PID, nil) // the others are found by their marks
		known = append([]ID{root}, below...)
	}
	if found, err := find(); len(known) > 0 || len(found) > 0 || err != nil {
		log.Warn("ending a process of the previous host process", "kind", old.Kind, "session", old.Name, "pid", old.PID)
		killAll(known, find)
	}
}

// IsTool reports whether a process descends from a claude of any host, including previous ones: it or one of its
// ancestors carries a host's mark. A process that is gone counts as one, because it cannot be checked.
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
