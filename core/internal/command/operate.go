package command

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"

	"github.com/clawhost/clawhost/core/internal/claude"
)

// maxLanes is how many lanes /debug shows.
const maxLanes = 10

// restart has the host restart. A command that it did not come to answer before it went down is run again after: it must
// not restart the host once more.
func (d desk) restart(ctx context.Context, call Call) (string, error) {
	switch {
	case d.host.Started.After(call.At):
		return "Restarted.", nil
	case d.host.Restart == nil:
		return "The host cannot restart itself here. Whoever runs it must do so.", nil
	}
	if err := d.host.Restart.Request(ctx); err != nil {
		return "I go on as I am, because I could not start again:\n\n" + block(err.Error()), nil
	}
	d.host.Log.Info("a restart was asked for", "by", who(call.Caller))
	return "Restarting. What runs is finished first, or taken up again.", nil
}

// config tells where the config is and what holds in the chat. It tells no secret, because it knows none.
func (d desk) config(_ context.Context, call Call) (string, error) {
	e := d.effective(call)
	var b strings.Builder
	fmt.Fprintf(&b, "**Config** %s\n\nIn this conversation:\n", code(d.host.ConfigPath))
	for _, setting := range []struct{ name, value string }{
		{"model", modelName(e.Model)},
		{"effort", or(e.Effort, claudesChoice)},
		{"permission mode", e.PermissionMode},
		{"queue", queueing(e.Queue)},
		{"verbose", e.Verbose},
		{"reasoning", e.Reasoning},
		{"usage", e.Usage},
		{"send", e.Send},
		{"activation", e.Activation},
		{"speech", e.Speech},
	} {
		if setting.value != "" {
			fmt.Fprintf(&b, "\n- %s: %s", setting.name, setting.value)
		}
	}
	fmt.Fprintf(&b, "\n\nChosen here, not by the file: %s.", or(chosen(call.Session.Overrides), "nothing"))
	return b.String(), nil
}

// debug shows what somebody wants to see who looks for a fault.
func (d desk) debug(ctx context.Context, _ Call) (string, error) {
	lanes, err := d.store.Lanes(ctx)
	if err != nil {
		return "", err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var b strings.Builder
	fmt.Fprintf(&b, "**clawhost %s**, %s, up %s\n", d.host.Version, runtime.Version(), age(d.host.Now().Sub(d.host.Started)))
	fmt.Fprintf(&b, "\n- goroutines: %d", runtime.NumGoroutine())
	fmt.Fprintf(&b, "\n- memory: %s in use, %s from the system, %d collections", mebibytes(memory.HeapAlloc), mebibytes(memory.Sys), memory.NumGC)
	fmt.Fprintf(&b, "\n- claude: %s", pool(d.host.Claude.Stats()))
	fmt.Fprintf(&b, "\n- lanes with work: %d", len(lanes))
	for _, lane := range lanes[:min(len(lanes), maxLanes)] {
		state := "waiting"
		if lane.Running {
			state = "running"
		}
		fmt.Fprintf(&b, "\n  - %s %s: %s, %d waiting, attempt %d", code(lane.Session), lane.Lane, state, lane.Waiting, lane.Attempts)
	}
	return b.String(), nil
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// who is somebody as the log names them, as channel:user.
func who(c chat.Caller) string { return c.Address.Channel + ":" + string(c.Sender.ID) }

// pool says how many claude processes there are, and what they hold.
func pool(stats claude.Stats) string {
	line := fmt.Sprintf("%d running, %d idle, %d turns wait for one", stats.Running, stats.Idle, stats.Waiting)
	if stats.Memory > 0 {
		line += fmt.Sprintf("; %d MiB", stats.Memory>>20)
	}
	if stats.Memory > 0 && stats.Limit > 0 {
		line += fmt.Sprintf(" of %d MiB", stats.Limit>>20)
	}
	return line
}
