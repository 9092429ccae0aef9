package sessions

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// DirectChat finds a direct chat by its id, or the one in which the person with this id wrote last. The error is
// [domain.ErrNotFound] if no message was written in it.
func (s *Store) DirectChat(ctx context.Context, channel, id string) (domain.DirectChat, error) {
	var found domain.DirectChat
	var ids string
	err := s.db.View(ctx).Row(`SELECT chat, ids FROM direct_chats WHERE channel = ?1 AND chat = ?2
		UNION ALL SELECT chat, ids FROM direct_chats WHERE channel = ?1 AND user_id = ?2 LIMIT 1`, []any{channel, id}, &found.Chat, &ids)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.DirectChat{}, domain.ErrNotFound
	}
	if err != nil {
		return domain.DirectChat{}, fmt.Errorf("direct chat: %w", err)
	}
	found.Person = DecodePeer(ids)
	return found, nil
}

// SetDirectChat records the person of a direct chat, for all of the person's ids.
func SetDirectChat(t *engine.Tx, m domain.Message, peer string) error {
	if peer == "" {
		return nil
	}
	for _, id := range m.Sender.IDs() {
		_, err := t.Exec(`INSERT INTO direct_chats (channel, user_id, chat, ids) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (channel, user_id) DO UPDATE SET chat = excluded.chat, ids = excluded.ids`, m.Channel, id, m.Chat.ID, peer)
		if err != nil {
			return err
		}
	}
	return nil
}

// PeerOf returns the person of the message's direct chat: a JSON array of their ids. It is empty for a group.
func PeerOf(m domain.Message) string {
	if m.Chat.Kind != chat.Direct || m.Sender.ID == "" {
		return ""
	}
	ids, err := json.Marshal(m.Sender.IDs())
	if err != nil {
		return "" // cannot happen: strings always encode
	}
	return string(ids)
}

// DecodePeer returns the ids of the person whom [PeerOf] has encoded; of what it cannot read, none.
func DecodePeer(encoded string) (ids []chat.UserID) {
	if encoded == "" || json.Unmarshal([]byte(encoded), &ids) != nil {
		return nil
	}
	return ids
}
