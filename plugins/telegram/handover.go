package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/clawhost/clawhost/sdk/album"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxRefused is how many refused chats are remembered.
	maxRefused = 1000
	// maxTogether is how many bytes of files are fetched for one message.
	maxTogether = 50 << 20
	// maxWasted is how many bytes of files are fetched for messages of a chat that the host refuses, until it takes one: no
	// stranger fills its disk.
	maxWasted = maxFile
)

// handOver gives an update, or those of an album, to the host and raises the offset. Updates that say nothing to the host
// are skipped.
func (r *receiver) handOver(ctx context.Context, updates []received) error {
	parts, err := r.read(ctx, updates)
	if err != nil {
		return err
	}
	if len(parts) > 0 {
		event := album.Join(parts)
		if err := r.fetchQuoted(ctx, updates, &event); err != nil {
			return err
		}
		verdict, err := r.in.Submit(ctx, event)
		if err != nil {
			return err
		}
		r.submitted(event, verdict)
	}
	for _, u := range updates {
		r.offset = max(r.offset, u.UpdateID+1)
		if m := u.Message; u.unreadable == nil && m != nil && m.Chat != nil && m.MigrateToChatID != 0 {
			r.api.chats.move(strconv.FormatInt(m.Chat.ID, 10), strconv.FormatInt(m.MigrateToChatID, 10))
		}
		if u.CallbackQuery != nil {
			r.answer(ctx, u.CallbackQuery.ID)
		}
	}
	return nil
}

// read returns the event of each update that is one, with its file. Its error is ctx's.
func (r *receiver) read(ctx context.Context, updates []received) ([]chat.Event, error) {
	var events []chat.Event
	stored := int64(0)
	for _, u := range updates {
		if u.unreadable != nil {
			r.log.Error("skipping an update that cannot be read", "update_id", u.UpdateID, "error", r.api.redactor.clean(u.unreadable.Error()))
			continue
		}
		event, ok := (inbound{self: r.self}).event(u.update)
		if !ok {
			continue
		}
		if err := r.fetch(ctx, u.update, &event, r.allowance(event.Chat.ID)-stored); err != nil {
			return nil, err
		}
		stored += fetched(event)
		events = append(events, event)
	}
	return events, nil
}

// allowance is how many bytes of files may be fetched for the next message of a chat.
func (r *receiver) allowance(id chat.ID) int64 {
	if wasted := r.refused[id]; wasted > 0 {
		return maxWasted - wasted
	}
	return maxTogether
}

// fetch has the host store the file of a message, if it has one of at most so many bytes. Its error is ctx's.
func (r *receiver) fetch(ctx context.Context, u update, event *chat.Event, most int64) error {
	message, ok := event.Body.(chat.Message)
	if !ok || len(message.Media) == 0 {
		return nil
	}
	file, _ := attachmentOf(u.Message)
	if file.id == "" {
		return nil
	}
	message.Media = []chat.Media{r.fetchOne(ctx, event.Chat.ID, file, most)}
	event.Body = message
	return ctx.Err()
}

// fetchQuoted has the host store the file of the message that a message answers, within what its own files leave. It does so
// for what is said to the bot alone, or each answer of a group to a picture would fetch that. Its error is ctx's.
func (r *receiver) fetchQuoted(ctx context.Context, updates []received, event *chat.Event) error {
	message, ok := event.Body.(chat.Message)
	if !ok || message.ReplyTo == nil || len(message.ReplyTo.Media) == 0 {
		return nil
	}
	answered := slices.IndexFunc(updates, func(u received) bool {
		return u.unreadable == nil && u.Message != nil && u.Message.ReplyToMessage != nil &&
			messageID(u.Message.ReplyToMessage.MessageID) == message.ReplyTo.ID
	})
	if answered < 0 {
		return nil
	}
	file, _ := attachmentOf(updates[answered].Message.ReplyToMessage)
	quote := *message.ReplyTo
	switch {
	case quote.IsSelf:
		file.media.Problem = "was sent by you"
	case event.Chat.Kind != chat.Direct && !message.MentionsSelf:
		file.media.Problem = "is fetched only for a message that mentions you"
	default:
		file.media = r.fetchOne(ctx, event.Chat.ID, file, r.allowance(event.Chat.ID)-fetched(*event))
	}
	quote.Media = []chat.Media{file.media}
	message.ReplyTo = &quote
	event.Body = message
	return ctx.Err()
}

// fetchOne has the host store a file of at most so many bytes.
func (r *receiver) fetchOne(ctx context.Context, from chat.ID, file attachment, most int64) chat.Media {
	if file.media.Size <= most || file.media.Size > maxFile {
		return r.files.fetch(ctx, file)
	}
	file.media.Problem = fmt.Sprintf("is one of several files with more than the %d MB that are fetched together", maxTogether>>20)
	if r.refused[from] > 0 {
		file.media.Problem = "was not fetched, for what came from this chat before was refused"
	}
	r.log.Debug("a file is not fetched: it "+file.media.Problem, "chat", from)
	return file.media
}

// submitted logs what became of an event. The first refused message of a chat is for the operator, who may want to allow the
// chat and finds its id here.
func (r *receiver) submitted(event chat.Event, verdict chat.Verdict) {
	r.log.Debug("event submitted", "event", event.ID, "verdict", verdict.String())
	switch body := event.Body.(type) {
	case chat.MemberChange:
		r.log.Info(whereabouts(body, event.Chat.Kind), "chat", event.Chat.ID, "kind", event.Chat.Kind.String(), "by", event.Sender.ID)
		return
	case chat.Message:
	default:
		return // The host may have no use for it in any chat.
	}
	wasted, known := r.refused[event.Chat.ID]
	switch {
	case verdict == chat.Rejected:
		if !known && len(r.refused) >= maxRefused {
			clear(r.refused)
		}
		r.refused[event.Chat.ID] = wasted + fetched(event)
		if !known {
			r.log.Info("the host refused a message; the chat is perhaps not allowed", "event", event.ID, "chat", event.Chat.ID, "kind", event.Chat.Kind.String())
		}
	case verdict == chat.Accepted && known:
		r.refused[event.Chat.ID] = 0
	}
}

// whereabouts says where the bot is now.
func whereabouts(change chat.MemberChange, kind chat.Kind) string {
	switch {
	case kind == chat.Direct && change.Joined:
		return "somebody takes the bot's messages again"
	case kind == chat.Direct:
		return "somebody has blocked the bot; nothing reaches them"
	case change.Joined:
		return "the bot was added to a chat; it answers there if access allows the chat"
	default:
		return "the bot was removed from a chat; nothing reaches it"
	}
}

// fetched is how many bytes the host has stored for an event.
func fetched(event chat.Event) (bytes int64) {
	message, _ := event.Body.(chat.Message)
	files := message.Media
	if message.ReplyTo != nil {
		files = slices.Concat(files, message.ReplyTo.Media)
	}
	for _, m := range files {
		if m.Ref != "" {
			bytes += m.Size
		}
	}
	return bytes
}
