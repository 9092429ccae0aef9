package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/dedupe"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxMoves bounds the moved chats of a channel: the latest are kept.
const maxMoves = 1000

// chatsMoved is the topic of chats that have moved.
const chatsMoved engine.Topic = "chats moved"

// readAgain is the wait after the moves could not be read.
const readAgain = time.Second

// moves are the chats that have moved, by their later ids. They are in memory because every event needs them.
type moves struct {
	mu       sync.RWMutex
	snapshot snapshot
}

// snapshot is what a look at the database has found.
type snapshot struct {
	origin map[movedChat]chat.ID // the first ids
	last   int64                 // the number of the latest move; those of a channel are removed with later ones only
}

// movedChat is a chat of a channel.
type movedChat struct {
	channel string
	id      chat.ID
}

// set replaces all moves, unless they are older than those that are known: who has read them may be late.
func (m *moves) set(read snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if read.last >= m.snapshot.last {
		m.snapshot = read
	}
}

// Origin returns the first id of a chat that has moved; its own otherwise.
func (s *Store) Origin(channel string, id chat.ID) chat.ID {
	s.moves.mu.RLock()
	defer s.moves.mu.RUnlock()
	if origin, ok := s.moves.snapshot.origin[movedChat{channel, id}]; ok {
		return origin
	}
	return id
}

// FollowMoves lets [Store.Origin] know the moves that other hosts record, until ctx ends. Those of this process it knows already.
func (s *Store) FollowMoves(ctx context.Context) {
	changed, unwatch := s.db.Watch(chatsMoved)
	defer unwatch()
	for {
		var again <-chan time.Time
		if read, err := moved(s.db.View(ctx)); err == nil {
			s.moves.set(read)
		} else {
			again = time.After(readAgain) // what else uses the database says that it fails
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
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
	var now *snapshot // nil for a duplicate
	err = s.db.Run(ctx, engine.Step{
		Run: func(t *engine.Tx) error {
			now = nil
			fresh, err := dedupe.RecordEvent(t, channel, event)
			if err != nil || !fresh {
				return err
			}
			t.Announce(chatsMoved)
			if err := move(t, channel, from, to); err != nil {
				return err
			}
			read, err := moved(t)
			now = &read
			return err
		},
		Committed: func() {
			if now != nil {
				s.moves.set(*now)
			}
		},
	})
	if err != nil {
		return false, fmt.Errorf("move: %w", err)
	}
	return now == nil, nil
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

// moved returns the chats that have moved.
func moved(q engine.Querier) (snapshot, error) {
	read := snapshot{origin: map[movedChat]chat.ID{}}
	err := q.Each(`SELECT id, channel, chat, origin FROM moved_chats`, nil, func(rows engine.Rows) error {
		var id int64
		var to movedChat
		var first chat.ID
		err := rows.Scan(&id, &to.channel, &to.id, &first)
		read.origin[to], read.last = first, max(read.last, id)
		return err
	})
	return read, err
}
