package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A direct chat is found by its id and by each id of its person, as they wrote last.
// Behaviour: session-direct.
func TestDirectChat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	write := func(session string, in chat.Chat, origin domain.Origin, ids ...chat.UserID) {
		t.Helper()
		n++
		m := inbound("anna", n)
		m.Session, m.Message.Chat, m.Message.Origin = session, in, origin
		m.Message.Sender = chat.Sender{ID: ids[0], Aliases: ids[1:]}
		b.accept(t, m)
	}
	find := func(id string, want chat.ID, person ...chat.UserID) {
		t.Helper()
		got, err := b.DirectChat(b.ctx, "telegram", id)
		if want == "" && errors.Is(err, domain.ErrNotFound) {
			return
		}
		if diff := cmp.Diff(domain.DirectChat{Chat: want, Person: person}, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", id, err, diff)
		}
	}
	peer := func(session string, want ...chat.UserID) {
		t.Helper()
		s, err := b.Session(b.ctx, session)
		if diff := cmp.Diff(want, s.Peer); err != nil || diff != "" {
			t.Errorf("the session's peer: %v (-want +got)\n%s", err, diff)
		}
	}
	dm := func(id chat.ID) chat.Chat { return chat.Chat{ID: id, Kind: chat.Direct} }

	write("s", dm("dm7"), domain.OriginPlugin, "7")
	write("g", chat.Chat{ID: "group", Kind: chat.Group}, "", "7")
	find("7", "")
	find("dm7", "")
	find("group", "")
	peer("s")
	peer("g")

	write("s", dm("dm7"), "", "7")
	find("7", "dm7", "7")
	find("dm7", "dm7", "7")
	find("8", "")
	peer("s", "7")

	// Another id of theirs becomes known.
	write("s", dm("dm7"), "", "7", "+7")
	write("s", dm("dm9"), domain.OriginHeartbeat, "9")
	for _, id := range []string{"7", "+7", "dm7"} {
		find(id, "dm7", "7", "+7")
	}
	find("9", "")
	peer("s", "7", "+7")

	// Two share a session.
	write("s", dm("dm8"), "", "8")
	find("+7", "dm7", "7", "+7")
	find("8", "dm8", "8")
	peer("s", "8")

	// They write in another chat.
	write("s", dm("new"), "", "7", "+7")
	find("7", "new", "7", "+7")
	find("new", "new", "7", "+7")
	find("dm7", "")

	if _, err := b.DirectChat(b.ctx, "discord", "7"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("on another channel: %v", err)
	}
}
