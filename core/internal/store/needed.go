package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// NeededMedia returns the files, by instance, of messages that wait or are being answered and of items that are to be
// sent. It reads all of them, which is only meant for the rare times at which files are deleted.
func (s *Store) NeededMedia(ctx context.Context) (map[string][]chat.Media, error) {
	return neededMedia(s.db.View(ctx))
}

func neededMedia(from engine.Querier) (map[string][]chat.Media, error) {
	needed := map[string][]chat.Media{}
	err := from.Each(`SELECT message FROM inbox WHERE files = 1`, nil, func(rows engine.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var m domain.Message
		if json.Unmarshal([]byte(text), &m) != nil {
			return nil // An unreadable message must not prevent the deletion of all files.
		}
		needed[m.Channel] = append(needed[m.Channel], m.Media...)
		if m.ReplyTo != nil {
			needed[m.Channel] = append(needed[m.Channel], m.ReplyTo.Media...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("needed media: %w", err)
	}
	err = from.Each(`SELECT channel, rest FROM outbox WHERE rest != ''`, nil, func(rows engine.Rows) error {
		var channel, rest string
		if err := rows.Scan(&channel, &rest); err != nil {
			return err
		}
		var p domain.OutboxItem
		delivery.DecodeRest(&p, rest)
		needed[channel] = append(needed[channel], p.Media...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("needed media: %w", err)
	}
	return needed, nil
}
