package core

import (
	"context"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// prompt is what Claude reads as a run begins.
func (h *Host) prompt(run *store.Run, added []string) string {
	head := run.Message.Message
	if head.Origin == store.OriginCompact {
		return strings.TrimSpace("/compact " + strings.Join(strings.Fields(head.Text), " "))
	}
	t := envelope.Turn{Context: added}
	t.Messages, t.Collected = h.messages(run)
	if !run.Session.ClaudeStarted {
		t.Starter = head.Starter
		t.Untrusted = about(head)
	}
	for _, n := range run.Notes {
		switch n.Kind {
		case store.NoteEvent:
			t.Events = append(t.Events, envelope.Event{At: n.At, Text: n.Text})
		case store.NoteHint:
			t.Hints = append(t.Hints, n.Text)
		case store.NoteHistory:
			t.History = append(t.History, envelope.Entry{At: n.At, Sender: n.Sender, Text: n.Text})
		case store.NoteOverflow:
			t.Dropped += n.Count
			t.Overflow = append(t.Overflow, n.Text)
		}
	}
	if summary := h.channelSummary(run); summary != "" {
		t.Events = append(t.Events, envelope.Event{At: run.Message.ReceivedAt, Text: summary})
	}
	return envelope.Compose(t, h.config.Agent.Timezone)
}

// messages are what a run answers: one burst, or several that were collected.
func (h *Host) messages(run *store.Run) (list []envelope.Message, collected bool) {
	list = []envelope.Message{h.message(run.Message)}
	list[0].Previous = run.PreviousAt
	for _, q := range run.More {
		list = append(list, h.message(q))
		collected = collected || q.Burst != run.Message.Burst
	}
	return list, collected
}

// steered is what Claude reads of a message in the midst of a turn.
func (h *Host) steered(q store.Queued) string {
	return envelope.Compose(envelope.Turn{Messages: []envelope.Message{h.message(q)}}, h.config.Agent.Timezone)
}

// message is a message as Claude reads it.
func (h *Host) message(q store.Queued) envelope.Message {
	m := q.Message
	e := envelope.Message{
		Host:    m.Origin == store.OriginFlush || m.Origin == store.OriginHeartbeat,
		Channel: m.Channel, Chat: m.Chat, Sender: m.Sender, SentAt: m.SentAt, Text: m.Text,
		Forwarded: m.Forwarded, ReplyTo: m.ReplyTo, Burst: q.Burst,
	}
	limit := h.config.For(m.Channel).Inbound.MaxAge
	if age := time.Since(m.SentAt); limit > 0 && age > limit {
		e.Late = age
	}
	for _, media := range m.Media {
		e.Media = append(e.Media, h.attachment(m.Channel, media))
	}
	return e
}

// about is what the network tells of a chat that a conversation begins in.
func about(m store.Message) []string {
	if m.Chat.Kind == chat.Direct {
		return nil
	}
	facts := []string{"chat id: " + string(m.Chat.ID)}
	if m.Chat.Title != "" {
		facts = append(facts, "chat title: "+m.Chat.Title)
	}
	if m.Thread != "" {
		facts = append(facts, "thread id: "+string(m.Thread))
	}
	return facts
}

// channelSummary tells a new conversation that all direct chats share how the channels are; "" in any other.
func (h *Host) channelSummary(run *store.Run) string {
	name, err := session.Parse(run.Session.Key)
	if err != nil || name != (session.Name{}) || run.Session.ClaudeStarted {
		return ""
	}
	return "Channels: " + strings.Join(h.channelLines(), ", ") + "."
}

// waiting counts the messages that wait for a session's turn.
func (h *Host) waiting(ctx context.Context, session string) (int, error) {
	return h.store.Waiting(ctx, session, store.TurnLane)
}
