package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// start is when the fake clocks begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bundle is a store of a test's own.
type bundle struct {
	*store.Store
	ctx   context.Context
	clock *clock
	path  string
	pokes store.Pokes
	// receipt, if not nil, makes the receipt of a message that waits.
	receipt func(domain.Acceptance) domain.OutboxItem
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{ctx: t.Context(), clock: &clock{now: start}, path: filepath.Join(t.TempDir(), "state", "clawhost.db")}
	b.open(t)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// twoHosts are two hosts with one store, in PostgreSQL.
func twoHosts(t *testing.T) (here, there *bundle) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "clawhost.db")
	store.PrepareServer(t, path)
	list := []*bundle{{path: path}, {path: path}}
	for _, b := range list {
		b.ctx, b.clock = t.Context(), &clock{now: start}
		b.open(t)
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	return list[0], list[1]
}

// migrated is the file of a new store, as a test begins with. To make one takes a second under the race detector.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "clawhost.db")
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// prepare puts a new store's file there, if none is.
func prepare(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	file, err := migrated()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, file, 0o600)
}

func (b *bundle) open(t *testing.T) {
	t.Helper()
	if !store.Prepare(t, b.path) {
		if err := prepare(b.path); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.OpenTest(b.ctx, b.path, store.Options{Now: b.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	b.Store, b.pokes = s, s.Pokes()
}

// reopen ends the store's life and begins the next one.
func (b *bundle) reopen(t *testing.T) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.open(t)
}

// inbound is the nth message of a direct chat with user.
func inbound(user string, n int) domain.Inbound {
	return domain.Inbound{
		EventID: chat.EventID(fmt.Sprintf("%s-%d", user, n)),
		Session: "telegram:" + user,
		Lane:    domain.TurnLane,
		Message: domain.Message{
			Channel: "telegram",
			Chat:    chat.Chat{ID: chat.ID(user), Kind: chat.Direct, Title: user},
			ID:      chat.MessageID(fmt.Sprint(n)),
			Sender:  chat.Sender{ID: chat.UserID(user), DisplayName: user},
			Text:    fmt.Sprintf("message %d", n),
		},
	}
}

func (b *bundle) accept(t *testing.T, in domain.Inbound) domain.Acceptance {
	t.Helper()
	a, err := b.Accept(b.ctx, in)
	if err == nil && a.Behind && b.receipt != nil {
		err = b.PostReceipt(b.ctx, in.Session, a.Seq, b.receipt(a))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// claim claims a turn and fails if none is ready.
func (b *bundle) claim(t *testing.T) *domain.Run {
	t.Helper()
	run, next, err := b.ClaimNow(b.ctx, domain.TurnLane)
	if err != nil {
		t.Fatal(err)
	}
	if run == nil {
		t.Fatalf("no turn is ready; the next one at %v", next)
	}
	return run
}

// idle fails when a turn can be claimed.
func (b *bundle) idle(t *testing.T) {
	t.Helper()
	run, next, err := b.ClaimNow(b.ctx, domain.TurnLane)
	if err != nil {
		t.Fatal(err)
	}
	if run != nil || !next.IsZero() {
		t.Fatalf("got run %+v, next %v; want an idle store", run, next)
	}
}

// lost reports whether a run has lost its lane.
func (b *bundle) lost(t *testing.T, run *domain.Run) bool {
	t.Helper()
	_, err := b.MessagesWait(b.ctx, run.ID)
	if err != nil && !errors.Is(err, domain.ErrFenced) {
		t.Fatal(err)
	}
	return err != nil
}

func (b *bundle) complete(t *testing.T, run *domain.Run, texts ...string) {
	t.Helper()
	c := domain.Completion{State: domain.RunDone}
	for _, text := range texts {
		c.Items = append(c.Items, domain.OutboxItem{To: run.Head.Message.Address(), Text: text})
	}
	if err := b.Complete(b.ctx, run.ID, c); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) deliveries(t *testing.T, channel string) []domain.Delivery {
	t.Helper()
	ds, _, err := b.ClaimDeliveriesNow(b.ctx, channel, 10)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func poked(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
