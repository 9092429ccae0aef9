package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits for stored conversations; the oldest are removed first.
const (
	maxEntries   = 50_000
	maxExchange  = 8         // entries of one exchange
	maxEntryRead = 128 << 10 // bytes of an entry that are read
	maxEntrySize = 32 << 10  // bytes of an entry that are stored
)

// transcripts indexes the conversations of sessions.
type transcripts struct {
	index *index
	limit int // maximum stored entries
}

// append indexes entries of a session. Existing entries are left unchanged.
func (t *transcripts) append(ctx context.Context, session string, entries []chat.TranscriptEntry) error {
	all := make([]sdk.SessionEntry, 0, len(entries))
	for _, e := range entries {
		all = append(all, sdk.SessionEntry{Session: session, Entry: e})
	}
	return t.add(ctx, all, func(*sql.Tx) error { return nil })
}

// add indexes entries of sessions, and does something else in the same transaction.
func (t *transcripts) add(ctx context.Context, entries []sdk.SessionEntry, also func(*sql.Tx) error) error {
	var changes []swap
	err := t.index.change(ctx, func(tx *sql.Tx) error {
		changed := map[origin]bool{}
		for _, e := range entries {
			exchange, added, err := addEntry(ctx, tx, e.Session, e.Entry)
			if err != nil {
				return err
			}
			if added {
				changed[origin{session: e.Session, exchange: exchange}] = true
			}
		}
		for o := range changed {
			change, err := renew(ctx, tx, o.session, o.exchange)
			if err != nil {
				return err
			}
			changes = append(changes, change)
		}
		forgotten, err := t.trim(ctx, tx)
		changes = append(changes, forgotten...)
		return errors.Join(err, also(tx))
	})
	if err != nil {
		return fmt.Errorf("index a conversation: %w", err)
	}
	t.index.count(changes...)
	return nil
}

// addEntry stores an entry, redacted, in its exchange.
func addEntry(ctx context.Context, tx *sql.Tx, session string, e chat.TranscriptEntry) (exchange int64, added bool, err error) {
	if e.Role != chat.User && e.Role != chat.Assistant {
		return 0, false, nil // notices of the host are not part of the conversation
	}
	text := redacted(e.Text[:runeStart(e.Text, maxEntryRead)])
	text = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""))
	if text == "" {
		return 0, false, nil
	}
	exchange = e.ID
	if e.Role == chat.Assistant {
		if exchange, err = exchangeOf(ctx, tx, session, e.ID); err != nil {
			return 0, false, err
		}
	}
	result, err := tx.ExecContext(ctx,
		"INSERT INTO entries (session, id, exchange, role, at, text) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		session, e.ID, exchange, e.Role, e.At.UnixMilli(), shorten(text, maxEntrySize))
	if err != nil {
		return 0, false, err
	}
	n, err := result.RowsAffected()
	return exchange, n > 0, err
}

// exchangeOf returns the exchange that an answer continues: that of the previous entry, unless it is full.
func exchangeOf(ctx context.Context, tx *sql.Tx, session string, answer int64) (int64, error) {
	var exchange int64
	err := tx.QueryRowContext(ctx, "SELECT exchange FROM entries WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1",
		session, answer).Scan(&exchange)
	if errors.Is(err, sql.ErrNoRows) {
		return answer, nil
	}
	if err != nil {
		return 0, err
	}
	var entries int
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM entries WHERE session = ? AND exchange = ? AND id < ?",
		session, exchange, answer).Scan(&entries)
	if entries >= maxExchange {
		exchange = answer
	}
	return exchange, err
}

// renew rebuilds the passages of an exchange from its entries.
func renew(ctx context.Context, tx *sql.Tx, session string, exchange int64) (swap, error) {
	rows, err := tx.QueryContext(ctx, "SELECT role, at, text FROM entries WHERE session = ? AND exchange = ? ORDER BY id",
		session, exchange)
	if err != nil {
		return swap{}, err
	}
	defer rows.Close()
	var at time.Time
	var said strings.Builder
	var question string
	for rows.Next() {
		var role chat.Role
		var milliseconds int64
		var text string
		if err := rows.Scan(&role, &milliseconds, &text); err != nil {
			return swap{}, err
		}
		if said.Len() == 0 {
			at = time.UnixMilli(milliseconds)
		}
		if role == chat.User && question == "" {
			question = shorten(oneLine(text), maxHeading)
		}
		fmt.Fprintf(&said, "%s: %s\n", role, oneLine(text))
	}
	if err := rows.Err(); err != nil {
		return swap{}, err
	}
	var passages []passage
	for piece := range pieces(said.String()) {
		p := passage{body: piece}
		if len(passages) > 0 {
			p.heading = question // the first part begins with it
		}
		passages = append(passages, p)
	}
	return replace(ctx, tx, origin{session: session, exchange: exchange}, at, passages)
}

// trim deletes the oldest exchanges beyond the limit.
func (t *transcripts) trim(ctx context.Context, tx *sql.Tx) ([]swap, error) {
	var count int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM entries").Scan(&count); err != nil || count <= t.limit {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx,
		"SELECT DISTINCT session, exchange FROM (SELECT session, exchange FROM entries ORDER BY at, session, id LIMIT ?)", count-t.limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var old []origin
	for rows.Next() {
		var o origin
		if err := rows.Scan(&o.session, &o.exchange); err != nil {
			return nil, err
		}
		old = append(old, o)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	var changes []swap
	for _, o := range old {
		removed, err := remove(ctx, tx, o)
		if err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM entries WHERE session = ? AND exchange = ?", o.session, o.exchange); err != nil {
			return nil, err
		}
		changes = append(changes, swap{removed: removed})
	}
	return changes, nil
}

// deleteAll deletes all indexed conversations.
func (t *transcripts) deleteAll(ctx context.Context) error {
	forget := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM older") // read again if conversations are recalled again
		return err
	}
	if err := (&transcripts{index: t.index, limit: 0}).add(ctx, nil, forget); err != nil {
		return err
	}
	// Deleted words stay in the file until the full-text index is merged.
	return t.index.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO words (words) VALUES ('optimize')")
		return err
	})
}

// oneLine returns a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
