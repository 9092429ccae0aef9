package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/sdk/chat"
)

// witness is an observer that notes what it is told.
type witness struct {
	mu    sync.Mutex
	told  []string
	stuck chan struct{} // not nil: each call waits until it is closed, whatever its context says
	err   error
}

func (w *witness) MessageReceived(_ context.Context, caller chat.Caller, m chat.Message) error {
	if w.stuck != nil {
		<-w.stuck
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, caller.Session+" "+m.Text)
	return w.err
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.told)
}

func (w *witness) target(name string) hook.Observer {
	return hook.Observer{Name: name, Plugin: w}
}

// observers are the plugins that observe.
type observers []hook.Observer

func (o observers) Observers() []hook.Observer { return o }

// observe runs observers in the bubble; stop ends them and waits.
func observe(t *testing.T, log hclog.Logger, targets ...hook.Observer) (o *hook.Observers, stop func()) {
	t.Helper()
	o = hook.NewObservers(observers(targets), log)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); o.Run(ctx) }()
	return o, func() { cancel(); <-ended }
}

func say(o *hook.Observers, texts ...string) {
	for _, text := range texts {
		o.Received(chat.Caller{Session: "s"}, chat.Message{Text: text})
	}
}

// Behaviour: observe.
func TestObserversAreToldInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		anna, ben := &witness{}, &witness{err: errors.New("no paper")}
		var log bytes.Buffer
		o, stop := observe(t, hclog.New(&hclog.LoggerOptions{Output: &log}), anna.target("anna"), ben.target("ben"))
		say(o, "before Run may have begun", "one", "two")
		synctest.Wait()
		say(o, "three")
		synctest.Wait()
		stop()
		say(o, "too late")
		want := []string{"s before Run may have begun", "s one", "s two", "s three"}
		for name, w := range map[string]*witness{"one that is well": anna, "one that fails": ben} {
			if diff := cmp.Diff(want, w.told); diff != "" {
				t.Errorf("%s was told (-want +got):\n%s", name, diff)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "no paper") || !strings.Contains(log.String(), "plugin=ben") {
			t.Errorf("the log tells of the failures in %d lines:\n%s", n, log.String())
		}
	})
}

// TestASlowObserverHoldsUpNothing: neither the message's way nor another observer.
// Behaviour: observe.
func TestASlowObserverHoldsUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, quick := &witness{stuck: make(chan struct{})}, &witness{}
		var log bytes.Buffer
		o, stop := observe(t, hclog.New(&hclog.LoggerOptions{Output: &log}), slow.target("slow"), quick.target("quick"))
		const messages = 1000
		began := time.Now()
		for i := range messages {
			say(o, fmt.Sprint(i))
			synctest.Wait() // the quick one keeps up
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Received waited for %v", took)
		}
		if quick.count() != messages {
			t.Errorf("the quick observer was told of %d messages", quick.count())
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines within no time:\n%s", n, log.String())
		}
		time.Sleep(time.Minute)
		say(o, "later")
		if lines := log.String(); strings.Count(lines, "\n") != 2 || !strings.Contains(lines, fmt.Sprintf("messages=%d", messages-257)) {
			t.Errorf("after a minute the log says:\n%s", lines)
		}
		close(slow.stuck)
		synctest.Wait()
		// The message that was sent while it hung, and the oldest of those that waited.
		if told := slow.told; len(told) != 257 || told[0] != "s 0" || told[256] != "s 256" {
			t.Errorf("the slow observer was told of %d messages, %q to %q", len(told), told[0], told[len(told)-1])
		}
		say(o, "at last")
		synctest.Wait()
		if slow.told[257] != "s at last" {
			t.Errorf("then it was told %q", slow.told[257])
		}
		stop()
	})
}

func TestLongMessagesWaitInSmallNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &witness{stuck: make(chan struct{})}
		o, stop := observe(t, hclog.NewNullLogger(), slow.target("slow"))
		say(o, "first")
		synctest.Wait()
		for range 100 {
			say(o, strings.Repeat("x", 1<<20))
		}
		close(slow.stuck)
		synctest.Wait()
		if slow.count() != 1+4 {
			t.Errorf("%d messages waited, want 4 of a MiB each", slow.count()-1)
		}
		stop()
	})
}

func TestRunWaitsForACallUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &witness{stuck: make(chan struct{})}
		o, stop := observe(t, hclog.NewNullLogger(), slow.target("slow"))
		say(o, "one", "two")
		synctest.Wait()
		ended := make(chan struct{})
		go func() { defer close(ended); stop() }()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("Run has returned though a call is under way")
		default:
		}
		close(slow.stuck)
		<-ended
		if slow.count() != 1 {
			t.Errorf("told of %d messages, want the one under way", slow.count())
		}
	})
}
