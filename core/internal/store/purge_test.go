package store_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// rows counts the rows of the tables that grow.
func (b *bundle) rows(t *testing.T) map[string]int {
	t.Helper()
	db, counts := raw(t, b.path), map[string]int{}
	for _, table := range []string{"dedupe", "pairings", "runs", "sent", "dead_pieces", "claude_sessions", "inbox", "outbox", "out_lanes", "transcript"} {
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			counts[table] = n
		}
	}
	return counts
}

func (b *bundle) purge(t *testing.T) {
	t.Helper()
	if err := b.Purge(b.ctx, store.Ages{}); err != nil {
		t.Fatal(err)
	}
}

// Behaviour: accept-once.
func TestPurgeKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const day = 24 * time.Hour
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{
		State: domain.RunDone,
		Items: []domain.OutboxItem{item("anna", "1"), item("anna", "2"), item("anna", "3")},
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Delivered(b.ctx, b.head(t).ID, []chat.MessageID{"100"}); err != nil {
		t.Fatal(err)
	}
	if err := b.DeadLetter(b.ctx, b.head(t).ID, "too old"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.request("telegram", "bob", "A"); err != nil {
		t.Fatal(err)
	}
	// A message that is bound to a claude session which is replaced while it waits.
	b.accept(t, inbound("anna", 2))
	if err := b.Release(b.ctx, b.claim(t).ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := b.ResetSession(b.ctx, "telegram:anna"); err != nil {
			t.Fatal(err)
		}
	}
	kept := map[string]int{"inbox": 1, "outbox": 2, "out_lanes": 2, "transcript": 1, "claude_sessions": 3} // Claude's transcripts are kept, too
	for _, tc := range []struct {
		after time.Duration
		more  map[string]int
	}{
		{time.Hour - time.Second, map[string]int{"dedupe": 2, "runs": 2, "sent": 1, "dead_pieces": 1, "pairings": 1}},
		{30*day - time.Second, map[string]int{"dedupe": 2, "runs": 2, "sent": 1, "dead_pieces": 1}},
		{90*day - time.Second, map[string]int{"sent": 1, "dead_pieces": 1}},
		{90 * day, nil},
	} {
		b.clock.Advance(start.Add(tc.after).Sub(b.clock.Now()))
		b.purge(t)
		want := map[string]int{}
		for _, m := range []map[string]int{kept, tc.more} {
			maps.Copy(want, m)
		}
		if diff := cmp.Diff(want, b.rows(t)); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", tc.after, diff)
		}
	}
	if again := b.claim(t); again.Head.Message.Text != "message 2" || again.Session.ClaudeSession != run.Session.ClaudeSession {
		t.Errorf("the waiting message is %+v", again)
	}
}

func TestPurgeTakesManyRowsInSmallSteps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := raw(t, b.path)
	if _, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
		INSERT INTO dedupe (kind, channel, id, seen_at) SELECT 'event', 'old', CAST(i AS TEXT), ` + strconv.FormatInt(start.UnixMilli(), 10) + ` FROM n`); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(31 * 24 * time.Hour)
	b.accept(t, inbound("anna", 1))
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.Purge(ctx, store.Ages{}); !errors.Is(err, context.Canceled) {
		t.Errorf("purge with an ended context: %v", err)
	}
	b.purge(t)
	if got := b.rows(t)["dedupe"]; got != 1 {
		t.Errorf("%d dedupe keys are left, want 1", got)
	}
}

func TestPurgeOfQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	for _, id := range []string{"AAAAA", "BBBBB"} {
		q := question(id)
		q.Digest = id
		if _, err := b.Ask(b.ctx, run.ID, q, item("anna", "May I?")); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := b.Settle(b.ctx, "AAAAA", domain.QuestionExpired, nil, "Over"); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(31 * 24 * time.Hour)
	b.purge(t)
	for _, table := range []string{"questions", "question_messages"} {
		var n int
		if err := raw(t, b.path).QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); n != 1 || err != nil {
			t.Errorf("%s has %d rows, %v; want that of the open question", table, n, err)
		}
	}
}

func TestPurgeForgetsMedia(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for ref, age := range map[chat.MediaRef]time.Duration{"old": 30 * 24 * time.Hour, "new": 30*24*time.Hour - time.Second} {
		if err := b.PutMedia(b.ctx, "telegram", chat.Media{Ref: ref}, b.clock.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	b.purge(t)
	if _, err := b.Media(b.ctx, "telegram", "old"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := b.Media(b.ctx, "telegram", "new"); err != nil {
		t.Errorf("the new one: %v", err)
	}
}

// Behaviour: retention.
func TestPurgeOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const day = 24 * time.Hour
	say := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := b.AppendTranscript(b.ctx, "telegram:anna", []chat.TranscriptEntry{{Role: chat.User, Text: text, At: b.clock.Now()}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func(ages store.Ages) string {
		t.Helper()
		if err := b.Purge(b.ctx, ages); err != nil {
			t.Fatal(err)
		}
		entries, err := b.Transcript(b.ctx, "telegram:anna", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, e := range entries {
			texts = append(texts, e.Text)
		}
		return strings.Join(texts, " ")
	}
	if err := b.AppendTranscript(b.ctx, "telegram:anna", []chat.TranscriptEntry{{Role: chat.User, Text: "undated"}}); err != nil {
		t.Fatal(err)
	}
	say("one", "two")
	b.clock.Advance(400 * day)
	say("three")
	if got := left(store.Ages{}); got != "undated one two three" {
		t.Errorf("by default %q is left", got)
	}
	if got := left(store.Ages{Transcripts: 401 * day}); got != "one two three" {
		t.Errorf("after 400 of 401 days %q is left", got)
	}
	if got := left(store.Ages{Transcripts: 400 * day}); got != "three" {
		t.Errorf("after 400 days %q is left", got)
	}
}

// Metadata of media are known for as long as their files are kept.
func TestPurgeOfMedia(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const day = 24 * time.Hour
	for _, tc := range []struct {
		ages  store.Ages
		after time.Duration
		left  bool
	}{
		{store.Ages{}, 30 * day, false},
		{store.Ages{}, 30*day - time.Second, true},
		{store.Ages{Media: 2 * day}, 2 * day, false},
		{store.Ages{Media: 90 * day}, 89 * day, true},
		{store.Ages{Media: -1}, 4000 * day, true},
	} {
		if err := b.PutMedia(b.ctx, "test", chat.Media{Ref: "picture"}, b.clock.Now()); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(tc.after)
		if err := b.Purge(b.ctx, tc.ages); err != nil {
			t.Fatal(err)
		}
		_, err := b.Media(b.ctx, "test", "picture")
		if left := !errors.Is(err, domain.ErrNotFound); left != tc.left {
			t.Errorf("%+v after %s: left is %v, %v", tc.ages, tc.after, left, err)
		}
	}
}

// Conversations that something still needs have not ended.
func TestEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, inbound("anna", 1))
	run := b.claim(t)
	old := run.Session.ClaudeSession
	if err := b.Release(b.ctx, run.ID, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.ResetSession(b.ctx, "telegram:anna"); err != nil {
		t.Fatal(err)
	}
	ended := b.clock.Now()
	list := func(by time.Time, after string) []string {
		t.Helper()
		ids, err := b.Ended(b.ctx, by, after)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if got := list(ended, ""); len(got) != 0 {
		t.Errorf("with a message that waits for it: %q", got)
	}
	run = b.claim(t)
	if err := b.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone}); err != nil {
		t.Fatal(err)
	}
	if got := list(ended.Add(-time.Millisecond), ""); len(got) != 0 {
		t.Errorf("before it ended: %q", got)
	}
	if got := list(ended, ""); len(got) != 1 || got[0] != old {
		t.Errorf("got %q, want %q", got, old)
	}
	if got := list(ended, old); len(got) != 0 {
		t.Errorf("after it: %q", got)
	}
}
