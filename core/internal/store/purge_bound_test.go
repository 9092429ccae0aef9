package store

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func openTest(t *testing.T) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clawhost.db")
	Prepare(t, path)
	s, err := OpenTest(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Behaviour: accept-once.
func TestPurgeBoundsTheDedupeKeysByCount(t *testing.T) {
	t.Parallel()
	var now atomic.Int64 // no two events at the same time
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "clawhost.db"), Options{
		Now: func() time.Time { return time.UnixMilli(now.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	accept := func(n int) (duplicate bool) {
		t.Helper()
		a, err := s.Accept(t.Context(), domain.Inbound{
			EventID: chat.EventID(fmt.Sprint(n)), Session: "s", Lane: domain.TurnLane, Message: domain.Message{Channel: "telegram"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return a.Duplicate
	}
	for n := range 20 {
		accept(n)
	}
	if err := s.purge(t.Context(), Ages{}, 5); err != nil {
		t.Fatal(err)
	}
	for n := 19; n >= 14; n-- {
		if got, want := accept(n), n >= 15; got != want {
			t.Errorf("event %d: duplicate %v, want %v", n, got, want)
		}
	}
}
