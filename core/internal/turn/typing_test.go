package turn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/sdk/chat"
)

// watcher notes at which second a chat is told what.
type watcher struct {
	began   time.Time
	mu      sync.Mutex
	signals []string
	pending atomic.Bool
}

func (w *watcher) typing() turn.Typing {
	w.began = time.Now()
	return turn.Typing{
		To: chat.Address{Channel: "tg", Chat: "1"}, Every: 5 * time.Second, Pending: func(context.Context) bool { return w.pending.Load() },
		Signal: func(_ context.Context, active bool) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.signals = append(w.signals, fmt.Sprintf("%d %v", int(time.Since(w.began).Seconds()), active))
			return errors.New("nobody minds")
		},
	}
}

func (w *watcher) saw(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.signals); diff != "" {
		t.Error(diff)
	}
}

// Behaviour: typing.
func TestTyping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		typist := turn.NewTypist()
		shown := typist.Show(w.typing())
		time.Sleep(12 * time.Second)
		shown.End()
		shown.End()
		typist.Wait()
		shown.Heard(true) // sealed
		w.saw(t, "0 true", "5 true", "10 true", "12 false")
	})
}

// Behaviour: typing.
func TestTypingFromTheFirstWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w, silent watcher
		typist := turn.NewTypist()
		typing, never := w.typing(), silent.typing()
		typing.Words, never.Words = true, true
		shown, mute := typist.Show(typing), typist.Show(never)
		time.Sleep(7 * time.Second)
		shown.Heard(false)
		mute.Heard(false)
		time.Sleep(time.Second)
		shown.Heard(true)
		time.Sleep(6 * time.Second)
		shown.End()
		mute.End()
		typist.Wait()
		w.saw(t, "8 true", "13 true", "14 false")
		silent.saw(t)
	})
}

// Behaviour: typing.
func TestTypingOfATurnWithoutASignOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		typist := turn.NewTypist()
		typing := w.typing()
		typing.Every = time.Minute
		shown := typist.Show(typing)
		time.Sleep(250 * time.Second)
		shown.Heard(false)
		time.Sleep(time.Minute)
		shown.End()
		typist.Wait()
		w.saw(t, "0 true", "60 true", "120 true", "250 true", "300 true", "310 false")
	})
}

// The signal stands until the answer has arrived, but not for ever.
// Behaviour: typing.
func TestTypingUntilTheAnswerIsDelivered(t *testing.T) {
	t.Parallel()
	for name, delivered := range map[string]bool{"delivered": true, "stuck": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var w watcher
				w.pending.Store(true)
				typist := turn.NewTypist()
				typing := w.typing()
				shown := typist.Show(typing)
				time.Sleep(time.Second)
				shown.End()
				time.Sleep(2 * time.Second)
				typist.Delivered(chat.Address{Channel: "tg", Chat: "2"})
				typist.Delivered(typing.To) // one of two items
				time.Sleep(4 * time.Second)
				if delivered {
					w.pending.Store(false)
					typist.Delivered(typing.To)
				}
				time.Sleep(10 * time.Second)
				typist.Wait()
				if delivered {
					w.saw(t, "0 true", "5 true", "7 false")
				} else {
					w.saw(t, "0 true", "5 true", "10 true", "11 false")
				}
			})
		})
	}
}

// A host that goes down does not wait for what is on its way.
func TestTypingIsTakenBackAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		w.pending.Store(true)
		typist := turn.NewTypist()
		shown := typist.Show(w.typing())
		time.Sleep(time.Second)
		shown.End()
		time.Sleep(time.Second)
		typist.Wait()
		w.saw(t, "0 true", "2 false")
	})
}

// A plugin that hangs does not keep the host from going down.
// Behaviour: shutdown.
func TestTypingSignalsThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		typist := turn.NewTypist()
		typist.Once(hangs)
		for range 3 {
			typist.Show(turn.Typing{
				To: chat.Address{Channel: "tg", Chat: "1"}, Every: 5 * time.Second, Pending: func(context.Context) bool { return true },
				Signal: func(ctx context.Context, _ bool) error { return hangs(ctx) },
			}).End()
		}
		began := time.Now()
		typist.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("waited %v for a plugin that hangs, want a second", took)
		}
	})
}
