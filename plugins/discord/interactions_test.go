package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// answered waits for the answer to an interaction.
func answered(t *testing.T, s *discordtest.Server, id string) discordtest.Answer {
	t.Helper()
	var found discordtest.Answer
	s.Await(t, "the interaction is answered", func() (ok bool) {
		found, ok = s.AnswerTo(id)
		return ok
	})
	return found
}

func TestCommandsAndButtons(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	s := f.server
	used := s.Use("901", "7", "new", "of that")
	e, command := next[chat.NativeCommand](t, f)
	if command != (chat.NativeCommand{Name: "new", Args: "of that"}) || e.ID != chat.EventID("dc:interaction:"+used) || e.Sender.ID != "7" || e.Chat.ID != "901" {
		t.Errorf("%+v", e)
	}
	if a := answered(t, s, used); a.Type != 4 || a.Text != "`/new` is on its way." || !a.Private {
		t.Errorf("the command is answered by %+v", a)
	}
	receipt, err := f.host.Send(chat.Outgoing{Key: "ask", To: chat.Address{Chat: "70"}, Text: "May I?", Buttons: [][]chat.Button{{{Label: "Yes", Data: "y:1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Replies("70")[0].Buttons; !cmp.Equal(got, []discordtest.Button{{Label: "Yes", Data: "y:1"}}) {
		t.Errorf("the buttons are %+v", got)
	}
	pressed := s.Press(string(receipt.IDs[0]), "7", "y:1")
	if e, press := next[chat.ButtonPress](t, f); press != (chat.ButtonPress{MessageID: receipt.IDs[0], Data: "y:1"}) || e.Chat.Kind != chat.Direct {
		t.Errorf("%+v", e)
	}
	if a := answered(t, s, pressed); a.Type != 6 {
		t.Errorf("the press is answered by %+v", a)
	}
	if err := f.host.Edit(chat.Address{Chat: "70"}, receipt.IDs[0], "Thanks.", nil); err != nil {
		t.Fatal(err)
	}
	if got := s.Replies("70")[0]; got.Text != "Thanks." || len(got.Buttons) != 0 {
		t.Errorf("edited to %+v", got)
	}
}

// TestRefusedInteractions: who may not do it is told.
func TestRefusedInteractions(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.host.Host.OnSubmit(func(context.Context, chat.Event) (chat.Verdict, error) { return chat.Rejected, nil })
	if a := answered(t, f.server, f.server.Use("901", "7", "new", "")); a.Type != 4 || a.Text != "Commands are not taken here from you." || !a.Private {
		t.Errorf("the command is answered by %+v", a)
	}
	button := f.server.Say("901", "8", "buttons of somebody")
	if a := answered(t, f.server, f.server.Press(button, "7", "x")); a.Type != 4 || a.Text != "This button is not for you." || !a.Private {
		t.Errorf("the press is answered by %+v", a)
	}
}

// busy is a fixture whose host takes nothing until it is let.
func busy(t *testing.T) (f fixture, let func(chat.Verdict)) {
	t.Helper()
	f = fixture{server: discordtest.New(t), states: &ledgers{}, seen: map[chat.EventID]bool{}, pace: quickPace()}
	f.server.User("7", "anna")
	f.server.Direct("7", "70")
	f = f.again(t)
	verdict := make(chan chat.Verdict, 1)
	host := f.host.Host
	host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		select {
		case v := <-verdict:
			verdict <- v
			if v == chat.Rejected {
				return v, nil
			}
			return host.Accept(ctx, e)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	return f, func(v chat.Verdict) { verdict <- v }
}

// kept are the interactions in the plugin's state.
func (l *ledger) kept() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, value := range l.values {
		if strings.HasPrefix(key, interactionPrefix) {
			list = append(list, value)
		}
	}
	return list
}

// TestBusyHost: an interaction that the host does not take in time is kept, acknowledged, and followed up.
func TestBusyHost(t *testing.T) {
	t.Parallel()
	for _, v := range []chat.Verdict{chat.Accepted, chat.Rejected} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			f, let := busy(t)
			s, state := f.server, f.states.of(f.server.URL())
			button := s.Say("70", discordtest.BotID, "buttons")
			used, pressed := s.Use("70", "7", "status", ""), s.Press(button, "7", "x")
			if a := answered(t, s, used); a.Type != 5 {
				t.Errorf("the command is acknowledged by %+v", a)
			}
			if a := answered(t, s, pressed); a.Type != 6 {
				t.Errorf("the press is acknowledged by %+v", a)
			}
			list := state.kept()
			if len(list) != 2 || strings.Contains(strings.Join(list, ""), `"t1`) {
				t.Errorf("kept is %q, want two without a token", list)
			}
			let(v)
			s.Await(t, "the command is followed up", func() bool {
				a, _ := s.AnswerTo(used)
				return a.Edited == map[chat.Verdict]string{chat.Accepted: "`/status` is on its way.", chat.Rejected: "Commands are not taken here from you."}[v]
			})
			if v == chat.Rejected {
				s.Await(t, "the press is followed up", func() bool {
					a, _ := s.AnswerTo(pressed)
					return len(a.FollowUps) == 1 && a.FollowUps[0] == "This button is not for you."
				})
			}
			await(t, "nothing is kept any more", func() bool { return len(state.kept()) == 0 })
		})
	}
}

// TestKeptInteractions come though their session and their life are lost: they were acknowledged.
func TestKeptInteractions(t *testing.T) {
	t.Parallel()
	f, _ := busy(t)
	s := f.server
	used := s.Use("70", "7", "status", "now")
	answered(t, s, used)
	f.host.Shutdown()
	s.Forget()
	f.pace = testPace()
	f = f.again(t)
	if e, command := next[chat.NativeCommand](t, f); command != (chat.NativeCommand{Name: "status", Args: "now"}) || e.ID != chat.EventID("dc:interaction:"+used) || e.Sender.DisplayName != "anna" {
		t.Errorf("it comes as %+v", e)
	}
	await(t, "it is kept no more", func() bool { return len(f.states.of(s.URL()).kept()) == 0 })
}

// TestReplayedInteraction: one that was acknowledged in a life before, and comes again with its session, is followed up.
func TestReplayedInteraction(t *testing.T) {
	t.Parallel()
	f, _ := busy(t)
	s := f.server
	used := s.Use("70", "7", "status", "")
	answered(t, s, used)
	f.host.Shutdown()
	f = f.again(t)
	next[chat.NativeCommand](t, f)
	s.Await(t, "it is followed up", func() bool { a, _ := s.AnswerTo(used); return a.Edited == "`/status` is on its way." })
}

// TestNothingTakesIt: what neither the host nor the state takes is not acknowledged, so that its person sees it fail.
func TestNothingTakesIt(t *testing.T) {
	t.Parallel()
	f, let := busy(t)
	f.states.of(f.server.URL()).refuse(interactionPrefix)
	used := f.server.Use("70", "7", "status", "")
	await(t, "keeping it fails", func() bool { return strings.Contains(f.host.Logs(), "could not be kept") })
	let(chat.Accepted)
	next[chat.NativeCommand](t, f)
	f.host.Shutdown() // What would answer has ended.
	if a, ok := f.server.AnswerTo(used); ok {
		t.Errorf("it is answered by %+v", a)
	}
}

func TestOddInteractions(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{}`, `{"id":"1","channel_id":"2","type":2}`, `{"id":"x","channel_id":"2","type":2,"user":{"id":"7"}}`,
		`{"id":"1","channel_id":"2","type":3,"user":{"id":"7"}}`, `{"id":"1","channel_id":"2","type":4,"user":{"id":"7"}}`,
		`{"id":"1","channel_id":"2","type":3,"member":{}}`,
	} {
		var i interaction
		if err := json.Unmarshal([]byte(raw), &i); err != nil {
			t.Fatal(err)
		}
		if body := i.says(); body != nil {
			t.Errorf("%s says %+v", raw, body)
		}
	}
}

// TestMenuIsShort: of a long list the first are shown, and what is said of each fits.
func TestMenuIsShort(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	c := newChannel(t, s)
	list := []chat.CommandSpec{{Name: "long", Summary: strings.Repeat("ü", 200)}, {Name: "bare"}, {Name: "usage", Usage: "/usage [N]"}}
	if err := c.SetCommands(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	want := []discordtest.Command{{Name: "long", Description: strings.Repeat("ü", 99) + "…"}, {Name: "bare", Description: "/bare"}, {Name: "usage", Description: "/usage [N]"}}
	if diff := cmp.Diff(want, s.Commands()); diff != "" {
		t.Error(diff)
	}
	s.Fail("PUT", "/commands", 1, discordtest.TooManyRequests(time.Second))
	err := c.SetCommands(t.Context(), list)
	if f, ok := err.(*chat.Failure); !ok || f.Reason != chat.RateLimited {
		t.Errorf("got %v", err)
	}
}
