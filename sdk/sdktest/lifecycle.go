package sdktest

import (
	"context"
	"errors"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func endsRun(t testing.TB, s Setup) {
	network, config := s.network(t)
	h, run := s.start(t, config)
	network.Deliver(s.Chats[0], "before")
	h.NextEvent()
	run.Stop()
	h.Shutdown()
	h, _ = s.start(t, config)
	network.Deliver(s.Chats[0], "after")
	for {
		// The first message may be delivered again if its acknowledgement was cut off; this host has not seen it.
		if m, ok := h.NextEvent().Body.(chat.Message); ok && m.Text == "after" {
			return
		}
	}
}

func endsRunRefused(t testing.TB, s Setup) { endsRunSubmitting(t, s, Unavailable) }

func endsRunHanging(t testing.TB, s Setup) {
	endsRunSubmitting(t, s, func(ctx context.Context, _ chat.Event) (chat.Verdict, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
}

func endsRunSubmitting(t testing.TB, s Setup, submit SubmitFunc) {
	t.Helper()
	network, config := s.network(t)
	h, run := s.start(t, config)
	h.Host.OnSubmit(submit)
	for _, id := range s.Chats {
		network.Deliver(id, "not taken, from "+string(id))
	}
	h.awaitHost("an event is submitted", func() bool { return len(h.Host.submitted) > 0 })
	run.Stop()
}

// connected runs the channel on a network with a feature, and waits until it is connected.
func connected[N Network](t testing.TB, s Setup, f Feature) (network N, h *Harness, run *Run, ok bool) {
	t.Helper()
	n, config := s.network(t)
	if network, ok = feature[N](t, s, n, f); ok {
		h, run = s.start(t, config)
		run.WaitFor(chat.Connected)
	}
	return network, h, run, ok
}

func endsRunAway(t testing.TB, s Setup) {
	network, _, run, ok := connected[AbsentNetwork](t, s, Absences)
	if !ok {
		return
	}
	network.Leave()
	run.waitForNot(chat.Connected)
	run.Stop()
}

func outlivesAbsence(t testing.TB, s Setup) {
	network, h, run, ok := connected[AbsentNetwork](t, s, Absences)
	if !ok {
		return
	}
	network.Deliver(s.Chats[0], "before")
	h.NextEvent()
	eventually(t, "the channel is healthy", h.Health, is[error](nil))
	network.Leave()
	run.waitForNot(chat.Connected)
	if h.Health() == nil {
		t.Error("the channel is healthy, though the network is down")
	}
	_, err := h.Send(chat.Outgoing{Key: "away", To: s.first(), Text: "nobody is there"})
	if f, ok := errors.AsType[*chat.Failure](err); !ok || !f.Reason.Retryable() {
		t.Errorf("a message while the network is down gives %v, want a temporary failure", err)
	}
	network.Deliver(s.Chats[0], "meanwhile")
	network.Return()
	for {
		// The first message may be delivered again: its acknowledgement may have been cut off, and the host knows its id.
		if m, ok := h.NextEvent().Body.(chat.Message); ok && m.Text == "meanwhile" {
			break
		}
	}
	run.WaitFor(chat.Connected)
	eventually(t, "the channel is healthy again", h.Health, is[error](nil))
	acknowledged(t, network, "meanwhile")
	s.say(t, h, "there again")
	eventually(t, "a message arrives again", sentTo(network, s.Chats[0]), has("there again"))
}

func tellsRevocation(t testing.TB, s Setup) {
	network, h, run, ok := connected[AccountNetwork](t, s, Accounts)
	if !ok {
		return
	}
	network.Revoke()
	for {
		if state := run.NextState().State; state == chat.BadCredentials || state == chat.LoggedOut {
			break
		}
	}
	if err := run.Wait(); err == nil {
		t.Error("Run returns nil, though its account is gone")
	}
	if h.Health() == nil {
		t.Error("the channel is healthy, though its account is gone")
	}
}

func leavesNothing(t testing.TB, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	network.Deliver(s.Chats[0], "a message")
	h.NextEvent()
	h.Shutdown()
	h.checkLeaks(s)
}

// checkLeaks fails the test if goroutines of a plugin remain after its shutdown.
func (h *Harness) checkLeaks(s Setup) {
	h.t.Helper()
	var left string
	for range polls {
		if left = goroutines(h.label, s.Leaks); left == "" {
			return
		}
	}
	h.t.Errorf("goroutines of the channel are left after Shutdown:\n%s", left)
}
