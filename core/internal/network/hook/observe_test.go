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

	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// witness is an observer that notes what it gets.
type witness struct {
	mu       sync.Mutex
	messages []string
	err      error
}

func (w *witness) MessageReceived(_ context.Context, m sdk.MessageReceived) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = append(w.messages, m.Caller.Session+" "+m.Message.Text)
	return w.err
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.messages)
}

// run has the witness be a plugin.
func (w *witness) run(t *testing.T, r *plugins.Registry, name string) *plugintest.Process {
	t.Helper()
	return plugintest.Run(t, r, name, sdk.OnMessage(w.MessageReceived))
}

// observe runs observers in the bubble; stop ends them and waits.
func observe(t *testing.T, log hclog.Logger, r *plugins.Registry) (o *hook.Observers, stop func()) {
	t.Helper()
	o = hook.NewObservers(r, log)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); o.Run(ctx) }()
	return o, func() { cancel(); <-ended }
}

// writer writes what plugins observe.
var writer = chat.Caller{
	Session: "s", Address: chat.Address{Channel: "telegram", Chat: "c"}, Kind: chat.Direct, Sender: chat.Sender{ID: "u"}, Authority: chat.Authorised,
}

func say(o *hook.Observers, texts ...string) {
	for _, text := range texts {
		o.Received(writer, chat.Message{Text: text})
	}
}

// Behaviour: observe.
func TestObserversAreNotifiedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		anna, ben := &witness{}, &witness{err: errors.New("no paper")}
		r := plugintest.Registry("anna", "ben")
		anna.run(t, r, "anna")
		ben.run(t, r, "ben")
		var log bytes.Buffer
		o, stop := observe(t, hclog.New(&hclog.LoggerOptions{Output: &log}), r)
		say(o, "before Run may have begun", "one", "two")
		synctest.Wait()
		say(o, "three")
		synctest.Wait()
		stop()
		say(o, "too late")
		want := []string{"s before Run may have begun", "s one", "s two", "s three"}
		for name, w := range map[string]*witness{"one that is well": anna, "one that fails": ben} {
			if diff := cmp.Diff(want, w.messages); diff != "" {
				t.Errorf("%s got (-want +got):\n%s", name, diff)
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
		slow, quick, r := &witness{}, &witness{}, plugintest.Registry("slow", "quick")
		release := slow.run(t, r, "slow").Hold("MessageReceived")
		quick.run(t, r, "quick")
		var log bytes.Buffer
		o, stop := observe(t, hclog.New(&hclog.LoggerOptions{Output: &log}), r)
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
			t.Errorf("the quick observer got %d messages", quick.count())
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines within no time:\n%s", n, log.String())
		}
		time.Sleep(time.Minute)
		say(o, "later")
		if lines := log.String(); strings.Count(lines, "\n") != 2 || !strings.Contains(lines, fmt.Sprintf("messages=%d", messages-257)) {
			t.Errorf("after a minute the log says:\n%s", lines)
		}
		release()
		synctest.Wait()
		// The message that was sent while it hung, and the oldest of those that waited.
		if messages := slow.messages; len(messages) != 257 || messages[0] != "s 0" || messages[256] != "s 256" {
			t.Errorf("the slow observer got %d messages, %q to %q", len(messages), messages[0], messages[len(messages)-1])
		}
		say(o, "at last")
		synctest.Wait()
		if slow.messages[257] != "s at last" {
			t.Errorf("then it got %q", slow.messages[257])
		}
		stop()
	})
}

func TestLongMessagesWaitInSmallNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, r := &witness{}, plugintest.Registry("slow")
		release := slow.run(t, r, "slow").Hold("MessageReceived")
		o, stop := observe(t, hclog.NewNullLogger(), r)
		say(o, "first")
		synctest.Wait()
		for range 100 {
			say(o, strings.Repeat("x", 256<<10))
		}
		release()
		synctest.Wait()
		if slow.count() != 1+16 {
			t.Errorf("%d messages waited, want 16 of 256 KiB each", slow.count()-1)
		}
		stop()
	})
}

func TestRunWaitsForACallUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, r := &witness{}, plugintest.Registry("slow")
		release := slow.run(t, r, "slow").Hold("MessageReceived")
		o, stop := observe(t, hclog.NewNullLogger(), r)
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
		release()
		<-ended
		if slow.count() != 1 {
			t.Errorf("told of %d messages, want the one under way", slow.count())
		}
	})
}
