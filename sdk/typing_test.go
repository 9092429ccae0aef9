package sdk_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// running serves a channel and returns the inbox of its Run.
func running(t *testing.T, prepare func(*sdktest.Harness)) (*sdktest.Harness, *sdktest.Run, sdk.Inbox) {
	t.Helper()
	inboxes := make(chan sdk.Inbox, 1)
	h := sdktest.New(t, channelOf(&plainChannel{run: func(ctx context.Context, in sdk.Inbox) error {
		inboxes <- in
		return untilDone(ctx, in)
	}}))
	prepare(h)
	h.Configure(nil)
	return h, h.Run(), <-inboxes
}

// types is a hint that somebody types in the chat of [message].
func types(who chat.UserID) chat.Typing {
	return chat.Typing{Chat: chat.Chat{ID: "club", Kind: chat.Group}, Sender: chat.Sender{ID: who}}
}

// told returns what the host was told, in short.
func told(h *sdktest.Harness) string {
	synctest.Wait()
	var list []string
	for _, hint := range h.Host.Typings() {
		line := fmt.Sprint(hint.Chat.ID, hint.Thread, " ", hint.Sender.ID)
		if hint.Stopped {
			line += " stopped"
		}
		list = append(list, line)
	}
	return strings.Join(list, ", ")
}

// Behaviour: typing-hint.
func TestTyping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _, in := running(t, func(*sdktest.Harness) {})
		elsewhere, stopped := types("anna"), types("anna")
		elsewhere.Thread, stopped.Stopped = "t", true
		want := ""
		step := func(what string, more string, do func()) {
			t.Helper()
			if do(); more != "" {
				want = strings.TrimPrefix(want+", "+more, ", ")
			}
			if got := told(h); got != want {
				t.Errorf("%s: the host was told %q, want %q", what, got, want)
			}
		}
		step("a person types", "club anna", func() { in.Typing(types("anna")) })
		step("and goes on", "", func() { in.Typing(types("anna")) })
		step("another person", "club bob", func() { in.Typing(types("bob")) })
		step("in another thread", "clubt anna", func() { in.Typing(elsewhere) })
		step("stopped", "club anna stopped", func() { in.Typing(stopped); in.Typing(stopped) })
		step("goes on", "club anna", func() { in.Typing(types("anna")); in.Typing(types("anna")) })
		time.Sleep(2900 * time.Millisecond)
		step("goes on after less than 3 seconds", "", func() { in.Typing(types("anna")) })
		time.Sleep(100 * time.Millisecond)
		step("goes on after 3 seconds", "club anna", func() { in.Typing(types("anna")) })
		step("writes the next message", "club anna", func() {
			if _, err := in.Submit(t.Context(), message("1", "hello")); err != nil {
				t.Fatal(err)
			}
			in.Typing(types("anna"))
		})
		step("nobody, and nowhere", "", func() {
			in.Typing(types(""))
			in.Typing(chat.Typing{Sender: chat.Sender{ID: "anna"}})
			in.Typing(types(chat.UserID(strings.Repeat("x", 1000))))
		})
	})
}

// An older host is asked once, and nothing is said about it.
// Behaviour: typing-older.
func TestTypingForAnOlderHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, run, in := running(t, func(h *sdktest.Harness) { h.Before = true })
		for n := range 100 {
			in.Typing(types(chat.UserID(fmt.Sprint("person", n))))
			if n == 0 {
				synctest.Wait()
			}
		}
		if got := told(h); got != "club person0" {
			t.Errorf("the host was told %q", got)
		}
		run.Stop()
		if strings.Contains(h.Logs(), "typ") {
			t.Errorf("logged: %s", h.Logs())
		}
	})
}

// A failure is not repeated and does not end the hints.
func TestTypingIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _, in := running(t, func(h *sdktest.Harness) {
			h.Host.OnTyping(func(context.Context, chat.Typing) error { return status.Error(codes.Unavailable, "not now") })
		})
		in.Typing(types("anna"))
		time.Sleep(time.Minute)
		in.Typing(types("bob"))
		if got := told(h); got != "club anna, club bob" {
			t.Errorf("the host was told %q", got)
		}
	})
}

// While the host hangs, hints are dropped, what waits is told later unless its message has come, and Run ends with its context.
// Behaviour: typing-hint.
func TestTypingNeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		h, run, in := running(t, func(h *sdktest.Harness) {
			h.Host.OnTyping(func(ctx context.Context, _ chat.Typing) error {
				select {
				case <-free:
				case <-ctx.Done():
				}
				return nil
			})
		})
		began := time.Now()
		in.Typing(types("first"))
		synctest.Wait()
		in.Typing(types("anna"))
		for n := range 10_000 {
			in.Typing(types(chat.UserID(fmt.Sprint(n))))
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("hints took %v", took)
		}
		if _, err := in.Submit(t.Context(), message("1", "hello")); err != nil { // anna's
			t.Fatal(err)
		}
		if got := told(h); got != "club first" {
			t.Errorf("the host that hangs was told %q", got)
		}
		free <- struct{}{}
		if got := told(h); got != "club first, club 0" {
			t.Errorf("the host was told %q", got)
		}
		time.Sleep(5 * time.Second) // what a call may take
		if got := told(h); got != "club first, club 0, club 1" {
			t.Errorf("after a call that hung, the host was told %q", got)
		}
		run.Stop()
		close(free)
		if got := len(h.Host.Typings()); got != 3 {
			t.Errorf("after the end of Run the host was told %d hints", got)
		}
		in.Typing(types("late"))
	})
}
