package view

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/chat"
)

// here is the chat of the tests, which is told that an answer is being written every five seconds.
var here = chat.Address{Channel: "tg", Chat: "1"}

const every = 5 * time.Second

// watcher notes at which second a chat is told what.
type watcher struct {
	began   time.Time
	mu      sync.Mutex
	signals []string
	waits   atomic.Bool
	hangs   bool
}

// newTypist returns a typist whose signals are noted from now on.
func (w *watcher) newTypist() *typist {
	w.began = time.Now()
	return newTypist(w)
}

func (w *watcher) pending(context.Context, chat.Address) bool { return w.waits.Load() }

func (w *watcher) signal(ctx context.Context, _ chat.Address, active bool) {
	if w.hangs {
		<-ctx.Done()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signals = append(w.signals, fmt.Sprintf("%d %v", int(time.Since(w.began).Seconds()), active))
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
		typist := w.newTypist()
		shown := typist.show(here, every, false)
		time.Sleep(12 * time.Second)
		shown.end()
		shown.end()
		typist.wait()
		shown.heard(true) // sealed
		w.saw(t, "0 true", "5 true", "10 true", "12 false")
	})
}

// Behaviour: typing.
func TestTypingFromTheFirstWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w, silent watcher
		typist := w.newTypist()
		shown, mute := typist.show(here, every, true), silent.newTypist().show(here, every, true)
		time.Sleep(7 * time.Second)
		shown.heard(false)
		mute.heard(false)
		time.Sleep(time.Second)
		shown.heard(true)
		time.Sleep(6 * time.Second)
		shown.end()
		mute.end()
		typist.wait()
		w.saw(t, "8 true", "13 true", "14 false")
		silent.saw(t)
	})
}

// Behaviour: typing.
func TestTypingOfATurnWithoutASignOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		typist := w.newTypist()
		shown := typist.show(here, time.Minute, false)
		time.Sleep(250 * time.Second)
		shown.heard(false)
		time.Sleep(time.Minute)
		shown.end()
		typist.wait()
		w.saw(t, "0 true", "60 true", "120 true", "250 true", "300 true", "310 false")
	})
}

// The signal stands until the answer has arrived, but not forever.
// Behaviour: typing.
func TestTypingUntilTheAnswerIsDelivered(t *testing.T) {
	t.Parallel()
	for name, delivered := range map[string]bool{"delivered": true, "stuck": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var w watcher
				w.waits.Store(true)
				typist := w.newTypist()
				shown := typist.show(here, every, false)
				time.Sleep(time.Second)
				shown.end()
				time.Sleep(2 * time.Second)
				typist.delivered(chat.Address{Channel: "tg", Chat: "2"})
				typist.delivered(here) // one of two items
				time.Sleep(4 * time.Second)
				if delivered {
					w.waits.Store(false)
					typist.delivered(here)
				}
				time.Sleep(10 * time.Second)
				typist.wait()
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
		w.waits.Store(true)
		typist := w.newTypist()
		shown := typist.show(here, every, false)
		time.Sleep(time.Second)
		shown.end()
		time.Sleep(time.Second)
		typist.wait()
		w.saw(t, "0 true", "2 false")
	})
}

// A plugin that hangs does not keep the host from going down.
// Behaviour: shutdown.
func TestTypingSignalsThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watcher{hangs: true}
		w.waits.Store(true)
		typist := w.newTypist()
		typist.once(here)
		for range 3 {
			typist.show(here, every, false).end()
		}
		began := time.Now()
		typist.wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("waited %v for a plugin that hangs, want a second", took)
		}
	})
}
