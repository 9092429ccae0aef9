package store

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestOverridesAreThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ctx := t.Context()
	same := func(when string, want domain.Overrides) {
		t.Helper()
		got, err := s.Overrides(ctx, "s")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", when, err, diff)
		}
		session, err := s.Session(ctx, "s")
		if errors.Is(err, domain.ErrNotFound) {
			return
		}
		if diff := cmp.Diff(session.Overrides, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-database +got):\n%s", when, err, diff)
		}
	}
	accept := func(id chat.EventID, model string) {
		t.Helper()
		if _, err := s.Accept(ctx, domain.Inbound{
			EventID: id, Session: "s", Lane: domain.TurnLane, Message: domain.Message{Channel: "telegram"}, Model: &model,
		}); err != nil {
			t.Fatal(err)
		}
	}
	choose := func(change func(*domain.Overrides)) {
		t.Helper()
		if _, err := s.Configure(ctx, "s", change); err != nil {
			t.Fatal(err)
		}
	}
	same("no session", domain.Overrides{})
	accept("1", "")
	same("a session that no one has claimed", domain.Overrides{})
	choose(func(o *domain.Overrides) { o.Send = "deny" })
	same("configured", domain.Overrides{Send: "deny"})
	if _, _, err := s.ClaimNow(ctx, domain.TurnLane); err != nil {
		t.Fatal(err)
	}
	same("claimed", domain.Overrides{Send: "deny"})
	accept("2", "opus")
	same("with a message", domain.Overrides{Send: "deny", Model: "opus"})
	refused := errors.New("refused")
	if err := engine.Change(ctx, s.db, "refused", func(t *engine.Tx) error {
		return errors.Join(sessions.Configure(t, "s", func(o *domain.Overrides) { o.Send = "allow" }), refused)
	}); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	same("not configured", domain.Overrides{Send: "deny", Model: "opus"})
	choose(func(o *domain.Overrides) { *o = domain.Overrides{} })
	same("taken back", domain.Overrides{})
}
