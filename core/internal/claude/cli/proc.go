package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
)

// ID identifies a process of the system by pid and start time.
type ID = process.ID

// NewFamily returns the family of one host process, in which each claude has the name of its session. Children start its
// members; nil: processes that leave their trees are not adopted.
func NewFamily(children *process.Children) *process.Family {
	return process.NewFamily(children, process.Marks{Host: marker, Name: sessionMarker}, uuid.NewString())
}

// Reap ends what a previous process of the host left running: claude processes, identified by pid, start time and boot,
// and the tools that they started, found by their mark. A pid that belongs to another process by now is not touched.
// Records are deleted once the processes are gone.
//
// A claude whose host died completes its turn and exits, because its stdin has ended. It must be ended here because the
// message runs again, and two writers on a session lose messages.
func Reap(ctx context.Context, left []domain.Process, records Records, log hclog.Logger) {
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
		return process.Descendants(0, sessionMarker+"="+old.Name, marker+"="+old.Mark)
	}
	var known []ID
	if root.Alive() {
		// Claude is killed first, so that it does not take the end of its tools for their results.
		below, _ := process.Descendants(root.PID) // the others are found by their marks
		known = append([]ID{root}, below...)
	}
	if found, err := find(); len(known) > 0 || len(found) > 0 || err != nil {
		log.Warn("ending a process of the previous host process", "kind", old.Kind, "session", old.Name, "pid", old.PID)
		process.KillAll(known, find)
	}
}

// JobCommand is the first argument of the process that runs a job; see package jobs.
const JobCommand = "run-job"

// IsTool reports whether a process descends from a claude, a line for the shell, a job or a program of any host, including
// previous ones: it or one of its ancestors carries a host's mark, or runs a job. The environment of the latter, which may be a copy
// of the program that nobody can read, may not be readable. A process that is gone counts as one, because it cannot be checked.
func IsTool(pid int) bool {
	const depth = 64
	for range depth {
		if pid <= 1 {
			return false
		}
		if carried, err := process.Carries(pid, marker+"="); carried || err != nil {
			return true
		}
		if arguments := process.Arguments(pid); len(arguments) > 1 && arguments[1] == JobCommand {
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
