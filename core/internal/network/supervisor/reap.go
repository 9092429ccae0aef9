package supervisor

import (
	"context"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
)

// Reap ends the plugins among the processes that previous processes of the host have left, so that no two of a plugin work at once,
// and returns the others: those of claude and of the shell. Those of another host that is alive are left alone: the
// state folder is a copy of its.
func Reap(ctx context.Context, left []domain.Process, processes Processes, log hclog.Logger) (agents []domain.Process) {
	boot := process.BootID()
	for _, p := range left {
		switch {
		case p.BootID == boot && p.Host.PID != os.Getpid() && p.Host.PID != 0 && process.Alive(p.Host.PID, p.Host.StartTime):
			log.Warn("another running host owns this process; it is left unchanged", "kind", p.Kind, "pid", p.PID, "host", p.Host.PID)
		case p.Kind != "plugin":
			agents = append(agents, p)
			continue
		case p.BootID == boot && process.Alive(p.PID, p.StartTime):
			log.Warn("ending a plugin of the previous process", "plugin", p.Name, "pid", p.PID)
			if err := process.End(ctx, p.PID, p.StartTime); err != nil {
				log.Error("cannot end a plugin of the previous process", "plugin", p.Name, "pid", p.PID, "error", err)
				continue
			}
		}
		if err := processes.DeleteProcess(ctx, p.PID, p.StartTime); err != nil {
			log.Warn("cannot delete the record of a process", "pid", p.PID, "error", err)
		}
	}
	return agents
}
