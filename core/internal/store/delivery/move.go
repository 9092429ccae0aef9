package delivery

import (
	"context"
	"fmt"
	"sync"

	"github.com/clawhost/clawhost/core/internal/store/dedupe"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxMoves bounds the moved chats of a channel: the latest are kept.
const maxMoves = 1000

// moves are the chats that have moved, by their later ids. They are in memory because every event needs them.
type moves struct {
	mu     sync.RWMutex
	origin map[movedChat]chat.ID
}

// movedChat is a chat of a channel.
type movedChat struct {
	channel string
	id      chat.ID
}

// set replaces all moves.
func (m *moves) set(origin map[movedChat]chat.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.origin = origin
}

// Origin returns the first id of a chat that has moved; its own otherwise.
func (s *Store) Origin(channel string, id chat.ID) chat.ID {
	s.moves.mu.RLock()
	defer s.moves.mu.RUnlock()
	if origin, ok := s.moves.origin[movedChat{channel, id}]; ok {
		return origin
	}
	return id
}

// current returns a chat's current address.
func current(t *engine.Tx, to chat.Address) (chat.Address, error) {
	err := t.Row(`SELECT chat FROM moved_chats WHERE channel = ?1
			AND origin = COALESCE((SELECT origin FROM moved_chats WHERE channel = ?1 AND chat = ?2), ?2)
		ORDER BY id DESC LIMIT 1`, []any{to.Channel, to.Chat}, &to.Chat)
	return to, engine.NoRows(err)
}

// Move records that a chat continues under another id, as an event reports. Items that wait for it, and later ones, are
// sent there as new messages, because the messages have other ids there. The latest 1,000 moves of a channel are kept.
// It does nothing for an event that was accepted before.
func (s *Store) Move(ctx context.Context, channel string, event chat.EventID, from, to chat.ID) (duplicate bool, err error) {
	if err := dedupe.CheckEvent(event, channel, string(to)); err != nil {
		return false, fmt.Errorf("move: %w", err)
	}
	var origin map[movedChat]chat.ID // nil for a duplicate
	err = s.db.Run(ctx, engine.Step{
		Run: func(t *engine.Tx) error {
			origin = nil
			fresh, err := dedupe.RecordEvent(t, channel, event)
			if err != nil || !fresh {
				return err
			}
			if err := move(t, channel, from, to); err != nil {
				return err
			}
			origin, err = moved(t)
			return err
		},
		Committed: func() {
			if origin != nil {
				s.moves.set(origin)
			}
		},
	})
	if err != nil {
		return false, fmt.Errorf("move: %w", err)
	}
	return origin == nil, nil
}

func move(t *engine.Tx, channel string, from, to chat.ID) error {
	origin := from
	err := t.Row(`SELECT origin FROM moved_chats WHERE channel = ?1 AND chat = ?2`, []any{channel, from}, &origin)
	if engine.NoRows(err) != nil {
		return err
	}
	if origin == to {
		return nil // A chat that moves back has its first id again.
	}
	if _, err := t.Exec(`INSERT INTO moved_chats (channel, chat, origin) VALUES (?1, ?2, ?3) ON CONFLICT (channel, chat) DO NOTHING`, channel, to, origin); err != nil {
		return err
	}
	for _, query := range []string{
		// If items wait for both ids, both destinations continue separately.
		`UPDATE out_lanes SET chat = ?3 WHERE channel = ?1 AND chat = ?2
			AND NOT EXISTS (SELECT 1 FROM out_lanes o WHERE o.channel = ?1 AND o.chat = ?3 AND o.thread = out_lanes.thread)`,
		`UPDATE outbox SET chat = ?3, reply_to = '' WHERE channel = ?1 AND chat = ?2
			AND NOT EXISTS (SELECT 1 FROM out_lanes o WHERE o.channel = ?1 AND o.chat = ?2 AND o.thread = outbox.thread)`,
		`UPDATE sessions SET chat = ?3 WHERE channel = ?1 AND chat = ?2`,
		`UPDATE dead_pieces SET chat = ?3, reply_to = '' WHERE channel = ?1 AND chat = ?2`,
	} {
		if _, err := t.Exec(query, channel, from, to); err != nil {
			return err
		}
	}
	if _, err := t.Exec(`DELETE FROM kept_pieces WHERE channel = ?1 AND chat = ?2`, channel, from); err != nil {
		return err
	}
	_, err = t.Exec(`DELETE FROM moved_chats WHERE channel = ?1
		AND id <= (SELECT id FROM moved_chats WHERE channel = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, channel, maxMoves)
	return err
}

// moved returns the first ids of all chats that have moved.
func moved(q engine.Querier) (map[movedChat]chat.ID, error) {
	origin := map[movedChat]chat.ID{}
	err := q.Each(`SELECT channel, chat, origin FROM moved_chats`, nil, func(rows engine.Rows) error {
		var to movedChat
		var first chat.ID
		defer func() { origin[to] = first }()
		return rows.Scan(&to.channel, &to.id, &first)
	})
	return origin, err
}
