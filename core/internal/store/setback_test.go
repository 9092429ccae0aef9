package store

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What waits for a moment is not held up until a clock that was set back comes there again.
// Behaviour: clock-set-back.
func TestAClockThatIsSetBackHoldsNothingUp(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	const window, pause = time.Second, 10 * time.Minute
	to := chat.Address{Channel: "telegram", Chat: "anna"}
	for name, waits := range map[string]func(ctx context.Context, s *Store) (wait time.Duration, claimed <-chan error, err error){
		"a message": func(ctx context.Context, s *Store) (time.Duration, <-chan error, error) {
			_, err := s.Accept(ctx, domain.Inbound{
				EventID: "1", Session: "s", Lane: domain.TurnLane, Burst: domain.Burst{Gap: window, Pause: window, By: "anna"},
				Message: domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "anna"}, Sender: chat.Sender{ID: "anna"}},
			})
			claimed := make(chan error, 1)
			go func() { claimed <- s.Claim(ctx, domain.TurnLane, domain.Anybodys, func(*domain.Run) {}) }()
			return window, claimed, err
		},
		"a piece": func(ctx context.Context, s *Store) (time.Duration, <-chan error, error) {
			if _, err := s.Post(ctx, domain.Key{}, domain.OutboxItem{To: to}); err != nil {
				return 0, nil, err
			}
			ds, err := s.ClaimDeliveries(ctx, to.Channel, 1)
			if err != nil {
				return 0, nil, err
			}
			err = s.Retry(ctx, ds[0].ID, domain.Retry{At: s.db.Now().Add(pause)})
			claimed := make(chan error, 1)
			go func() {
				_, err := s.ClaimDeliveries(ctx, to.Channel, 1)
				claimed <- err
			}()
			return pause, claimed, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var back atomic.Int64
				s, err := Open(t.Context(), t.TempDir()+"/clawhost.db", Options{
					Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) },
				})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				wait, claimed, err := waits(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				back.Store(int64(3 * time.Hour))
				// The writer looks at the clock once a minute where something is due.
				if err := <-claimed; err != nil || time.Since(began) < wait || time.Since(began) > wait+time.Minute {
					t.Errorf("claimed after %v: %v", time.Since(began), err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
