package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/heartbeat"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/sdk/chat"
)

// compactionReserve is how many tokens before the end of its window the CLI compacts a conversation: as was measured with
// 2.1.197, 33,000 whatever the window.
const compactionReserve = 33_000

// next is what must follow a turn before all that waits: a memory flush, once in each cycle of compaction, when the next
// turn may be the one in which the conversation is compacted. Only an owner's direct chat may write to the memory.
func (h *Host) next(run *conversation.Turn, r agent.Result) *domain.Inbound {
	f, m := h.config.MemoryFlush, run.Message.Message
	compactions := run.Session.Compactions + int64(r.Compactions)
	switch {
	case !f.Enabled, r.ContextWindow == 0, r.ContextTokens < r.ContextWindow-compactionReserve-f.Margin:
		return nil
	case m.Chat.Kind != chat.Direct, !run.Owned, m.Origin == domain.OriginFlush, m.Origin == domain.OriginCompact:
		return nil
	case run.Session.Flushed == compactions+1:
		return nil
	}
	flush := domain.Message{
		Channel: m.Channel, Chat: m.Chat, Thread: m.Thread, Sender: chat.Sender{ID: m.Sender.ID, Aliases: m.Sender.Aliases, IsBot: true}, Authority: m.Authority,
		SentAt: run.Message.ReceivedAt, Text: f.Prompt, Origin: domain.OriginFlush,
	}
	return &domain.Inbound{
		EventID: chat.EventID(fmt.Sprintf("flush:%d", run.ID)), Session: run.Session.Key, Lane: domain.TurnLane, Message: flush,
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
	channel, user, err := h.heartbeatTarget(c.Target)
	if err != nil {
		h.log.Error("there will be no heartbeat", "error", err)
		return nil
	}
	return heartbeat.New(heartbeat.Options{
		Every: c.Every, From: int(max(c.From, 0)), To: int(max(c.To, 0)), Zone: h.config.Agent.Timezone,
		Idle: func(ctx context.Context) (string, error) {
			if _, known := h.directChat(ctx, channel, user); !known {
				return fmt.Sprintf("%s:%s has not written to the agent yet, so that nobody knows in which chat", channel, user), nil
			}
			key, err := messages.Session(ctx, channel, chat.Chat{ID: chat.ID(user), Kind: chat.Direct}, "")
			if err != nil {
				return "", err
			}
			return h.nothingToWatch(ctx, key)
		},
		Beat: func(ctx context.Context, id chat.EventID) error {
			to, known := h.directChat(ctx, channel, user)
			if !known {
				return fmt.Errorf("the chat of %s:%s is not known any more", channel, user)
			}
			_, err := messages.Turn(ctx, id, domain.Message{
				Channel: to.Channel, Chat: chat.Chat{ID: to.Chat, Kind: chat.Direct},
				Sender: chat.Sender{IsBot: true}, Text: c.Prompt, Origin: domain.OriginHeartbeat,
			})
			return err
		},
	}, h.log.Named("heartbeat"))
}

// heartbeatTarget is the person in whose direct chat a heartbeat speaks.
func (h *Host) heartbeatTarget(target string) (channel string, user chat.UserID, err error) {
	if target == "owner" {
		if len(h.config.Access.Owners) == 0 {
			return "", "", errors.New("heartbeat.target is the owner, and access.owners names none")
		}
		target = h.config.Access.Owners[0]
	}
	channel, id, _ := strings.Cut(target, ":")
	if p := h.config.Plugin(channel); p == nil || !p.Enabled {
		return "", "", fmt.Errorf("it would be told to %s, and no plugin %q is enabled", target, channel)
	}
	return channel, chat.UserID(id), nil
}

// directChat is the direct chat that somebody wrote in last; false: they have not, as far as is known.
func (h *Host) directChat(ctx context.Context, channel string, user chat.UserID) (chat.Address, bool) {
	found, err := h.store.DirectChat(ctx, channel, string(user))
	return chat.Address{Channel: channel, Chat: found.Chat}, err == nil
}

// likelyChat is the direct chat that somebody wrote in last or, as long as that is not known, their own id, by which channels
// find it.
func (h *Host) likelyChat(ctx context.Context, channel string, user chat.UserID) chat.Address {
	if to, known := h.directChat(ctx, channel, user); known {
		return to
	}
	return chat.Address{Channel: channel, Chat: chat.ID(user)}
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
