package command

import (
	"context"
	"fmt"
	"runtime"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"

	"github.com/clawhost/clawhost/core/internal/claude"
)

// restart restarts the host. If the host went down before it could answer, the command runs again after the restart: it
// must not restart the host once more.
func (d hostCommands) restart(ctx context.Context, call Call) (string, error) {
	switch {
	case d.host.Started.After(call.At):
		return wording.Restarted, nil
	case d.host.Restart == nil:
		return wording.CannotRestartItself, nil
	}
	if err := d.host.Restart.Request(ctx); err != nil {
		return wording.RestartRefused(err), nil
	}
	d.host.Log.Info("a restart was asked for", "by", who(call.Caller))
	return wording.Restarting, nil
}

// debug shows details for a person who looks for a fault.
func (d hostCommands) debug(ctx context.Context, _ Call) (string, error) {
	lanes, err := d.store.Lanes(ctx)
	if err != nil {
		return "", err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return wording.Debug{
		Version: d.host.Version, Go: runtime.Version(), Up: d.host.Now().Sub(d.host.Started), Goroutines: runtime.NumGoroutine(),
		InUse: memory.HeapAlloc, Taken: memory.Sys, Collections: memory.NumGC, Claude: pool(d.host.Claude.Stats()),
		Lanes: lanes, Errors: d.host.Recent.Errors(),
	}.String(), nil
}

// who identifies a person in the log, as channel:user.
func who(c chat.Caller) string { return c.Address.Channel + ":" + string(c.Sender.ID) }

// pool describes the number of claude processes and their memory.
func pool(stats claude.Stats) string {
	line := fmt.Sprintf("%d running, %d idle, %d spare, %d turns wait for one", stats.Running, stats.Idle, stats.Spare, stats.Waiting)
	if stats.Memory > 0 {
		line += fmt.Sprintf("; %d MiB", stats.Memory>>20)
	}
	if stats.Memory > 0 && stats.Limit > 0 {
		line += fmt.Sprintf(" of %d MiB", stats.Limit>>20)
	}
	if stats.Total > 0 {
		line += fmt.Sprintf("; the machine has %d of %d MiB left", stats.Available>>20, stats.Total>>20)
	}
	return line
}
