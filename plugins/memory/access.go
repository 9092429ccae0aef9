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
	byOne    usage = iota // an owner, in a direct chat
	byOwners              // several owners, each in his direct chat
	byOthers              // somebody else too
)

// view is what a turn may be reminded of.
type view struct {
	session string
	person  string // also of the sessions of this person; empty: of none
	private bool   // an owner reads it, and nobody else
}

// look decides what a caller may see, and notes whose chat his session is. False: nothing.
func (a *access) look(ctx context.Context, c chat.Caller) (view, bool, error) {
	if c.Session == "" {
		return view{}, false, nil
	}
	owner := c.Authority == chat.Owner && c.Kind == chat.Direct
	person, used := "", byOthers
	if owner {
		person, used = a.person(c), byOne
	}
	if c.Sender.ID != "" { // a turn without a sender, such as one that a plugin began, says nothing of whose chat it is
		noted, err := a.note(ctx, c.Session, person, used)
		if err != nil {
			return view{}, false, fmt.Errorf("note whose chat it is: %w", err)
		}
		used = noted
	}
	switch {
	case owner && used == byOne:
		return view{session: c.Session, person: person, private: true}, true, nil
	case owner && used == byOwners:
		return view{session: c.Session, private: true}, true, nil
	case a.isOpen(c.Session):
		return view{session: c.Session}, true, nil
	default:
		return view{}, false, nil
	}
}

// note remembers who uses a session, and tells who has so far. It never forgets: others may read what is said in it later.
func (a *access) note(ctx context.Context, session, person string, used usage) (usage, error) {
	var before string
	var noted usage
	err := a.index.read.QueryRowContext(ctx, "SELECT person, used FROM sessions WHERE key = ?", session).Scan(&before, &noted)
	switch {
	case err == nil && (noted == byOthers || noted >= used && before == person):
		return noted, nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return 0, damage(err)
	}
	err = a.index.change(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO sessions (key, person, used) VALUES (?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET used = max(used, ?3, CASE WHEN person <> ?2 THEN ?4 ELSE 0 END)
			RETURNING used`, session, person, used, byOwners).Scan(&noted)
	})
	return noted, err
}

// person names who a caller is. The ids that the config says are one person's have one name.
func (a *access) person(c chat.Caller) string {
	if c.Sender.ID == "" {
		return ""
	}
	for _, id := range append([]chat.UserID{c.Sender.ID}, c.Sender.Aliases...) {
		if slices.Contains(a.samePerson, c.Address.Channel+":"+string(id)) {
			return "=" // no channel's label is empty, so no other person has this name
		}
	}
	return c.Address.Channel + ":" + string(c.Sender.ID)
}

// isOpen tells whether the config opens a session: by its key, or by what stands before a colon in it.
func (a *access) isOpen(session string) bool {
	return slices.ContainsFunc(a.openTo, func(prefix string) bool {
		rest, ok := strings.CutPrefix(session, prefix)
		return prefix == everyone || prefix != "" && ok && (rest == "" || rest[0] == ':' || strings.HasSuffix(prefix, ":"))
	})
}
