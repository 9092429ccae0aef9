package core

import (
	"context"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/sdk/chat"
)

// prompt is what Claude reads as a run begins. What programs read of its messages is awaited; the error is that of ctx.
func (h *Host) prompt(ctx context.Context, run *conversation.Turn, added []string) (string, error) {
	head := run.Message.Message
	if head.Origin == domain.OriginCompact {
		return strings.TrimSpace("/compact " + strings.Join(strings.Fields(head.Text), " ")), nil
	}
	messages, err := h.media.bringer.Bring(ctx, append([]domain.Queued{run.Message}, run.More...)...)
	if err != nil {
		return "", err
	}
	if err := unusable(messages); err != nil {
		return "", err
	}
	read, err := h.media.reader.Read(ctx, messages...)
	if err != nil {
		return "", err
	}
	t := envelope.Turn{Context: added}
	t.Messages, t.Collected = h.messages(messages, read)
	t.Messages[0].Previous = run.PreviousAt
	if !run.Session.ClaudeStarted {
		t.Starter = run.Session.Starter
		t.Untrusted = about(head)
		t.Outgoing = h.outgoing(run)
	}
	for _, n := range run.Notes {
		switch n.Kind {
		case domain.NoteEvent:
			t.Events = append(t.Events, envelope.Event{At: n.At, Text: n.Text})
		case domain.NoteHint:
			t.Hints = append(t.Hints, n.Text)
		case domain.NoteHistory:
			t.History = append(t.History, envelope.Entry{At: n.At, Sender: n.Sender, Text: n.Text})
		case domain.NoteOverflow:
			t.Dropped += n.Count
			t.Overflow = append(t.Overflow, n.Text)
		}
	}
	if summary := h.channelSummary(run); summary != "" {
		t.Events = append(t.Events, envelope.Event{At: run.Message.ReceivedAt, Text: summary})
	}
	return envelope.Compose(t, run.Zone), nil
}

// outgoing makes the folder whose files are sent with the answers of a conversation; "": its chat takes none.
func (h *Host) outgoing(run *conversation.Turn) string {
	if len(run.Limits.MediaOut) == 0 {
		return ""
	}
	folder, err := h.media.outgoing.Open(run.Message.ClaudeSession)
	if err != nil {
		h.log.Warn("there is no folder of outgoing files", "session", run.Session.Key, "error", err)
	}
	return folder
}

// unusable returns a [*turn.Unusable] if messages are nothing but files none of which can be had.
func unusable(messages []domain.Queued) error {
	var files []chat.Media
	text := ""
	for _, q := range messages {
		text += q.Message.Text
		files = append(files, q.Message.Media...)
	}
	if reply, event, missing := envelope.Missing(text, files); missing {
		return &turn.Unusable{Reply: reply, Event: event}
	}
	return nil
}

// messages are what a run answers: one burst, or several that were collected.
func (h *Host) messages(queued []domain.Queued, read map[string]media.Read) (list []envelope.Message, collected bool) {
	for _, q := range queued {
		list = append(list, h.message(q, read))
		collected = collected || q.Burst != queued[0].Burst
	}
	return list, collected
}

// steered is what Claude reads of a message in the midst of a turn.
func (h *Host) steered(ctx context.Context, q domain.Queued) (string, error) {
	messages, err := h.media.bringer.Bring(ctx, q)
	if err != nil {
		return "", err
	}
	read, err := h.media.reader.Read(ctx, messages...)
	if err != nil {
		return "", err
	}
	return envelope.Compose(envelope.Turn{Messages: []envelope.Message{h.message(messages[0], read)}}, h.config.Agent.Timezone), nil
}

// message is a message as Claude reads it, with what programs read of it.
func (h *Host) message(q domain.Queued, read map[string]media.Read) envelope.Message {
	m := q.Message
	e := envelope.Message{
		Host:    m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat,
		Channel: m.Channel, Chat: m.Chat, Sender: m.Sender, SentAt: m.SentAt, Text: m.Text,
		Forwarded: m.Forwarded, ReplyTo: m.ReplyTo, Burst: q.Burst,
	}
	limit := h.config.For(m.Channel).Inbound.MaxAge
	if age := time.Since(m.SentAt); limit > 0 && age > limit {
		e.Late = age
	}
	known := read[q.UUID]
	e.Media = h.attachments(m.Channel, m.Media, known)
	if m.ReplyTo != nil {
		e.Quoted = h.attachments(m.Channel, m.ReplyTo.Media, known)
	}
	e.Pages = known.Pages
	return e
}

// attachments are files as Claude is told of them.
func (h *Host) attachments(channel string, files []chat.Media, known media.Read) (list []envelope.Attachment) {
	for _, file := range files {
		a := h.attachment(channel, file)
		a.Transcript = known.Transcripts[file.Ref]
		list = append(list, a)
	}
	return list
}

// about is what the network tells of a chat that a conversation begins in.
func about(m domain.Message) []string {
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
func (h *Host) channelSummary(run *conversation.Turn) string {
	name, err := session.Parse(run.Session.Key)
	if err != nil || name != (session.Name{}) || run.Session.ClaudeStarted {
		return ""
	}
	return "Channels: " + strings.Join(h.plugins.Channels(), ", ") + "."
}
