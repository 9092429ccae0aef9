package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: session-usage, export.
func TestCompleteWritesEverythingOfATurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	to := run.Head.Message.Address()
	poked(b.pokes.Deliveries)
	err := b.Complete(b.ctx, run.ID, domain.Completion{
		State:      domain.RunDone,
		Items:      []domain.OutboxItem{{To: to, Text: "one", ReplyTo: "1"}, {To: to, Text: "two"}},
		Transcript: []chat.TranscriptEntry{{Role: chat.Assistant, Text: "one two", At: start.Add(time.Second)}},
		Turn: &domain.TurnFigures{
			Usage: domain.Usage{Turns: 1, InputTokens: 2, CacheTokens: 3, OutputTokens: 4, CostMicros: 5},
			Model: "sonnet", StopReason: "end_turn", ContextTokens: 6, ContextWindow: 7,
		},
		Answer: "one two",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !poked(b.pokes.Deliveries) {
		t.Error("the outbox is not notified")
	}
	entries, err := b.Entries(b.ctx, "telegram:anna", 0, 0)
	if err != nil || len(entries) != 2 || entries[0].Made != nil {
		t.Fatalf("%+v, %v", entries, err)
	}
	made := &domain.Made{Model: "sonnet", StopReason: "end_turn", Usage: &domain.Spent{InputTokens: 2, CacheTokens: 3, OutputTokens: 4, CostUSD: 0.000005}}
	if diff := cmp.Diff(made, entries[1].Made); diff != "" {
		t.Errorf("how the answer was made: %s", diff)
	}

	ds := b.deliveries(t, "telegram")
	if len(ds) != 1 || ds[0].Item.Text != "one" || ds[0].Item.ReplyTo != "1" || ds[0].RunID != run.ID || ds[0].Item.To != to {
		t.Errorf("deliveries %+v", ds)
	}
	history, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
	want := []chat.TranscriptEntry{
		{Role: chat.User, Text: "message 1", At: start},
		{Role: chat.Assistant, Text: "one two", At: start.Add(time.Second)},
	}
	if diff := cmp.Diff(want, history, cmpopts.IgnoreFields(chat.TranscriptEntry{}, "ID")); err != nil || diff != "" {
		t.Errorf("transcript: %v (-want +got):\n%s", err, diff)
	}
	s, err := b.Session(b.ctx, "telegram:anna")
	if err != nil || s.Usage != (domain.Usage{Turns: 1, InputTokens: 2, CacheTokens: 3, OutputTokens: 4, CostMicros: 5}) ||
		s.Model != "sonnet" || s.ContextTokens != 6 || s.ContextWindow != 7 {
		t.Errorf("session %+v, %v", s, err)
	}
}

func TestFiguresOfAReplacedClaudeSessionAreDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	if _, _, err := b.ResetSession(b.ctx, "telegram:anna"); err != nil {
		t.Fatal(err)
	}
	err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunCancelled, Turn: &domain.TurnFigures{
		Usage: domain.Usage{Turns: 1, CostMicros: 5}, Model: "sonnet", ContextTokens: 6,
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Session(b.ctx, "telegram:anna")
	if err != nil || s.Usage != (domain.Usage{Turns: 1, CostMicros: 5}) || s.ContextTokens != 0 || s.Model != "" {
		t.Errorf("session %+v, %v; want the usage and nothing else", s, err)
	}
}

func TestCompleteRejectsInvalidCompletions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	for name, c := range map[string]domain.Completion{
		"no state": {},
		"lost":     {State: domain.RunLost},
		"piece without a channel": {State: domain.RunDone, Items: []domain.OutboxItem{
			{To: chat.Address{Channel: "telegram", Chat: "anna"}}, {To: chat.Address{Chat: "anna"}},
		}},
	} {
		if err := b.Complete(b.ctx, run.ID, c); err == nil {
			t.Errorf("%s: completed", name)
		}
	}
	if ds := b.deliveries(t, "telegram"); len(ds) != 0 {
		t.Errorf("a refused completion left pieces: %+v", ds)
	}
	b.complete(t, run)
}

func TestOutcomeOfAnEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Outcome(b.ctx, "telegram", "anna-1"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("before it is accepted: %v", err)
	}
	b.accept(t, inbound("anna", 1))
	watch, stop := b.Watch("telegram", "anna-1")
	unwatched, stopOther := b.Watch("telegram", "anna-1")
	stopOther()
	stopOther()
	notDone := func(when string) {
		t.Helper()
		if o, err := b.Outcome(b.ctx, "telegram", "anna-1"); err != nil || o != (domain.Outcome{}) {
			t.Errorf("%s: %+v, %v", when, o, err)
		}
	}
	notDone("waiting")
	b.claim(t)
	notDone("running")
	if _, _, err := b.Reclaim(b.ctx); err != nil {
		t.Fatal(err)
	}
	notDone("lost")
	if poked(watch) {
		t.Error("notified before the end")
	}
	c := domain.Completion{State: domain.RunFailed, Error: "overloaded", Answer: "sorry"}
	if err := b.Complete(b.ctx, b.claim(t).ID, c); err != nil {
		t.Fatal(err)
	}
	if !poked(watch) {
		t.Error("not notified of the end")
	}
	stop()
	if poked(unwatched) {
		t.Error("notified after the watch was ended")
	}
	b.reopen(t)
	o, err := b.Outcome(b.ctx, "telegram", "anna-1")
	if err != nil || o != (domain.Outcome{State: domain.RunFailed, Answer: "sorry", Error: "overloaded"}) {
		t.Errorf("outcome: %+v, %v", o, err)
	}
}
