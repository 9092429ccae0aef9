package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What is kept at hand is what the database has, whatever came before.
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
	configure := func(change func(*domain.Overrides)) {
		t.Helper()
		if _, err := s.Configure(ctx, "s", change); err != nil {
			t.Fatal(err)
		}
	}
	same("no session", domain.Overrides{})
	accept("1", "")
	same("a session that no one has claimed", domain.Overrides{})
	configure(func(o *domain.Overrides) { o.Send = "deny" })
	same("configured", domain.Overrides{Send: "deny"})
	if _, _, err := s.ClaimNow(ctx, domain.TurnLane); err != nil {
		t.Fatal(err)
	}
	same("claimed", domain.Overrides{Send: "deny"})
	accept("2", "opus")
	same("with a message", domain.Overrides{Send: "deny", Model: "opus"})
	refused := errors.New("refused")
	if _, err := step(ctx, s, "refused", func(t *tx) (nothing, error) {
		return nothing{}, errors.Join(t.configure("s", func(o *domain.Overrides) { o.Send = "allow" }), refused)
	}); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	same("not configured", domain.Overrides{Send: "deny", Model: "opus"})
	configure(func(o *domain.Overrides) { *o = domain.Overrides{} })
	same("taken back", domain.Overrides{})
}

func TestChoicesAreBounded(t *testing.T) {
	t.Parallel()
	var c choices
	for n := range 3 * maxChosen {
		c.keep(choice{fmt.Sprint(n), domain.Overrides{Model: fmt.Sprint(n)}})
		if got, known := c.get(fmt.Sprint(n)); !known || got.Model != fmt.Sprint(n) {
			t.Fatalf("session %d: %+v, %v", n, got, known)
		}
		if len(c.of) > maxChosen {
			t.Fatalf("%d sessions are kept", len(c.of))
		}
	}
}
