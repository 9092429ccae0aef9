package core

import (
	"context"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/hook"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
)

// observing are the plugins that are told of each message.
func (h *Host) observing() []hook.MessageTarget {
	var list []hook.MessageTarget
	for _, live := range h.supervisor.Running() {
		if live.Has(pluginv1.Capability_CAPABILITY_HOOK_MESSAGE_RECEIVED) {
			list = append(list, hook.MessageTarget{Name: live.Name, Call: live.MessageReceived})
		}
	}
	return list
}

// following are the plugins that are told of each entry of a session's history.
func (h *Host) following() []hook.TranscriptTarget {
	var list []hook.TranscriptTarget
	for _, live := range h.supervisor.Running() {
		if live.Has(pluginv1.Capability_CAPABILITY_HOOK_TRANSCRIPT_APPENDED) {
			list = append(list, hook.TranscriptTarget{Name: live.Name, Call: live.TranscriptAppended})
		}
	}
	return list
}

const (
	// menuLook is when a menu that a network refused is offered again, and when the skills are looked at, which are in it.
	menuLook = time.Minute
	menuCall = 30 * time.Second
)

// menus has the networks show the commands that there are, whenever a plugin begins or ceases to run, or a skill is new.
func (h *Host) menus(ctx context.Context) {
	type shown struct {
		live any
		menu []chat.CommandSpec
	}
	known := map[string]shown{}
	for {
		changed := h.supervisor.Changed()
		menu := h.commands.Menu()
		for _, live := range h.supervisor.Running() {
			before := known[live.Name]
			if !live.Has(pluginv1.Capability_CAPABILITY_CHANNEL_COMMANDS) || before.live == any(live) && slices.Equal(before.menu, menu) {
				continue
			}
			call, cancel := context.WithTimeout(ctx, menuCall)
			err := live.SetCommands(call, menu)
			cancel()
			if err != nil && ctx.Err() == nil {
				h.log.Warn("a channel does not show the commands", "plugin", live.Name, "error", err)
				continue
			}
			known[live.Name] = shown{live, menu}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(menuLook):
		}
	}
}
