package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestSessionsArePaged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, user := range []string{"carl", "anna", "bob"} {
		b.accept(t, inbound(user, 1))
	}
	var keys []string
	after := ""
	for {
		page, err := b.Sessions(b.ctx, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			keys = append(keys, s.Key)
		}
		after = keys[len(keys)-1]
	}
	if diff := cmp.Diff([]string{"telegram:anna", "telegram:bob", "telegram:carl"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestUnknownSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Session(b.ctx, "nobody"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("session: %v", err)
	}
	if _, ok, err := b.ResetSession(b.ctx, "nobody"); ok || err != nil {
		t.Errorf("reset: %v, %v", ok, err)
	}
}

// Behaviour: session-settings-stay.
func TestResetForgetsTheContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Turn: &domain.TurnFigures{
		Usage: domain.Usage{Turns: 1}, Model: "sonnet", ContextTokens: 10, ContextWindow: 20,
	}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour)
	s, ok, err := b.ResetSession(b.ctx, "telegram:anna")
	if !ok || err != nil || s.ContextTokens != 0 || s.Usage.Turns != 1 || !s.ResetAt.Equal(start.Add(time.Hour)) || !s.CreatedAt.Equal(start) {
		t.Errorf("session %+v, %v, %v", s, ok, err)
	}
}

func TestTranscriptIsPagedFromTheNewest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 5 {
		for _, session := range []string{"a", "b"} {
			e := chat.TranscriptEntry{Role: chat.System, Text: fmt.Sprintf("%s%d", session, n), At: start}
			if err := b.AppendTranscript(b.ctx, session, []chat.TranscriptEntry{e}); err != nil {
				t.Fatal(err)
			}
		}
	}
	texts := func(before int64, limit int) (texts []string, first int64) {
		t.Helper()
		es, err := b.Transcript(b.ctx, "a", before, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			texts = append(texts, e.Text)
		}
		return texts, es[0].ID
	}
	newest, first := texts(0, 2)
	older, _ := texts(first, 1000)
	if diff := cmp.Diff([][]string{{"a3", "a4"}, {"a0", "a1", "a2"}}, [][]string{newest, older}); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestLanesShowsWhatWaitsAndRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("idle", 1))
	b.complete(t, b.claim(t))
	b.clock.Advance(time.Second)
	b.accept(t, inbound("anna", 1))
	b.accept(t, inbound("anna", 2))
	b.claim(t)
	b.clock.Advance(time.Second)
	b.accept(t, inbound("bob", 1))

	got, err := b.Lanes(b.ctx)
	want := []domain.LaneStatus{
		{Session: "telegram:anna", Lane: domain.TurnLane, Waiting: 1, Running: true, Since: start.Add(time.Second), Attempts: 1},
		{Session: "telegram:bob", Lane: domain.TurnLane, Waiting: 1, Since: start.Add(2 * time.Second)},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("lanes: %v (-want +got):\n%s", err, diff)
	}
}
