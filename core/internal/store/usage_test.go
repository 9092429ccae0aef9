package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// turn accepts, claims and completes anna's nth message with these figures.
func (b *bundle) turn(t *testing.T, n int, f domain.TurnFigures) domain.Session {
	t.Helper()
	b.accept(t, inbound("anna", n))
	run := b.claim(t)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Turn: &f}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Session(b.ctx, run.Session.Key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Behaviour: session-usage.
func TestUsageByDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := domain.Usage{Turns: 1, InputTokens: 2, CacheTokens: 3, OutputTokens: 4, CostMicros: 5}
	for n, f := range []domain.TurnFigures{
		{Day: "2026-03-01", Model: "opus", Usage: one},
		{Day: "2026-03-02", Model: "sonnet", Usage: one},
		{Day: "2026-03-02", Model: "haiku", Usage: one},
		{Day: "2026-03-02", Model: "sonnet", Usage: one},
		{Model: "sonnet", Usage: one}, // of no day
	} {
		b.turn(t, n, f)
	}
	two := domain.Usage{Turns: 2, InputTokens: 4, CacheTokens: 6, OutputTokens: 8, CostMicros: 10}
	for from, want := range map[string][]domain.DayUsage{
		"": {
			{Day: "2026-03-01", Model: "opus", Usage: one}, {Day: "2026-03-02", Model: "haiku", Usage: one}, {Day: "2026-03-02", Model: "sonnet", Usage: two},
		},
		"2026-03-02": {{Day: "2026-03-02", Model: "haiku", Usage: one}, {Day: "2026-03-02", Model: "sonnet", Usage: two}},
		"2026-03-03": nil,
	} {
		got, err := b.UsageByDay(b.ctx, from)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("from %q, %v (-want +got):\n%s", from, err, diff)
		}
	}
	if s, err := b.Session(b.ctx, "telegram:anna"); err != nil || s.Usage.Turns != 5 || s.Usage.CostMicros != 25 {
		t.Errorf("session %+v, %v", s, err)
	}
}

// What a run cost that was interrupted counts like any other's.
func TestSpent(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	b.accept(t, queued(2, domain.Queueing{Mode: domain.Interrupt}))
	f := domain.TurnFigures{Day: "2026-03-01", Model: "opus", Usage: domain.Usage{Turns: 1, CostMicros: 5}, ContextTokens: 7, Compactions: 1}
	if err := b.RecordUsage(b.ctx, run.Session.Key, run.Head.ClaudeSession, f); err != nil {
		t.Fatal(err)
	}
	s, err := b.Session(b.ctx, run.Session.Key)
	if err != nil || s.Usage != f.Usage || s.ContextTokens != 7 || s.Compactions != 1 {
		t.Errorf("session %+v, %v", s, err)
	}
	days, err := b.UsageByDay(b.ctx, "")
	if diff := cmp.Diff([]domain.DayUsage{{Day: f.Day, Model: f.Model, Usage: f.Usage}}, days); err != nil || diff != "" {
		t.Errorf("days, %v (-want +got):\n%s", err, diff)
	}
}

// Of very many rows the last ones are returned.
func TestUsageByDayIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := raw(t, b.path).Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
		INSERT INTO usage_days SELECT 'day ' || SUBSTR(CAST(10000 + i AS TEXT), 2),  'opus', 1, 0, 0, 0, 0 FROM n`); err != nil {
		t.Fatal(err)
	}
	days, err := b.UsageByDay(b.ctx, "")
	if err != nil || len(days) != 1000 || days[0].Day != "day 0101" || days[999].Day != "day 1100" {
		t.Errorf("%d days, %v", len(days), err)
	}
}

// Behaviour: compaction, memory-flush.
func TestCompactionsAndFlushes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	minute := time.Minute
	for n, step := range []struct {
		f                    domain.TurnFigures
		compactions, flushed int64
		flushedAt            time.Duration
	}{
		{domain.TurnFigures{Model: "opus", ContextTokens: 1}, 0, 0, -1},
		{domain.TurnFigures{Model: "opus", ContextTokens: 2, Flush: true}, 0, 1, 1 * minute},
		{domain.TurnFigures{Model: "opus", ContextTokens: 3, Compactions: 1}, 1, 1, 1 * minute},
		{domain.TurnFigures{Model: "opus", ContextTokens: 4, Compactions: 2, Flush: true}, 3, 2, 3 * minute}, // the flush came first
		{domain.TurnFigures{Model: "opus", ContextTokens: 5}, 3, 2, 3 * minute},
		{domain.TurnFigures{}, 3, 2, 3 * minute}, // it asked no model: what is known of the context stays
	} {
		s := b.turn(t, n, step.f)
		if s.Compactions != step.compactions || s.Flushed != step.flushed || s.FlushedAt.IsZero() != (step.flushedAt < 0) ||
			step.flushedAt >= 0 && !s.FlushedAt.Equal(start.Add(step.flushedAt)) {
			t.Errorf("turn %d: %d compactions, flushed %d at %v", n, s.Compactions, s.Flushed, s.FlushedAt)
		}
		if s.Model != "opus" || s.ContextTokens != min(int64(n)+1, 5) {
			t.Errorf("turn %d: model %q, %d tokens", n, s.Model, s.ContextTokens)
		}
		b.clock.Advance(minute)
	}
	s, _, err := b.ResetSession(b.ctx, "telegram:anna")
	if err != nil || s.Compactions != 0 || s.Flushed != 0 {
		t.Errorf("a new conversation: %+v, %v", s, err)
	}
}

// Behaviour: hooks-conversation.
func TestHookTextsOfAConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	has := map[string]string{"memory": "1a"}
	more := map[string]string{"memory": "1a", "clock": "2b"}
	for n, step := range []struct {
		f    domain.TurnFigures
		want map[string]string
	}{
		{domain.TurnFigures{Given: has}, has},
		{domain.TurnFigures{}, has},
		{domain.TurnFigures{Given: more}, more},
		{domain.TurnFigures{Compactions: 1, Given: has}, nil},
		{domain.TurnFigures{Given: has}, has},
	} {
		if s := b.turn(t, n, step.f); !cmp.Equal(step.want, s.Given) {
			t.Errorf("after turn %d it has %v, want %v", n, s.Given, step.want)
		}
	}
	b.accept(t, inbound("anna", 9))
	if run := b.claim(t); !cmp.Equal(has, run.Session.Given) {
		t.Errorf("the next run gets %v", run.Session.Given)
	}
	if s, _, err := b.ResetSession(b.ctx, "telegram:anna"); err != nil || s.Given != nil {
		t.Errorf("a new conversation has %v, %v", s.Given, err)
	}
}

// What happens in a claude session that was replaced meanwhile is that one's.
func TestCompactionOfAReplacedClaudeSession(t *testing.T) {
	t.Parallel()
	b, run := busy(t)
	if _, _, err := b.ResetSession(b.ctx, "telegram:anna"); err != nil {
		t.Fatal(err)
	}
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Turn: &domain.TurnFigures{Compactions: 1, Flush: true}}); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Session(b.ctx, "telegram:anna"); err != nil || s.Compactions != 0 || s.Flushed != 0 {
		t.Errorf("session %+v, %v", s, err)
	}
}

// Behaviour: session-label.
func TestSetLabel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	longest := strings.Repeat("ä", domain.MaxLabel)
	for _, label := range []string{longest, "work", ""} {
		if err := b.SetLabel(b.ctx, "telegram:anna", label); err != nil {
			t.Fatal(err)
		}
		if s, err := b.Session(b.ctx, "telegram:anna"); err != nil || s.Label != label {
			t.Errorf("label %q, %v; want %q", s.Label, err, label)
		}
	}
	if err := b.SetLabel(b.ctx, "telegram:anna", longest+"x"); err == nil {
		t.Error("a label that is too long was set")
	}
	if err := b.SetLabel(b.ctx, "nobody", "work"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
}

// Behaviour: follow.
func TestTranscriptsAreFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	say := func(session string, texts ...string) {
		t.Helper()
		var entries []chat.TranscriptEntry
		for _, text := range texts {
			entries = append(entries, chat.TranscriptEntry{Role: chat.Assistant, Text: text, At: start})
		}
		if err := b.AppendTranscript(b.ctx, session, entries); err != nil {
			t.Fatal(err)
		}
	}
	follower := func(name string) int64 {
		t.Helper()
		after, err := b.Follower(b.ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return after
	}
	if early := follower("early"); early != 0 {
		t.Errorf("the first follower begins after %d", early)
	}
	poked(b.TranscriptAppended())
	say("a", "before")
	if !poked(b.TranscriptAppended()) {
		t.Error("no one is notified")
	}
	say("a")
	if poked(b.TranscriptAppended()) {
		t.Error("told of nothing")
	}
	after := follower("memory")
	say("a", "1", "2")
	say("b", "3")
	read := func(after int64, limit int) (texts []string, last int64) {
		t.Helper()
		list, err := b.TranscriptAfter(b.ctx, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			texts, last = append(texts, f.Session+f.Entry.Text), f.Entry.ID
		}
		return texts, last
	}
	first, last := read(after, 2)
	if err := b.Followed(b.ctx, "memory", last); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	rest, _ := read(follower("memory"), 0)
	if diff := cmp.Diff([][]string{{"a1", "a2"}, {"b3"}}, [][]string{first, rest}); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	if again := follower("memory"); again != last {
		t.Errorf("asking moves a follower from %d to %d", last, again)
	}
	if all, _ := read(follower("early"), 0); len(all) != 4 || all[0] != "abefore" {
		t.Errorf("the early one follows %v", all)
	}
	if got, err := b.TranscriptAfter(b.ctx, last-1, 1); err != nil || len(got) != 1 || !got[0].Entry.At.Equal(start) || got[0].Entry.Role != chat.Assistant {
		t.Errorf("entry %+v, %v", got, err)
	}
	say("c", make([]string, 1100)...)
	if page, _ := read(0, 5000); len(page) != 1000 {
		t.Errorf("a page has %d entries", len(page))
	}
}
