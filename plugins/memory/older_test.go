package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// archive is a host's transcripts. It fails at some calls.
type archive struct {
	entries []sdk.SessionEntry
	fails   map[int]error // by call, from 1
	calls   int
}

func (a *archive) After(_ context.Context, after int64, limit int) (page []sdk.SessionEntry, err error) {
	a.calls++
	if err := a.fails[a.calls]; err != nil {
		return nil, err
	}
	for _, e := range a.entries {
		if e.Entry.ID > after && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, nil
}

// said is a question with its answer, in each of the sessions.
func said(first int64, sessions ...string) (entries []sdk.SessionEntry) {
	for i, session := range sessions {
		id := first + 2*int64(i)
		entries = append(entries,
			sdk.SessionEntry{Session: session, Entry: chat.TranscriptEntry{ID: id, Role: chat.User, Text: fmt.Sprintf("remember the zebra of %s w%da w%db w%dc w%dd", session, id, id, id, id), At: today}},
			sdk.SessionEntry{Session: session, Entry: chat.TranscriptEntry{ID: id + 1, Role: chat.Assistant, Text: "I will", At: today}})
	}
	return entries
}

// ending closes a channel when all was read.
type ending struct {
	sdk.Transcripts

	read chan struct{}
}

func (e ending) After(ctx context.Context, after int64, limit int) ([]sdk.SessionEntry, error) {
	page, err := e.Transcripts.After(ctx, after, limit)
	if err == nil && len(page) == 0 {
		close(e.read)
	}
	return page, err
}

// Behaviour: memory-older.
func TestOlderConversationsAreRecalled(t *testing.T) {
	t.Parallel()
	p := &plugin{t: t, workspace: t.TempDir(), state: t.TempDir()}
	read := make(chan struct{})
	p.Harness = sdktest.New(t, sdk.Service(func(ctx context.Context, env sdk.Env, c config) (*agents, error) {
		env.StateDir, env.Transcripts = p.state, ending{env.Transcripts, read}
		return open(ctx, env, c, time.Now)
	}))
	for _, e := range said(1, "c:anna", "c:anna2", "c:ben", "c:group:g", "main", "peer:family") {
		p.Host.AddTranscripts(e.Session, e.Entry)
	}
	for i := range int64(freshExchanges) { // newer entries, so that the one before is not fresh
		p.Host.AddTranscripts("c:anna", chat.TranscriptEntry{ID: 100 + i, Role: chat.User, Text: "filler", At: today})
	}
	p.Configure(map[string]any{"workspace": p.workspace, "same_person": []string{"c:anna", "c:anna2"}, "max_passages": 20})
	<-read
	got := p.ask(anna, "what about the zebra?")
	for session, want := range map[string]bool{"c:anna ": true, "c:anna2 ": true, "c:ben": false, "c:group:g": false, "main": false, "peer:family": false} {
		if strings.Contains(got+" ", "zebra of "+session) != want {
			t.Errorf("of %s the owner is reminded: %v, want %v\n%s", session, !want, want, got)
		}
	}
	if got := p.ask(direct("ben", chat.Other), "what about the zebra?"); got != "" {
		t.Errorf("another person is reminded: %q", got)
	}
}

// A plugin that was killed goes on where it was, and one that has read all does not read again, except if it has lost them.
// Behaviour: memory-older.
func TestOlderConversationsAreReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := opened(t)
		from := &archive{fails: map[int]error{2: errors.New("killed here")}}
		for i := range int64(300) {
			from.entries = append(from.entries, said(1+2*i, "c:anna")...)
		}
		kept := &transcripts{index: x, limit: maxEntries}
		reader := &older{agent: mainAgent, source: from, transcripts: kept, log: slog.New(slog.DiscardHandler)}
		if err := reader.pages(t.Context()); err == nil {
			t.Fatal("the second page fails, and no one says so")
		}
		if last, done, err := reader.place(t.Context()); last != olderPage || done || err != nil {
			t.Errorf("its place is %d, %v, %v", last, done, err)
		}
		from.fails[3] = errors.New("the host is busy") // it tries again later
		began := time.Now()
		if err := reader.read(t.Context()); err != nil || time.Since(began) != firstOlderWait {
			t.Errorf("it reads on for %v: %v", time.Since(began), err)
		}
		var count int
		if err := x.read.QueryRow("SELECT count(*) FROM entries").Scan(&count); err != nil || count != 600 {
			t.Errorf("%d entries are stored, %v", count, err)
		}
		calls := from.calls
		if err := reader.read(t.Context()); err != nil || from.calls != calls || calls != 6 {
			t.Errorf("%d calls, then %d, %v", calls, from.calls, err)
		}
		if err := kept.deleteAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := reader.read(t.Context()); err != nil || from.calls != calls+4 {
			t.Errorf("after all was deleted there are %d calls, %v", from.calls-calls, err)
		}
		for _, refused := range []error{sdk.ErrNotGranted, errors.ErrUnsupported} {
			closed := &archive{fails: map[int]error{1: refused}}
			if err := (&older{agent: mainAgent, source: closed, transcripts: &transcripts{index: opened(t), limit: 1}, log: slog.New(slog.DiscardHandler)}).read(t.Context()); err != nil || closed.calls != 1 {
				t.Errorf("after %v it asks %d times, %v", refused, closed.calls, err)
			}
		}
	})
}

// overseen is an archive that notes what is said about its reading at the beginning of each call.
type overseen struct {
	archive
	reader *older
	said   []string
}

func (o *overseen) After(ctx context.Context, after int64, limit int) ([]sdk.SessionEntry, error) {
	o.said = append(o.said, o.reader.status())
	return o.archive.After(ctx, after, limit)
}

// Behaviour: plugin-status, memory-older.
func TestHowFarOlderConversationsAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := opened(t)
		from := &overseen{archive: archive{fails: map[int]error{3: errors.New("away")}}}
		for i := range int64(250) {
			from.entries = append(from.entries, said(1+2*i, "c:anna")...)
		}
		from.reader = &older{agent: mainAgent, source: from, transcripts: &transcripts{index: x, limit: maxEntries}, log: slog.New(slog.DiscardHandler)}
		if err := from.reader.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		day := today.Format(time.DateOnly)
		want := []string{
			"", "indexing older conversations: 200 entries since the start, up to " + day, "indexing older conversations: 400 entries since the start, up to " + day,
			"older conversations cannot be indexed now; another try follows", "indexing older conversations: 100 entries since the start, up to " + day,
		}
		if got := from.reader.status(); !slices.Equal(from.said, want) || got != "" {
			t.Errorf("said\n%q, then %q; want\n%q", from.said, got, want)
		}
	})
}
