package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// everyone opens recall to each session.
const everyone = "all"

// access says who is reminded of what:
//
//   - An owner is reminded in his direct chat, of the files and of what was said in the same session; where nobody else has
//     used the session, also of what was said in the other direct chats that only the same person has used.
//   - Where others than owners share the session of an owner's direct chat, it counts as theirs.
//   - Any other session is reminded of nothing, unless it is opened: then of the files and of what was said in itself.
type access struct {
	index      *index
	openTo     []string
	samePerson []string // ids as channel:user, all of one person
}

// usage is who has used a session. A larger one stays.
type usage int

const (
	byOne    usage = iota // one person, in a direct chat
	byOwners              // several owners, each in his direct chat
	byOthers              // others too
)

// record is what is known of who uses a session. The zero record is that of one that nobody has used.
type record struct {
	person string // the first, as channel:user
	owner  bool   // he was an owner when he last wrote
	used   usage
}

// view is what a turn may be reminded of.
type view struct {
	session string
	persons []string // also of the direct chats of these, who are one person
	private bool     // owners read it, and nobody else
}

// look decides what a caller may see, and notes whose chat his session is. False: nothing.
func (a *access) look(ctx context.Context, c chat.Caller) (view, bool, error) {
	if c.Session == "" {
		return view{}, false, nil
	}
	now, err := a.note(ctx, c)
	if err != nil {
		return view{}, false, fmt.Errorf("look whose chat it is: %w", err)
	}
	owner := c.Authority == chat.Owner && c.Kind == chat.Direct && now.owner
	switch {
	case owner && now.used == byOne:
		return view{session: c.Session, persons: a.persons(now.person), private: true}, true, nil
	case owner && now.used == byOwners:
		return view{session: c.Session, private: true}, true, nil
	case a.isOpen(c.Session):
		return view{session: c.Session}, true, nil
	default:
		return view{}, false, nil
	}
}

// note remembers who uses a session, and tells who has so far. It never forgets: others may read what is said in it later.
//
// A turn that no person began, such as a plugin's, has an owner's authority in anybody's chat. So it counts for nothing,
// and what is known of the chat decides.
func (a *access) note(ctx context.Context, c chat.Caller) (record, error) {
	before, err := readRecord(ctx, a.index.read, c.Session)
	if err != nil || c.Sender.ID == "" || c.Sender.IsBot {
		return before, err
	}
	now := a.after(before, c)
	if now == before {
		return now, nil
	}
	err = a.index.change(ctx, func(tx *sql.Tx) error {
		before, err := readRecord(ctx, tx, c.Session) // another turn may have changed it
		if err != nil {
			return err
		}
		now = a.after(before, c)
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO sessions (key, person, owner, used) VALUES (?, ?, ?, ?)",
			c.Session, now.person, now.owner, now.used)
		return err
	})
	return now, err
}

// after is what is known of a session once the caller has used it.
func (a *access) after(r record, c chat.Caller) record {
	person, owner := a.person(c), c.Authority == chat.Owner
	if r.person == "" {
		r = record{person: person, owner: owner}
	}
	switch {
	case c.Kind != chat.Direct:
		r.used = byOthers
	case r.used == byOne && slices.Contains(a.persons(r.person), person):
		r.owner = owner
	case r.used == byOthers:
	case owner && r.owner:
		r.used = byOwners
	default:
		r.used = byOthers
	}
	return r
}

func readRecord(ctx context.Context, from interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, session string,
) (r record, err error) {
	row := from.QueryRowContext(ctx, "SELECT person, owner, used FROM sessions WHERE key = ?", session)
	if err := row.Scan(&r.person, &r.owner, &r.used); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return record{}, damage(err)
	}
	return r, nil
}

// person names who a caller is: by that of his ids which the config says is one of a person's, or else by his own.
func (a *access) person(c chat.Caller) string {
	for _, id := range append([]chat.UserID{c.Sender.ID}, c.Sender.Aliases...) {
		if name := c.Address.Channel + ":" + string(id); slices.Contains(a.samePerson, name) {
			return name
		}
	}
	return c.Address.Channel + ":" + string(c.Sender.ID)
}

// persons are all names of a person.
func (a *access) persons(name string) []string {
	if slices.Contains(a.samePerson, name) {
		return a.samePerson
	}
	return []string{name}
}

// isOpen tells whether the config opens a session: by its key, or by what stands before a colon in it.
func (a *access) isOpen(session string) bool {
	return slices.ContainsFunc(a.openTo, func(prefix string) bool {
		rest, ok := strings.CutPrefix(session, prefix)
		return prefix == everyone || prefix != "" && ok && (rest == "" || rest[0] == ':' || strings.HasSuffix(prefix, ":"))
	})
}
