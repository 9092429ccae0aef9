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

// everyone enables recall in every session.
const everyone = "all"

// access decides what may be recalled for whom:
//
//   - An owner is reminded in his direct chat, of the files and of what was said in the same session; where no one else has
//     used the session, and of what was said in the other direct chats that only the same person has used.
//   - Where others than owners share the session of an owner's direct chat, it counts as theirs.
//   - A group that has a memory of its own is reminded of that, and of what was said in the same session.
//   - Any other session is reminded of nothing, unless it is opened: then of the files and of what was said in itself.
type access struct {
	agent      string
	index      *index
	openTo     []string
	ownGroups  bool     // each group has a memory of its own
	samePerson []string // ids as channel:user, all of one person
}

// usage says who has used a session. It never decreases.
type usage int

const (
	byOne    usage = iota // one person, in a direct chat
	byOwners              // several owners, each in his direct chat
	byOthers              // others too
)

// record is what is known about the users of a session. The zero record is that of an unused one.
type record struct {
	person string // the first, as channel:user
	owner  bool   // whether they were an owner when they last wrote
	used   usage
}

// view is what may be recalled for a turn.
type view struct {
	session string
	folder  string           // of a group with a memory of its own; empty: the owner's files
	persons []string         // ids of one person, whose direct chats are included
	private bool             // whether only owners read the chat
	shown   map[passage]bool // those of MEMORY.md that the agent has in its context
}

// look returns what may be recalled for a caller, and records the use of the session. It returns false if nothing may be
// recalled.
func (a *access) look(ctx context.Context, c chat.Caller) (view, bool, error) {
	if c.Session == "" {
		return view{}, false, nil
	}
	open := a.isOpen(c.Session)
	c.Session = keyOf(a.agent, c.Session)
	now, err := a.note(ctx, c)
	if err != nil {
		return view{}, false, fmt.Errorf("look up the session's users: %w", err)
	}
	if a.ownGroups && c.Kind != chat.Direct {
		folder, ok := groupFolder(c.Session)
		return view{session: c.Session, folder: folder}, ok, nil
	}
	owner := c.Authority == chat.Owner && c.Kind == chat.Direct && now.owner
	switch {
	case owner && now.used == byOne:
		return view{session: c.Session, persons: a.persons(now.person), private: true}, true, nil
	case owner && now.used == byOwners:
		return view{session: c.Session, private: true}, true, nil
	case open:
		return view{session: c.Session}, true, nil
	default:
		return view{}, false, nil
	}
}

// note records the use of a session, and returns who has used it. Records are permanent: others may read later what is said
// in the session.
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

// after returns the record once the caller has used the session.
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

// person returns the name of a caller: the configured id if one of theirs is in same_person, otherwise their own id.
func (a *access) person(c chat.Caller) string {
	for _, id := range append([]chat.UserID{c.Sender.ID}, c.Sender.Aliases...) {
		if name := c.Address.Channel + ":" + string(id); slices.Contains(a.samePerson, name) {
			return name
		}
	}
	return c.Address.Channel + ":" + string(c.Sender.ID)
}

// persons returns all names of a person.
func (a *access) persons(name string) []string {
	if slices.Contains(a.samePerson, name) {
		return a.samePerson
	}
	return []string{name}
}

// isOpen reports whether the config enables recall in a session: by its key, or by a prefix that ends before a colon.
func (a *access) isOpen(session string) bool {
	return slices.ContainsFunc(a.openTo, func(prefix string) bool {
		rest, ok := strings.CutPrefix(session, prefix)
		return prefix == everyone || prefix != "" && ok && (rest == "" || rest[0] == ':' || strings.HasSuffix(prefix, ":"))
	})
}
