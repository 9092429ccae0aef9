package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A turn hears of what is accepted on the same host, and on another one: of a message that may be steered into it, and of one that takes
// its lane.
func TestATurnHearsOfWhatIsAccepted(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (here, there *store.Store){
		"on its host": func(t *testing.T) (here, there *store.Store) {
			t.Helper()
			s := storetest.Open(t)
			return s, s
		},
		"on another host": func(t *testing.T) (here, there *store.Store) {
			t.Helper()
			dsn := postgrestest.Shared(t).Database(t)
			return openServer(t, dsn), openServer(t, dsn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, there := open(t)
			began, nudged, causes := make(chan struct{}, 1), make(chan struct{}, 1), make(chan error, 1)
			d := dispatch.New(here, dispatch.Options{Turns: 2, Commands: 1, Grace: time.Second}, hclog.NewNullLogger())
			ctx, cancel := context.WithCancel(t.Context())
			var done sync.WaitGroup
			done.Go(func() {
				d.Run(ctx, handler(func(ctx context.Context, r *domain.Run, nudges <-chan struct{}) error {
					if r.Head.EventID != "1" {
						return nil
					}
					began <- struct{}{}
					select {
					case <-nudges:
						nudged <- struct{}{}
					case <-ctx.Done():
					}
					<-ctx.Done()
					causes <- context.Cause(ctx)
					return context.Cause(ctx)
				}))
			})
			defer done.Wait()
			defer cancel()
			accept := func(id chat.EventID, mode domain.Mode) {
				t.Helper()
				storetest.Accept(t, there, domain.Inbound{
					EventID: id, Session: "s", Lane: domain.TurnLane, Queue: domain.Queueing{Mode: mode},
					Message: domain.Message{Channel: "tg", Chat: chat.Chat{ID: "7", Kind: chat.Direct}, Text: "hi"},
				})
			}
			accept("1", domain.Queue)
			await(t, "the turn", began)
			accept("2", domain.Steer)
			await(t, "the message that may be steered", nudged)
			accept("3", domain.Interrupt)
			if cause := await(t, "the message that interrupts", causes); !errors.Is(cause, domain.ErrFenced) {
				t.Errorf("the turn ended with %v", cause)
			}
		})
	}
}

func openServer(t *testing.T, dsn string) *store.Store {
	t.Helper()
	s, err := store.OpenServer(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func await[T any](t *testing.T, what string, c <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s is not there", what)
	}
	return value
}
