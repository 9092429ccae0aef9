package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/questions"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Person is whom a store forgets.
type Person struct {
	Users    []PersonUser
	Identity string   // the name that links the users; empty: none does
	Names    []string // others call them so, besides what is recorded
}

// PersonUser is a person on one channel.
type PersonUser struct {
	Channel string
	ID      chat.UserID
}

// Forgotten is what a store has deleted, and what else is to be deleted with it.
type Forgotten struct {
	Users         []PersonUser     // the person's, with other ids on the same networks
	Rows          map[string]int64 // by table
	Sessions      []string         // the keys of the person's own sessions
	Conversations []string         // of Claude, in these sessions
	Channels      []string         // the person's, whose files are to be deleted but for needed ones
	Terms         []string         // the ids and names by which the person was known
	Waiting       int              // messages of the person in groups that are not answered yet, and stay until then
	Names         []string         // by which others call them
	Left          []Mention        // what still has one of the terms
}

// errDry undoes a step that was only to be counted.
var errDry = errors.New("nothing is to be deleted")

// Forget deletes what is known of a person: their own sessions with all that was said in them, and what names them elsewhere. Whose files of
// a channel are is not recorded, so the metadata of all files of the person's channels are deleted but those that are needed. No
// turn may run. If dry is set, it deletes nothing and returns what it would. The text is in the file until [Store.Compact].
func (s *Store) Forget(ctx context.Context, p Person, dry bool) (Forgotten, error) {
	tables, _, err := s.db.Tables(ctx)
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget: %w", err)
	}
	var f *forgetting
	err = engine.Change(ctx, s.db, "forget", func(t *engine.Tx) error {
		f = &forgetting{tx: t, tables: tables, person: p, found: Forgotten{Rows: map[string]int64{}}}
		if err := f.run(); err != nil {
			return err
		}
		if dry {
			return errDry
		}
		return nil
	})
	if dry && errors.Is(err, errDry) {
		err = nil
	}
	if err != nil {
		return Forgotten{}, err
	}
	if !dry {
		if err := s.sweepContents(ctx); err != nil {
			return Forgotten{}, err
		}
	}
	return f.found, nil
}

// forgetting is one deletion.
type forgetting struct {
	tx     *engine.Tx
	tables []engine.Table
	person Person
	chats  []chat.ID // their direct chats, of any of the channels
	names  []string  // others call them so
	found  Forgotten
}

func (f *forgetting) run() error {
	for _, do := range []func() error{f.whole, f.sessions, f.known, f.bySession, f.byChat, f.byUser, f.ids, f.state, f.files} {
		if err := do(); err != nil {
			return err
		}
	}
	if f.found.Rows["questions"] > 0 {
		f.tx.Announce(questions.Changed)
	}
	for _, u := range f.person.Users {
		f.found.Terms = append(f.found.Terms, string(u.ID))
	}
	for _, c := range f.chats {
		f.found.Terms = append(f.found.Terms, string(c))
	}
	f.found.Terms = append(f.found.Terms, f.names...)
	slices.Sort(f.found.Terms)
	f.found.Terms = slices.Compact(f.found.Terms)
	f.found.Users, f.found.Names = f.person.Users, f.names
	var err error
	f.found.Left, err = mentions(f.tx, f.tables, f.found.Terms)
	return err
}

// whole adds the person's other ids on the same networks, and their direct chats.
func (f *forgetting) whole() error {
	for _, u := range slices.Clone(f.person.Users) {
		err := f.tx.Each(`SELECT chat, ids FROM direct_chats WHERE channel = ?1 AND user_id = ?2`, []any{u.Channel, u.ID}, func(r engine.Rows) error {
			var place chat.ID
			var ids string
			if err := r.Scan(&place, &ids); err != nil {
				return err
			}
			f.chats = append(f.chats, place)
			for _, id := range sessions.DecodePeer(ids) {
				if other := (PersonUser{u.Channel, id}); !slices.Contains(f.person.Users, other) {
					f.person.Users = append(f.person.Users, other)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		f.chats = append(f.chats, chat.ID(u.ID)) // what a network without another id calls it
	}
	return nil
}

// owns reports whether a session is the person's alone.
func (f *forgetting) owns(key string) bool {
	name, err := session.Parse(key)
	switch {
	case err != nil:
		return false
	case name.Identity != "":
		return name.Identity == f.person.Identity
	}
	return name.User != "" && slices.Contains(f.person.Users, PersonUser{name.Channel, name.User})
}

// ofSessions are the tables with rows of sessions.
var ofSessions = []string{
	"lanes", "inbox", "runs", "transcript", "notes", "histories", "questions", "grants", "starters", "tool_uses", "agent_messages",
	"shown_messages", "claude_sessions", "jobs",
}

// ofChats are the tables with rows of chats.
var ofChats = []string{"outbox", "out_lanes", "dead_pieces", "sent", "kept_pieces", "reactions", "question_messages"}

// sessions finds the person's sessions, and the conversations of Claude in them.
func (f *forgetting) sessions() error {
	query := `SELECT key FROM sessions`
	for _, table := range ofSessions {
		query += ` UNION SELECT session FROM ` + table
	}
	err := f.tx.Each(query, nil, func(r engine.Rows) error {
		var key string
		if err := r.Scan(&key); err != nil {
			return err
		}
		if f.owns(key) {
			f.found.Sessions = append(f.found.Sessions, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range f.found.Sessions {
		err := f.tx.Each(`SELECT id FROM claude_sessions WHERE session = ?1`, []any{key}, func(r engine.Rows) error {
			var id string
			defer func() { f.found.Conversations = append(f.found.Conversations, id) }()
			return r.Scan(&id)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// known finds the names by which the person is known, and their messages that wait in groups.
func (f *forgetting) known() error {
	for _, name := range f.person.Names {
		f.called(name)
	}
	for _, key := range f.found.Sessions {
		if err := f.name(`SELECT title FROM sessions WHERE key = ?1`, key); err != nil {
			return err
		}
	}
	for _, u := range f.person.Users {
		if err := f.name(`SELECT name FROM pairings WHERE channel = ?1 AND user_id = ?2`, u.Channel, u.ID); err != nil {
			return err
		}
	}
	return f.tx.Each(`SELECT session, message FROM inbox`, nil, func(r engine.Rows) error {
		var key, text string
		if err := r.Scan(&key, &text); err != nil {
			return err
		}
		var m domain.Message
		if json.Unmarshal([]byte(text), &m) != nil || !slices.ContainsFunc(m.Sender.IDs(), func(id chat.UserID) bool {
			return slices.Contains(f.person.Users, PersonUser{m.Channel, id})
		}) {
			return nil
		}
		f.called(m.Sender.DisplayName)
		f.called(m.Sender.Username)
		if !f.owns(key) {
			f.found.Waiting++
		}
		return nil
	})
}

func (f *forgetting) name(query string, args ...any) error {
	return f.tx.Each(query, args, func(r engine.Rows) error {
		var name string
		defer func() { f.called(name) }()
		return r.Scan(&name)
	})
}

func (f *forgetting) called(name string) {
	if name = strings.TrimSpace(name); name != "" && !slices.Contains(f.names, name) {
		f.names = append(f.names, name)
	}
}

func (f *forgetting) delete(table, where string, args ...any) error {
	n, err := f.tx.Exec(`DELETE FROM `+table+` WHERE `+where, args...)
	if n > 0 {
		f.found.Rows[table] += n
	}
	return err
}

func (f *forgetting) bySession() error {
	var errs []error
	for _, key := range f.found.Sessions {
		for _, table := range ofSessions {
			errs = append(errs, f.delete(table, `session = ?1`, key))
		}
		errs = append(
			errs, f.delete("sessions", `key = ?1`, key), f.delete("chosen_agents", `conversation = ?1`, key),
			f.delete("dead_pieces", `session = ?1`, key), f.delete("spending", `per = 'session' AND subject = ?1`, key),
			f.delete("worktrees", `session = ?1 AND removed_at IS NOT NULL`, key),
		)
	}
	return errors.Join(errs...)
}

func (f *forgetting) byChat() error {
	var errs []error
	for _, u := range f.person.Users {
		for _, c := range f.chats {
			errs = append(errs, f.delete("questions", `id IN (SELECT question FROM question_messages WHERE person = '' AND channel = ?1 AND chat = ?2)`, u.Channel, c))
			for _, table := range ofChats {
				errs = append(errs, f.delete(table, `channel = ?1 AND chat = ?2`, u.Channel, c))
			}
			errs = append(errs, f.delete("direct_chats", `channel = ?1 AND chat = ?2`, u.Channel, c))
		}
	}
	return errors.Join(errs...)
}

func (f *forgetting) byUser() error {
	var errs []error
	for _, u := range f.person.Users {
		user := u.Channel + ":" + string(u.ID)
		key := session.Name{Shared: true, Channel: u.Channel, User: u.ID}.Key()
		errs = append(
			errs,
			f.delete("pairings", `channel = ?1 AND user_id = ?2`, u.Channel, u.ID), f.delete("allowed", `channel = ?1 AND user_id = ?2`, u.Channel, u.ID),
			f.delete("direct_chats", `channel = ?1 AND user_id = ?2`, u.Channel, u.ID),
			f.delete("questions", `asker = ?1 AND ended_at IS NOT NULL`, user), f.delete("grants", `granted_by = ?1`, user),
			f.delete("question_messages", `person = ?1 OR question NOT IN (SELECT id FROM questions)`, user),
			f.delete("jobs", `channel = ?1 AND user_id = ?2`, u.Channel, u.ID),
			f.delete("spending", `per = 'person' AND subject = ?1`, key),
		)
		_, err := f.tx.Exec(`UPDATE overrides SET set_by = '' WHERE set_by = ?1`, user) // the value is the operator's
		errs = append(errs, err)
	}
	if f.person.Identity != "" {
		key := session.Name{Shared: true, Identity: f.person.Identity}.Key()
		errs = append(errs, f.delete("spending", `per = 'person' AND subject = ?1`, key))
	}
	for _, name := range f.names {
		errs = append(errs, f.delete("notes", `sender = ?1`, name))
	}
	// Ids of events and keys of posts contain ids of people and chats.
	type row struct{ kind, channel, id string }
	var gone []row
	errs = append(errs, f.tx.Each(`SELECT kind, channel, id FROM dedupe`, nil, func(r engine.Rows) error {
		var d row
		if err := r.Scan(&d.kind, &d.channel, &d.id); err != nil {
			return err
		}
		if f.mentioned(d.id) {
			gone = append(gone, d)
		}
		return nil
	}))
	for _, d := range gone {
		errs = append(errs, f.delete("dedupe", `kind = ?1 AND channel = ?2 AND id = ?3`, d.kind, d.channel, d.id))
	}
	return errors.Join(errs...)
}

// ids takes the person's ids out of those of messages and events in groups: some networks, such as WhatsApp, put one in each.
func (f *forgetting) ids() error {
	var errs []error
	for _, c := range []struct{ table, key, id, change string }{
		{"shown_messages", "message_id", "message_id", `DELETE FROM shown_messages WHERE message_id = ?1`},
		{"transcript", "id", "message_id", `UPDATE transcript SET message_id = '' WHERE id = ?1 + 0`},
		{"notes", "id", "message_id", `UPDATE notes SET message_id = '' WHERE id = ?1 + 0`},
		{"runs", "id", "event_id", `UPDATE runs SET event_id = '' WHERE id = ?1 + 0`},
	} {
		var keys []string
		errs = append(errs, f.tx.Each(`SELECT CAST(`+c.key+` AS TEXT), `+c.id+` FROM `+c.table+` WHERE `+c.id+` != ''`, nil, func(r engine.Rows) error {
			var key, id string
			if err := r.Scan(&key, &id); err != nil {
				return err
			}
			if f.within(id) {
				keys = append(keys, key)
			}
			return nil
		}))
		for _, key := range keys {
			_, err := f.tx.Exec(c.change, key)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// within reports whether a part of an id is one of the person's. The whole of it may be the number of a message.
func (f *forgetting) within(id string) bool {
	return slices.ContainsFunc(f.person.Users, func(u PersonUser) bool { return id != string(u.ID) && HasTerm(id, string(u.ID)) })
}

// mentioned reports whether a key names the person.
func (f *forgetting) mentioned(key string) bool {
	return slices.ContainsFunc(f.person.Users, func(u PersonUser) bool { return HasTerm(key, string(u.ID)) }) ||
		slices.ContainsFunc(f.chats, func(c chat.ID) bool { return HasTerm(key, string(c)) })
}

// HasTerm reports whether a text contains a term that is no part of a longer word or number.
func HasTerm(text, term string) bool {
	if term == "" {
		return false
	}
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(text[from:], term)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(term):])
		if (i == 0 || !inWord(before)) && (i+len(term) == len(text) || !inWord(after)) {
			return true
		}
		from = i + 1
	}
}

// state deletes what plugins keep under a key that names the person.
func (f *forgetting) state() error {
	type row struct{ table, instance, key string }
	var gone []row
	var err error
	for _, table := range []string{"state", "wake_ups"} {
		err = errors.Join(err, f.tx.Each(`SELECT instance, key FROM `+table, nil, func(r engine.Rows) error {
			s := row{table: table}
			if err := r.Scan(&s.instance, &s.key); err != nil {
				return err
			}
			if f.mentioned(s.key) {
				gone = append(gone, s)
			}
			return nil
		}))
	}
	for _, s := range gone {
		err = errors.Join(err, f.delete(s.table, `instance = ?1 AND key = ?2`, s.instance, s.key))
	}
	if err == nil {
		_, err = f.tx.Exec(`UPDATE state_use SET keys = (SELECT COUNT(*) FROM state s WHERE s.instance = state_use.instance),
			bytes = (SELECT COALESCE(SUM(LENGTH(value)), 0) FROM state s WHERE s.instance = state_use.instance),
			wake_ups = (SELECT COUNT(*) FROM wake_ups w WHERE w.instance = state_use.instance)`)
	}
	return err
}

// files deletes the metadata of the channels' files, but for those that others' messages need, and what was made of files and pages.
func (f *forgetting) files() error {
	needed, err := neededMedia(f.tx)
	if err != nil {
		return err
	}
	keep := map[string]map[chat.MediaRef]bool{}
	for instance, list := range needed {
		keep[instance] = map[chat.MediaRef]bool{}
		for _, m := range list {
			ref := m.Ref
			if ref == "" {
				ref = domain.FetchedRef(m.Token)
			}
			keep[instance][ref] = true
		}
	}
	for _, u := range f.person.Users {
		if slices.Contains(f.found.Channels, u.Channel) {
			continue
		}
		contents := map[chat.MediaRef]string{}
		err = errors.Join(err, f.tx.Each(`SELECT ref, content FROM media WHERE instance = ?1`, []any{u.Channel}, func(r engine.Rows) error {
			var ref chat.MediaRef
			var content string
			if err := r.Scan(&ref, &content); err != nil {
				return err
			}
			if !keep[u.Channel][ref] {
				contents[ref] = content
			}
			return nil
		}))
		for ref, content := range contents {
			err = errors.Join(err, f.delete("media", `instance = ?1 AND ref = ?2`, u.Channel, ref))
			if content != "" {
				err = errors.Join(err, abandon(f.tx, u.Channel, content, f.tx.Now))
			}
		}
		f.found.Channels = append(f.found.Channels, u.Channel)
	}
	return errors.Join(err, f.delete("extracts", `1 = 1`))
}
