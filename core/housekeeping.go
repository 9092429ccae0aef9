package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/heartbeat"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// compactionReserve is how many tokens before the end of its window the CLI compacts a conversation: as was measured with
// 2.1.197, 33,000 whatever the window.
const compactionReserve = 33_000

// next is what must follow a turn before all that waits: a memory flush, once in each cycle of compaction, when the next
// turn may be the one in which the conversation is compacted. Only an owner's direct chat may write to the memory.
func (h *Host) next(run *store.Run, r agent.Result) *store.Inbound {
	f, m := h.config.MemoryFlush, run.Message.Message
	compactions := run.Session.Compactions + int64(r.Compactions)
	switch {
	case !f.Enabled, r.ContextWindow == 0, r.ContextTokens < r.ContextWindow-compactionReserve-f.Margin:
		return nil
	case m.Chat.Kind != chat.Direct, !h.owned(m), m.Origin == store.OriginFlush, m.Origin == store.OriginCompact:
		return nil
	case run.Session.Flushed == compactions+1:
		return nil
	}
	flush := store.Message{
		Channel: m.Channel, Chat: m.Chat, Thread: m.Thread, Sender: chat.Sender{ID: m.Sender.ID, IsBot: true}, Authority: m.Authority,
		SentAt: run.Message.ReceivedAt, Text: f.Prompt, Origin: store.OriginFlush,
	}
	return &store.Inbound{
		EventID: chat.EventID(fmt.Sprintf("flush:%d", run.ID)), Session: run.Session.Key, Lane: store.TurnLane, Message: flush,
	}
}

// heartbeatFile is the agent's list of what it is to look after.
const heartbeatFile = "HEARTBEAT.md"

// heartbeats returns the host's heartbeat, or nil where it has none.
func (h *Host) heartbeats(messages *inbox.Inbox) *heartbeat.Heartbeat {
	c := h.config.Heartbeat
	if c.Every == 0 {
		return nil
	}
	to, err := h.heartbeatTarget(c.Target)
	if err != nil {
		h.log.Error("there will be no heartbeat", "error", err)
		return nil
	}
	direct := chat.Chat{ID: to.Chat, Kind: chat.Direct}
	return heartbeat.New(heartbeat.Options{
		Every: c.Every, From: int(max(c.From, 0)), To: int(max(c.To, 0)), Zone: h.config.Agent.Timezone,
		Idle: func(ctx context.Context) (string, error) {
			return h.nothingToWatch(ctx, messages.Session(to.Channel, direct, ""))
		},
		Beat: func(ctx context.Context, id chat.EventID) error {
			_, err := messages.Turn(ctx, id, store.Message{
				Channel: to.Channel, Chat: direct, Sender: chat.Sender{ID: chat.UserID(to.Chat), IsBot: true},
				Text: c.Prompt, Origin: store.OriginHeartbeat,
			})
			return err
		},
	}, h.log.Named("heartbeat"))
}

// heartbeatTarget is the direct chat that a heartbeat speaks in.
func (h *Host) heartbeatTarget(target string) (chat.Address, error) {
	if target == "owner" {
		if len(h.config.Access.Owners) == 0 {
			return chat.Address{}, errors.New("heartbeat.target is the owner, and access.owners names none")
		}
		target = h.config.Access.Owners[0]
	}
	channel, user, _ := strings.Cut(target, ":")
	if p := h.config.Plugin(channel); p == nil || !p.Enabled {
		return chat.Address{}, fmt.Errorf("it would be told to %s, and no plugin %q is enabled", target, channel)
	}
	return chat.Address{Channel: channel, Chat: chat.ID(user)}, nil
}

// nothingToWatch tells why a heartbeat has nothing to do.
func (h *Host) nothingToWatch(ctx context.Context, session string) (string, error) {
	if _, running := h.dispatcher.Running(session); running {
		return "a turn runs", nil
	}
	if waiting, err := h.waiting(ctx, session); err != nil || waiting > 0 {
		return "messages wait", err
	}
	text, err := agent.ReadFile(h.config.Agent.Workspace, heartbeatFile)
	if errors.Is(err, os.ErrNotExist) {
		return "there is no " + filepath.Join(h.config.Agent.Workspace, heartbeatFile), nil
	}
	if err != nil || !agent.HeartbeatEmpty(text) {
		return "", err
	}
	return heartbeatFile + " has nothing to do in it", nil
}
