package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Sessions is what the session commands need of the store.
type Sessions interface {
	Clear(ctx context.Context, session string, lane store.Lane, before time.Time) (int, error)
}

// Turns is what the session commands need of the dispatcher.
type Turns interface {
	Stop(ctx context.Context, session string, before time.Time) (bool, error)
	Running(session string) (time.Time, bool)
}

// Host is what /status says of the host.
type Host struct {
	Version string
	Started time.Time
	Demo    bool
	// Waiting is how many messages wait in the session's lane, the running one not counted.
	Waiting func(ctx context.Context, session string) (int, error)
	// Channels is one line for each channel.
	Channels func() []string
}

// Builtin returns the host's own commands but /help, which the registry adds.
func Builtin(sessions Sessions, turns Turns, host Host) []Command {
	reset := func(_ context.Context, call Call) (string, error) {
		return startedFresh(turns, call.Session.Key), nil
	}
	return []Command{
		{Name: "new", Usage: "/new [text]", Summary: "begin a new conversation, and answer the text in it", Least: chat.Authorised, Run: reset},
		{Name: "reset", Usage: "/reset [text]", Summary: "the same as /new", Least: chat.Authorised, Run: reset},
		{Name: "stop", Usage: "/stop", Summary: "stop what is running and drop what waits", Least: chat.Authorised, Run: func(ctx context.Context, call Call) (string, error) {
			return stop(ctx, sessions, turns, call)
		}},
		{Name: "status", Usage: "/status", Summary: "what runs, what waits, what it cost", Least: chat.Authorised, Run: func(ctx context.Context, call Call) (string, error) {
			return status(ctx, turns, host, call)
		}},
	}
}

// startedFresh tells of the new claude session, which began as the command was accepted. A turn that runs ends in the old
// one: its answer is not lost.
func startedFresh(turns Turns, session string) string {
	if _, running := turns.Running(session); running {
		return "New conversation. What is still running ends in the old one; /stop ends it now."
	}
	return "New conversation."
}

// stop says "stopped" only when it is true: Stop returns after the turn has ended, its tools with it. What was written
// after the command, which may have had to wait for its turn, is not meant by it.
func stop(ctx context.Context, sessions Sessions, turns Turns, call Call) (string, error) {
	dropped, err := sessions.Clear(ctx, call.Caller.Session, store.TurnLane, call.At)
	if err != nil {
		return "", fmt.Errorf("drop what waits: %w", err)
	}
	stopped, err := turns.Stop(ctx, call.Caller.Session, call.At)
	if errors.Is(err, context.DeadlineExceeded) {
		return "The running turn did not stop yet. It is being killed; send /status to see.", nil
	}
	if err != nil {
		return "", fmt.Errorf("stop the turn: %w", err)
	}
	var said string
	switch {
	case stopped:
		said = "Stopped."
	case dropped > 0:
		said = "Nothing was running."
	default:
		return "Nothing is running.", nil
	}
	switch dropped {
	case 0:
		return said, nil
	case 1:
		return said + " One waiting message was dropped.", nil
	default:
		return fmt.Sprintf("%s %d waiting messages were dropped.", said, dropped), nil
	}
}

func status(ctx context.Context, turns Turns, host Host, call Call) (string, error) {
	waiting, err := host.Waiting(ctx, call.Caller.Session)
	if err != nil {
		return "", fmt.Errorf("count what waits: %w", err)
	}
	s := call.Session
	var b strings.Builder
	fmt.Fprintf(&b, "**clawhost %s**, up %s\n", host.Version, age(time.Since(host.Started)))
	if host.Demo {
		b.WriteString("\n- demo: a stand-in answers, not Claude")
	}
	if since, running := turns.Running(call.Caller.Session); running {
		fmt.Fprintf(&b, "\n- running for %s", age(time.Since(since)))
	} else {
		b.WriteString("\n- idle")
	}
	fmt.Fprintf(&b, ", %d waiting", waiting)
	fmt.Fprintf(&b, "\n- session `%s`, begun %s ago", s.Key, age(time.Since(begun(s))))
	if s.Model != "" {
		fmt.Fprintf(&b, "\n- model %s", s.Model)
	}
	if s.ContextWindow > 0 {
		fmt.Fprintf(&b, "\n- context %d of %d tokens (%d%%)", s.ContextTokens, s.ContextWindow, s.ContextTokens*100/s.ContextWindow)
	}
	fmt.Fprintf(&b, "\n- %d turns, %d tokens in, %d out, $%.4f", s.Usage.Turns, s.Usage.InputTokens+s.Usage.CacheTokens, s.Usage.OutputTokens, float64(s.Usage.CostMicros)/1e6)
	fmt.Fprintf(&b, "\n- you: %s", call.Caller.Authority)
	for _, line := range host.Channels() {
		fmt.Fprintf(&b, "\n- %s", line)
	}
	return b.String(), nil
}

func begun(s store.Session) time.Time {
	if s.ResetAt.After(s.CreatedAt) {
		return s.ResetAt
	}
	return s.CreatedAt
}

// age rounds a duration to what a person would say.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}
