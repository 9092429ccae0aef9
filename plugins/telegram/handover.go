package main

import (
	"context"
	"slices"
	"strconv"

	"github.com/clawhost/clawhost/sdk/album"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/fetch"
)

// maxTogether is how many bytes of files are fetched for one message.
const maxTogether = 50 << 20

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
		if err := r.fetch(ctx, u.update, &event, stored); err != nil {
			return nil, err
		}
		if message, ok := event.Body.(chat.Message); ok {
			stored += fetch.Stored(message)
		}
		events = append(events, event)
	}
	return events, nil
}

// fetch has the host store the file of a message, if it has one, beside so many bytes that are stored of the same album. Its
// error is ctx's.
func (r *receiver) fetch(ctx context.Context, u update, event *chat.Event, stored int64) error {
	message, ok := event.Body.(chat.Message)
	if !ok || len(message.Media) == 0 {
		return nil
	}
	file, _ := attachmentOf(u.Message)
	if file.id == "" {
		return nil
	}
	message.Media = []chat.Media{r.fetchOne(ctx, event.Chat.ID, file, stored)}
	event.Body = message
	return ctx.Err()
}

// fetchQuoted has the host store the file of the message that a message answers, within what its own files leave. Its error is
// ctx's.
func (r *receiver) fetchQuoted(ctx context.Context, updates []received, event *chat.Event) error {
	message, ok := event.Body.(chat.Message)
	if !ok || message.ReplyTo == nil || len(message.ReplyTo.Media) == 0 {
		return nil
	}
	answering := slices.IndexFunc(updates, func(u received) bool { return u.unreadable == nil && u.answered() != nil })
	if answering < 0 {
		return nil
	}
	file, _ := attachmentOf(updates[answering].answered())
	if file.media.Problem = fetch.Quoted(event.Chat.Kind, message); file.media.Problem == "" {
		file.media = r.fetchOne(ctx, event.Chat.ID, file, fetch.Stored(message))
	}
	quote := *message.ReplyTo
	quote.Media = []chat.Media{file.media}
	message.ReplyTo = &quote
	event.Body = message
	return ctx.Err()
}

// fetchOne has the host store a file beside so many bytes that are stored of the same message.
func (r *receiver) fetchOne(ctx context.Context, from chat.ID, file attachment, stored int64) chat.Media {
	problem := r.rule.Room(from, stored).Problem(file.media.Size)
	if problem == "" || file.media.Size > maxFile {
		return r.files.fetch(ctx, file)
	}
	file.media.Problem = problem
	r.log.Debug("a file is not fetched: it "+problem, "chat", from)
	return file.media
}

// submitted logs what became of an event.
func (r *receiver) submitted(event chat.Event, verdict chat.Verdict) {
	r.log.Debug("event submitted", "event", event.ID, "verdict", verdict.String())
	if change, ok := event.Body.(chat.MemberChange); ok {
		r.log.Info(whereabouts(change, event.Chat.Kind), "chat", event.Chat.ID, "kind", event.Chat.Kind.String(), "by", event.Sender.ID)
	}
	r.rule.Note(r.log, event, verdict)
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
