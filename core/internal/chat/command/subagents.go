package command

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

// subagents lists the subagents of the running turn, or stops one.
func (d hostCommands) subagents(ctx context.Context, call Call) (string, error) {
	word, rest, _ := strings.Cut(call.Args, " ")
	switch strings.ToLower(word) {
	case "":
		var list []wording.Subagent
		for _, t := range d.host.Claude.Tasks(call.Session.ClaudeSession) {
			list = append(list, subagent(t, d))
		}
		return wording.Subagents(list), nil
	case "stop":
		number, err := strconv.Atoi(strings.TrimSpace(rest))
		if err != nil {
			return wording.UnknownArgument("subagents", call.Args, wording.SubagentOptions), nil
		}
		return d.stopSubagent(ctx, call, number)
	default:
		return wording.UnknownArgument("subagents", call.Args, wording.SubagentOptions), nil
	}
}

func (d hostCommands) stopSubagent(ctx context.Context, call Call, number int) (string, error) {
	stopped, err := d.host.Claude.StopTask(ctx, call.Session.ClaudeSession, number)
	switch {
	case errors.Is(err, client.ErrNoTask), errors.Is(err, client.ErrNotRunning):
		return wording.NoSuchSubagent, nil
	case errors.Is(err, client.ErrNoTaskStop):
		return wording.SubagentStopNotSupported, nil
	case err != nil:
		return "", err
	}
	d.host.Log.Info("a subagent was stopped", "session", call.Caller.Session, "by", who(call.Caller))
	return wording.SubagentStopped(subagent(stopped, d)), nil
}

// subagent describes a subagent for people.
func subagent(t client.Task, d hostCommands) wording.Subagent {
	return wording.Subagent{Number: t.Number, What: t.What, Agent: t.Agent, Doing: t.Doing, For: d.host.Now().Sub(t.Since)}
}
