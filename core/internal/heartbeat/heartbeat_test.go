package heartbeat_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/heartbeat"
)

// task is what a heartbeat of a test does.
type task struct {
	idle func() (string, error)
	beat func(id domain.Key)
}

func (t task) Idle(context.Context) (string, error) { return t.idle() }

func (t task) Beat(_ context.Context, id domain.Key) error {
	t.beat(id)
	return nil
}

// beats runs a heartbeat of an hour for a day that begins at midnight and returns at which hours it beat.
func beats(t *testing.T, from, to int, idle func(hour int) (string, error)) (hours []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		midnight := time.Now() // the bubble's clock begins at midnight UTC
		var mu sync.Mutex
		ids := map[domain.Key]bool{}
		hour := func() int { return int(time.Since(midnight) / time.Hour) }
		h := heartbeat.New(heartbeat.Options{
			Every: time.Hour, From: from, To: to, Zone: time.UTC,
		}, task{
			idle: func() (string, error) { return idle(hour()) },
			beat: func(id domain.Key) {
				mu.Lock()
				defer mu.Unlock()
				if ids[id] {
					t.Errorf("the id %s is there twice", id)
				}
				ids[id] = true
				hours = append(hours, hour())
			},
		}, hclog.NewNullLogger())
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour-time.Minute)
		defer cancel()
		h.Run(ctx)
	})
	return hours
}

// Behaviour: heartbeat, heartbeat-nothing.
func TestBeats(t *testing.T) {
	t.Parallel()
	wanted := func(int) (string, error) { return "", nil }
	for name, test := range map[string]struct {
		from, to int
		idle     func(hour int) (string, error)
		want     []int
	}{
		"within its hours": {from: 8 * 60, to: 11 * 60, idle: wanted, want: []int{8, 9, 10}},
		"over midnight":    {from: 22*60 + 30, to: 2 * 60, idle: wanted, want: []int{1, 23}},
		"always":           {idle: wanted, want: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
		"nothing to watch": {idle: func(hour int) (string, error) {
			if hour == 5 {
				return "", nil
			}
			return "the list is empty", nil
		}, want: []int{5}},
		"an error is no end": {from: 5 * 60, to: 8 * 60, idle: func(hour int) (string, error) {
			if hour == 6 {
				return "", errors.New("the disk is gone")
			}
			return "", nil
		}, want: []int{5, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, beats(t, test.from, test.to, test.idle)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
