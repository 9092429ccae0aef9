package delivery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/dedupe"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Post puts items into the outbox, in order, and returns the first one's id; zero: they only edited items that were
// never sent. The same key again posts nothing and returns the id of the first time; the zero key never repeats. Keys
// have one namespace, separate from the events'.
func (s *Store) Post(ctx context.Context, key domain.Key, items ...domain.OutboxItem) (firstID int64, err error) {
	return s.PostFrom(ctx, key, domain.Elsewhere{}, items...)
}

// PostFrom is [Store.Post] for a message to a chat from elsewhere. If another session is to be informed, or received its last
// message from that chat, it gets the text in its history, and a note for its next turn.
func (s *Store) PostFrom(
	ctx context.Context, key domain.Key, from domain.Elsewhere, items ...domain.OutboxItem,
) (firstID int64, err error) {
	if len(items) == 0 {
		return 0, errors.New("post: there is no item")
	}
	if err := Check(items); err != nil {
		return 0, fmt.Errorf("post: %w", err)
	}
	return engine.Do(ctx, s.db, "post", func(t *engine.Tx) (int64, error) {
		posted, _, err := PostOnce(t, key, from, items)
		return posted, err
	})
}

// Posted returns the id of the first item of what was posted under a key; zero: nothing was.
func (s *Store) Posted(ctx context.Context, key domain.Key) (firstID int64, err error) {
	if firstID, err = dedupe.Posted(s.db.View(ctx), key); engine.NoRows(err) != nil {
		return 0, fmt.Errorf("look up a post: %w", err)
	}
	return firstID, nil
}

// Mirror adds a message that was sent to a chat from elsewhere to the chat's session.
func Mirror(t *engine.Tx, from domain.Elsewhere, to chat.Address) error {
	if from.Said.Text == "" {
		return nil
	}
	session := from.To
	if session == "" {
		err := t.Row(`SELECT key FROM sessions WHERE channel = ?1 AND chat = ?2 AND thread = ?3 LIMIT 1`,
			[]any{to.Channel, to.Chat, to.Thread}, &session)
		if err != nil || session == from.Session {
			return engine.NoRows(err)
		}
	}
	from.Said.At = engine.Moment(t.Now)
	if err := sessions.AddNotes(t, session, []domain.Note{{Kind: domain.NoteEvent, At: from.Said.At, Text: from.Note}}); err != nil {
		return err
	}
	return sessions.AppendTranscript(t, session, nil, []chat.TranscriptEntry{from.Said})
}

// Check refuses items that the outbox would never deliver, or that contradict themselves.
func Check(items []domain.OutboxItem) error {
	for _, p := range items {
		switch {
		case p.To.Channel == "":
			return errors.New("an item has no channel")
		case p.Edits != 0 && len(p.Media) > 0 && !p.OrSend:
			return errors.New("files can only be sent, and the item only edits")
		case p.Poll != nil && (p.Changes() || len(p.Media) > 0 || len(p.Buttons) > 0):
			return errors.New("an item with a poll is more than that")
		case p.React != nil && !p.Changes():
			return errors.New("an item reacts to no message")
		case p.Pin != nil && (p.Edits == 0 || p.React != nil || p.HasContent()):
			return errors.New("an item pins no message, or does more than that")
		case p.Edits != 0 && p.Target != "":
			return errors.New("an item changes two messages")
		case p.Edits != 0 && p.OrSend && p.Text == "" && len(p.Media) == 0:
			return errors.New("an item deletes a message and has content to send")
		}
	}
	return nil
}

// Post returns the first item's id, or 0 without items.
func Post(t *engine.Tx, runID int64, items []domain.OutboxItem) (firstID int64, err error) {
	for _, p := range items {
		to, err := current(t, p.To)
		if err != nil {
			return 0, err
		}
		if to != p.To {
			p.To, p.ReplyTo = to, ""
			if p.Target != "" {
				continue // The moved chat's messages have other ids.
			}
		}
		if p.Edits != 0 && p.React == nil && p.Pin == nil {
			gone, err := settle(t, p)
			switch {
			case err != nil:
				return 0, err
			case gone && !p.OrSend:
				continue
			case gone:
				p.Edits = 0
			}
		}
		id, err := enqueue(t, runID, p)
		if err != nil {
			return 0, err
		}
		if firstID == 0 {
			firstID = id
		}
	}
	return firstID, nil
}

// enqueue puts an item at the end of its destination's queue.
func enqueue(t *engine.Tx, runID int64, p domain.OutboxItem) (id int64, err error) {
	rest, err := encodeRest(p)
	if err != nil {
		return 0, err
	}
	err = t.Row(`INSERT INTO outbox (channel, chat, thread, text, reply_to, run_id, created_at, rest, kept, edits)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING id`,
		[]any{p.To.Channel, p.To.Chat, p.To.Thread, p.Text, p.ReplyTo, runID, t.Now, rest, p.Kept, p.Edits}, &id)
	if err != nil {
		return 0, err
	}
	return id, expect(t, p.To)
}

// expect counts a new item of a destination. A destination that is sending is due after that.
func expect(t *engine.Tx, to chat.Address) error {
	t.Announce(DeliveriesReady)
	_, err := t.Exec(`INSERT INTO out_lanes (channel, chat, thread, pending, next_at) VALUES (?1, ?2, ?3, 1, ?4)
		ON CONFLICT (channel, chat, thread) DO UPDATE SET pending = out_lanes.pending + 1,
			next_at = CASE WHEN out_lanes.sending IS NULL THEN COALESCE(out_lanes.next_at, excluded.next_at) END`,
		to.Channel, to.Chat, to.Thread, t.Now)
	return err
}

// Uncertain returns how many items were ever sent again because a send's outcome was unknown.
func (s *Store) Uncertain(ctx context.Context) (count int64, err error) {
	if err := s.db.View(ctx).Row(`SELECT uncertain FROM store`, nil, &count); err != nil {
		return 0, fmt.Errorf("uncertain: %w", err)
	}
	return count, nil
}

// PostOnce posts items from elsewhere, unless the key was used before; the zero key never repeats. It returns the
// first item's id, of the first time.
func PostOnce(t *engine.Tx, key domain.Key, from domain.Elsewhere, items []domain.OutboxItem) (firstID int64, fresh bool, err error) {
	if key != (domain.Key{}) {
		if firstID, err = dedupe.Posted(t, key); !errors.Is(err, sql.ErrNoRows) {
			return firstID, false, err
		}
	}
	if firstID, err = Post(t, 0, items); err != nil {
		return 0, false, err
	}
	if key != (domain.Key{}) {
		if err := dedupe.RecordPost(t, key, firstID); err != nil {
			return 0, false, err
		}
	}
	to, err := current(t, items[0].To)
	if err != nil {
		return 0, false, err
	}
	return firstID, true, Mirror(t, from, to)
}
