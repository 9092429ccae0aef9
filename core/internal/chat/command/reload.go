package command

import (
	"context"
	"errors"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// reload applies the config file as it is now.
func (d hostCommands) reload(ctx context.Context, call Call) (string, error) {
	if d.host.Reloader == nil {
		return wording.ConfigStays, nil
	}
	done, err := d.host.Reloader.Reload(ctx, who(call.Caller))
	return changed(ctx, done, err)
}

// config shows the settings of the chat and what was set by it, sets a value of the config, or ends that. It knows no secrets.
func (d hostCommands) config(ctx context.Context, call Call) (string, error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(call.Args), " ")
	name, value, _ := strings.Cut(strings.TrimSpace(rest), " ")
	name, value = strings.Trim(name, "` "), strings.TrimSpace(value)
	switch {
	case verb == "":
		return d.settings(call), nil
	case d.host.Reloader == nil:
		return wording.ConfigStays, nil
	case verb == "set" && name != "" && value != "":
		done, err := d.host.Reloader.Set(ctx, config.Override{Name: name, Value: value, By: who(call.Caller)})
		return changed(ctx, done, err)
	case verb == "unset" && name != "" && value == "":
		done, err := d.host.Reloader.Unset(ctx, name, who(call.Caller))
		if errors.Is(err, domain.ErrNotFound) {
			return wording.NotSet(name), nil
		}
		return changed(ctx, done, err)
	default:
		return wording.ConfigHow, nil
	}
}

func (d hostCommands) settings(call Call) string {
	e := d.effective(call)
	var set []string
	for _, w := range d.host.Conversations.Config().Written() {
		if w.Override {
			set = append(set, w.Name+" = "+w.Value)
		}
	}
	return wording.Settings{
		Path: d.host.ConfigPath, Model: e.Model, Effort: e.Effort, Fast: e.Fast, Permission: e.PermissionMode, Queue: e.Queue,
		Verbose: e.Verbose, Reasoning: e.Reasoning, Usage: e.Usage, Send: e.Send, Activation: e.Activation, Speech: e.Speech,
		Chosen: call.Session.Overrides, Set: set,
	}.String()
}

// changed says what a reload has changed, or why it has changed nothing.
func changed(ctx context.Context, done config.Reloaded, err error) (string, error) {
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return wording.ConfigRefused(err), nil
	}
	changes, misfits := make([]string, len(done.Changes)), make([]string, len(done.Misfits))
	for i, c := range done.Changes {
		changes[i] = c.String()
	}
	for i, m := range done.Misfits {
		misfits[i] = m.Name + " = " + m.Value
	}
	return wording.ConfigChanged(changes, done.Plugins, misfits), nil
}
