package store

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/store/delivery"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/hosts"
)

// late is an engine that is slow to return what was read.
type late struct {
	engine.Engine
	read, resume chan struct{}
}

func (l late) View(ctx context.Context) engine.View { return engine.NewView(ctx, l) }

func (l late) Query(ctx context.Context, query string, args []any, scan func(engine.Rows) error) error {
	err := l.Engine.View(ctx).Each(query, args, scan)
	l.read <- struct{}{}
	<-l.resume
	return err
}

// A move is known on its host once it is recorded, although another part of the host returns then with what it has read before.
// Behaviour: group-moves.
func TestMovesAreKnownAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), File)
	Prepare(t, path)
	s, err := OpenTest(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db := late{s.db, make(chan struct{}, 1), make(chan struct{}, 1)}
	db.resume <- struct{}{}
	moves, err := delivery.New(t.Context(), db, hosts.Self{}, "")
	if err != nil {
		t.Fatal(err)
	}
	<-db.read
	ctx, cancel := context.WithCancel(t.Context())
	var follows sync.WaitGroup
	follows.Go(func() { moves.FollowMoves(ctx) })
	defer follows.Wait()
	defer close(db.resume)
	defer cancel()
	<-db.read // there is none
	if _, err := moves.Move(t.Context(), "telegram", "1", "a", "b"); err != nil {
		t.Fatal(err)
	}
	known := func(when string) {
		t.Helper()
		if got := moves.Origin("telegram", "b"); got != "a" {
			t.Errorf("%s the other part has returned, b was %s first", when, got)
		}
	}
	known("before")
	db.resume <- struct{}{}
	<-db.read // again, because of the move
	known("after")
}
