package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
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

// TestRefusedInteractions: who may not do it gets an answer, after the acknowledgement.
func TestRefusedInteractions(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.host.Host.OnSubmit(func(context.Context, chat.Event) (chat.Verdict, error) { return chat.Rejected, nil })
	used := f.server.Use("901", "7", "new", "")
	f.server.Await(t, "the command is refused", func() bool {
		a, _ := f.server.AnswerTo(used)
		return a.Type == 4 && a.Edited == "You may not use commands here." && a.Private
	})
	pressed := f.server.Press(f.server.Say("901", "8", "buttons of somebody"), "7", "x")
	f.server.Await(t, "the press is refused", func() bool {
		a, _ := f.server.AnswerTo(pressed)
		return a.Type == 6 && cmp.Equal(a.FollowUps, []string{"This button is not for you."})
	})
}

// busy is a fixture whose host takes nothing until it is let.
func busy(t *testing.T) (f fixture, let func(chat.Verdict)) {
	t.Helper()
	f = start(t, nil)
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

// TestBusyHost: an interaction is acknowledged, however long the host needs for what came before it.
// Behaviour: discord-interaction.
func TestBusyHost(t *testing.T) {
	t.Parallel()
	f, let := busy(t)
	s, state := f.server, f.states.of(f.server.URL())
	s.Say("70", "7", "hello")
	used, pressed := s.Use("70", "7", "status", ""), s.Press(s.Say("70", discordtest.BotID, "buttons"), "7", "x")
	if a := answered(t, s, used); a.Type != 4 || a.Text != "`/status` is on its way." {
		t.Errorf("the command is acknowledged by %+v", a)
	}
	if a := answered(t, s, pressed); a.Type != 6 {
		t.Errorf("the press is acknowledged by %+v", a)
	}
	if list := state.kept(); len(list) != 2 {
		t.Errorf("kept is %q, want both", list)
	}
	let(chat.Accepted)
	f.message(t, "hello")
	next[chat.NativeCommand](t, f)
	next[chat.ButtonPress](t, f)
	await(t, "nothing is kept any more", func() bool { return len(state.kept()) == 0 })
}

// TestReplayedInteraction: one that was acknowledged in a life before comes again with its session.
// Behaviour: discord-interaction.
func TestReplayedInteraction(t *testing.T) {
	t.Parallel()
	f, _ := busy(t)
	s := f.server
	used := s.Use("70", "7", "status", "")
	answered(t, s, used)
	f.host.Shutdown()
	s.Expire()
	f = f.again(t)
	if e, _ := next[chat.NativeCommand](t, f); e.ID != chat.EventID("dc:interaction:"+used) {
		t.Errorf("it comes as %+v", e)
	}
	await(t, "it is kept no more", func() bool { return len(f.states.of(s.URL()).kept()) == 0 })
}

// TestUnacknowledged: the host never hears of what its person sees fail, for they will do it again.
// Behaviour: discord-interaction.
func TestUnacknowledged(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	s, state := f.server, f.states.of(f.server.URL())
	state.refuse(interactionPrefix) // as of a host that is too busy
	button := s.Say("70", discordtest.BotID, "buttons")
	lost := []string{s.Use("70", "7", "new", "first"), s.Press(button, "7", "first")}
	s.Await(t, "the plugin tries again", func() bool { return s.Resumed() > 2 })
	s.Expire()
	state.refuse("")
	again := s.Use("70", "7", "new", "again")
	if _, command := next[chat.NativeCommand](t, f); command.Args != "again" {
		t.Errorf("what failed comes to the host: %+v", command)
	}
	for _, id := range lost {
		if a, ok := s.AnswerTo(id); ok {
			t.Errorf("it is answered by %+v", a)
		}
	}
	answered(t, s, again)
	s.Press(button, "7", "again")
	if _, press := next[chat.ButtonPress](t, f); press.Data != "again" {
		t.Errorf("what failed comes to the host: %+v", press)
	}
	await(t, "nothing is kept any more", func() bool { return len(state.kept()) == 0 })
}

// TestKilledBetween ends the process and its session at each point of an interaction. The next process gives the host only
// interactions that were acknowledged: by itself, in time, or by the previous process.
// Behaviour: discord-interaction.
func TestKilledBetween(t *testing.T) {
	t.Parallel()
	const callback, original = "/callback", "/messages/@original"
	for name, c := range map[string]struct {
		acknowledged, late, tokenless bool
		trouble                       func(*discordtest.Server)
		comes                         bool
	}{
		"kept":                           {comes: true},
		"kept, and too late":             {late: true},
		"acknowledged":                   {acknowledged: true, late: true, comes: true},
		"acknowledged, and Discord errs": {acknowledged: true, comes: true, trouble: func(s *discordtest.Server) { s.Fail("POST", callback, 3, discordtest.NotJSON(502)) }},
		"acknowledged, known by its text": {acknowledged: true, late: true, comes: true, trouble: func(s *discordtest.Server) {
			s.Fail("POST", callback, 1, discordtest.Refuse(404, 10062, "Unknown interaction"))
		}},
		"acknowledged, and its text is gone": {acknowledged: true, late: true, comes: true, trouble: func(s *discordtest.Server) {
			s.Fail("POST", callback, 1, discordtest.Refuse(404, 10062, "Unknown interaction"))
			s.Fail("GET", original, 1, discordtest.Refuse(404, 10008, "Unknown Message"))
		}},
		"the answer is lost":         {comes: true, trouble: func(s *discordtest.Server) { s.Fail("POST", callback, 1, discordtest.CutAfter()) }},
		"too late, and Discord errs": {late: true, trouble: func(s *discordtest.Server) { s.Fail("GET", original, 3, discordtest.NotJSON(502)) }},
		"kept by the version before": {late: true, tokenless: true, comes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			f.host.Shutdown()
			s := f.server
			s.Forget()
			i := interaction{
				ID: s.Use("70", "7", "new", ""), AppID: discordtest.ApplicationID, Type: discordgo.InteractionApplicationCommand, ChannelID: "70",
				User: &discordgo.User{ID: "7", Username: "anna"}, Data: interactionData{Name: "new"},
			}
			i.Token = "t" + i.ID
			if c.acknowledged {
				(&receiver{rest: newChannel(t, s).rest, log: quiet(), pace: testPace()}).acknowledge(t.Context(), i)
			}
			if c.late {
				s.Expire()
			}
			if c.tokenless {
				i.Token = ""
			}
			raw, err := json.Marshal(i)
			if err != nil {
				t.Fatal(err)
			}
			state := f.states.of(s.URL())
			if _, err := state.Put(t.Context(), interactionPrefix+i.ID, raw); err != nil {
				t.Fatal(err)
			}
			if c.trouble != nil {
				c.trouble(s)
			}
			f = f.again(t)
			s.Say("70", "7", "behind it")
			if c.comes {
				if e, _ := next[chat.NativeCommand](t, f); e.ID != chat.EventID("dc:interaction:"+i.ID) || e.Sender.DisplayName != "anna" {
					t.Errorf("it comes as %+v", e)
				}
			}
			f.message(t, "behind it")
			if _, ok := s.AnswerTo(i.ID); ok != (c.comes && !c.tokenless) {
				t.Errorf("it is acknowledged: %t", ok)
			}
			await(t, "nothing is kept any more", func() bool { return len(state.kept()) == 0 })
		})
	}
}

// TestDiscordCannotBeAsked: what is neither acknowledged nor not waits in the plugin's state, and nothing waits for it.
// Behaviour: discord-interaction.
func TestDiscordCannotBeAsked(t *testing.T) {
	t.Parallel()
	f := fixture{pace: testPace()}
	f.pace.acknowledge = 20 * time.Millisecond
	f = f.start(t, nil)
	s := f.server
	s.Fail("POST", "/callback", 1_000_000, discordtest.NotJSON(403))
	used := s.Use("70", "7", "status", "")
	s.Say("70", "7", "behind it")
	f.message(t, "behind it")
	s.Heal()
	if e, _ := next[chat.NativeCommand](t, f); e.ID != chat.EventID("dc:interaction:"+used) {
		t.Errorf("it comes as %+v", e)
	}
	answered(t, s, used)
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
