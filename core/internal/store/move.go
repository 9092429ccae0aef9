package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxMoves bounds the moved chats of a channel: the latest are kept.
const maxMoves = 1000

// moves are the chats that continue under another id. They are in memory because every message needs them.
type moves struct {
	mu      sync.RWMutex
	origin  map[movedChat]chat.ID // by later id
	current map[movedChat]chat.ID // by earlier id
}

// movedChat is a chat of a channel.
type movedChat struct {
	channel string
	id      chat.ID
}

// move is a row: a chat with an id other than its first.
type move struct {
	movedChat
	origin chat.ID
}

// set replaces all moves, ordered by time.
func (m *moves) set(list []move) {
	origin, current := map[movedChat]chat.ID{}, map[movedChat]chat.ID{}
	for _, to := range list {
		origin[to.movedChat] = to.origin
	}
	for _, to := range list {
		current[movedChat{to.channel, to.origin}] = to.id
	}
	for at, first := range origin {
		if now := current[movedChat{at.channel, first}]; now != at.id {
			current[at] = now
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.origin, m.current = origin, current
}

// now returns a chat's current address.
func (m *moves) now(to chat.Address) chat.Address {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if id, ok := m.current[movedChat{to.Channel, to.Chat}]; ok {
		to.Chat = id
	}
	return to
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

// Move records that a chat continues under another id, as an event reports. Items that wait for it, and later ones, are
// sent there as new messages, because the messages have other ids there. The latest 1,000 moves of a channel are kept.
// It does nothing for an event that was accepted before.
func (s *Store) Move(ctx context.Context, channel string, event chat.EventID, from, to chat.ID) (duplicate bool, err error) {
	if err := checkEvent(event, channel, string(to)); err != nil {
		return false, fmt.Errorf("move: %w", err)
	}
	var all []move
	op := &operation{done: make(chan error, 1)}
	op.run = func(t *tx) error {
		fresh, err := t.unseen(channel, event)
		if duplicate = !fresh; err != nil || duplicate {
			return err
		}
		if err := t.move(channel, from, to); err != nil {
			return err
		}
		all, err = t.moved()
		return err
	}
	op.committed = func() {
		if !duplicate {
			s.moves.set(all)
		}
	}
	if err := s.writer.submit(ctx, op); err != nil {
		return false, fmt.Errorf("move: %w", err)
	}
	return duplicate, nil
}

func (t *tx) move(channel string, from, to chat.ID) error {
	origin := from
	err := t.row(`SELECT origin FROM moved_chats WHERE channel = ?1 AND chat = ?2`, []any{channel, from}, &origin)
	if noRows(err) != nil {
		return err
	}
	if origin == to {
		return nil // A chat that moves back has its first id again.
	}
	if _, err := t.exec(`INSERT INTO moved_chats (channel, chat, origin) VALUES (?1, ?2, ?3) ON CONFLICT (channel, chat) DO NOTHING`, channel, to, origin); err != nil {
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
		if _, err := t.exec(query, channel, from, to); err != nil {
			return err
		}
	}
	if _, err := t.exec(`DELETE FROM kept_pieces WHERE channel = ?1 AND chat = ?2`, channel, from); err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM moved_chats WHERE channel = ?1
		AND id <= (SELECT id FROM moved_chats WHERE channel = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, channel, maxMoves)
	return err
}

func (v view) moved() (all []move, err error) {
	err = v.each(`SELECT channel, chat, origin FROM moved_chats ORDER BY id`, nil, func(rows rows) error {
		var m move
		defer func() { all = append(all, m) }()
		return rows.Scan(&m.channel, &m.id, &m.origin)
	})
	return all, err
}
