package main

import (
	"context"
	"database/sql"
	"iter"
	"strings"
	"time"
)

// origin is the source of passages: a file, or an exchange of a session.
type origin struct {
	path     string // empty for a session
	session  string
	exchange int64
}

// swap is a change of passages. Its words are counted once it is committed.
type swap struct{ added, removed []map[string]struct{} }

// replace replaces the passages of an origin. After the transaction the caller passes the result to [index.count].
func replace(ctx context.Context, tx *sql.Tx, from origin, at time.Time, passages []passage) (swap, error) {
	removed, err := remove(ctx, tx, from)
	if err != nil {
		return swap{}, err
	}
	change := swap{removed: removed}
	for _, p := range passages {
		var path, session sql.NullString
		var exchange sql.NullInt64
		if from.path != "" {
			path = sql.NullString{String: from.path, Valid: true}
		} else {
			session, exchange = sql.NullString{String: from.session, Valid: true}, sql.NullInt64{Int64: from.exchange, Valid: true}
		}
		result, err := tx.ExecContext(ctx,
			"INSERT INTO passages (path, session, exchange, heading, body, at) VALUES (?, ?, ?, ?, ?, ?)",
			path, session, exchange, p.heading, p.body, at.UnixMilli())
		if err != nil {
			return swap{}, err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return swap{}, err
		}
		text, set := indexed(p.heading, p.body)
		if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)", id, text); err != nil {
			return swap{}, err
		}
		change.added = append(change.added, set)
	}
	return change, nil
}

// remove deletes an origin's passages and returns the words of each.
func remove(ctx context.Context, tx *sql.Tx, from origin) ([]map[string]struct{}, error) {
	where, args := "path = ?", []any{from.path}
	if from.path == "" {
		where, args = "session = ? AND exchange = ?", []any{from.session, from.exchange}
	}
	rows, err := tx.QueryContext(ctx, "DELETE FROM passages WHERE "+where+" RETURNING id, heading, body", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	var removed []map[string]struct{}
	for rows.Next() {
		var id int64
		var heading, body string
		if err := rows.Scan(&id, &heading, &body); err != nil {
			return nil, err
		}
		_, set := indexed(heading, body)
		ids, removed = append(ids, id), append(removed, set)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx, "DELETE FROM words WHERE rowid = ?", id); err != nil {
			return nil, err
		}
	}
	return removed, nil
}

// headingWeight is what a word of a heading counts.
const headingWeight = 1.5

// words yields the words of a passage and what each counts, first those of the heading.
func (p passage) words() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		l := languageOf(p.heading + " " + p.body)
		for word := range wordsIn(l, p.heading) {
			if !yield(word, headingWeight) {
				return
			}
		}
		for word := range wordsIn(l, p.body) {
			if !yield(word, 1) {
				return
			}
		}
	}
}

// indexed returns the words of a passage as they are stored, and as a set.
func indexed(heading, body string) (string, map[string]struct{}) {
	var b strings.Builder
	set := map[string]struct{}{}
	for word := range (passage{heading, body}).words() {
		b.WriteString(word)
		b.WriteByte(' ')
		set[word] = struct{}{}
	}
	return b.String(), set
}

// count adds a committed change to the vocabulary.
func (x *index) count(changes ...swap) {
	for _, c := range changes {
		x.words.change(c.added, c.removed)
	}
}
