package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestRestartResumes: a restart within a session's life goes on with it, so that also comes what Discord has in no history.
// Behaviour: discord-catch-up.
func TestRestartResumes(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *discordtest.Server) { s.Direct("8", "80") })
	s := f.server
	said := s.Say("70", "7", "before")
	f.message(t, "before")
	receipt, err := f.host.Send(chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Text: "May I?", Buttons: [][]chat.Button{{{Label: "Yes", Data: "y"}}}})
	if err != nil {
		t.Fatal(err)
	}
	f.host.Shutdown()
	s.Say("80", "8", "from a stranger")
	s.React(said, "7", "👍", true)
	s.Change(said, "better")
	pressed := s.Press(string(receipt.IDs[0]), "7", "y")
	s.Remove(said)
	f = f.again(t)
	f.message(t, "from a stranger")
	if e, r := next[chat.Reaction](t, f); r.Emoji != "👍" || e.Chat.Kind != chat.Direct {
		t.Errorf("the reaction comes as %+v", e)
	}
	if _, edited := next[chat.Edited](t, f); edited.Text != "better" {
		t.Errorf("the edit comes as %+v", edited)
	}
	if e, press := next[chat.ButtonPress](t, f); press.Data != "y" || e.ID != chat.EventID("dc:interaction:"+pressed) {
		t.Errorf("the press comes as %+v", e)
	}
	if _, gone := next[chat.Deleted](t, f); gone.ID != chat.MessageID(said) {
		t.Errorf("the deletion comes as %+v", gone)
	}
	s.Await(t, "the press is answered", func() bool { a, ok := s.AnswerTo(pressed); return ok && a.Type == 6 })
	if s.Identified() != 1 || s.Resumed() != 1 {
		t.Errorf("%d sessions were begun and %d resumed, want one each", s.Identified(), s.Resumed())
	}
}

// TestOtherIntents begin a session of their own.
func TestOtherIntents(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.server.Say("901", "7", "hello")
	f.message(t, "hello")
	f.host.Shutdown()
	f.host = newHarness(t, f.states)
	f.host.Configure(map[string]any{"token": f.server.Token(), "test_endpoint": f.server.URL(), "message_content": false})
	f.host.Run().WaitFor(chat.Connected)
	if f.server.Identified() != 2 || f.server.Resumed() != 0 {
		t.Errorf("%d sessions were begun and %d resumed", f.server.Identified(), f.server.Resumed())
	}
}

// TestCatchingUpFails: the new session is resumed until what it owes has come, not begun again and again.
func TestCatchingUpFails(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	s := f.server
	s.Say("70", "7", "before")
	f.message(t, "before")
	s.Fail(http.MethodGet, "/messages", 3*backfillTries, discordtest.Refuse(500, 0, "500: Internal Server Error"))
	s.Forget()
	s.Cut()
	s.Say("70", "7", "meanwhile")
	f.message(t, "meanwhile")
	if s.Identified() != 2 {
		t.Errorf("%d sessions were begun, want 2", s.Identified())
	}
}

// TestNoResumeBeforeCatchingUp: a life that ends before it has caught up leaves no session that would be resumed without that.
func TestNoResumeBeforeCatchingUp(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	s := f.server
	s.Say("70", "7", "before")
	f.message(t, "before")
	asked := make(chan struct{}, 1000)
	s.Fail(http.MethodGet, "/messages", 1000, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		asked <- struct{}{}
		discordtest.Refuse(500, 0, "500: Internal Server Error")(w, r, next)
	})
	s.Forget()
	s.Say("70", "7", "meanwhile")
	s.Cut()
	<-asked
	f.host.Shutdown()
	s.Heal()
	f = f.again(t)
	f.message(t, "meanwhile")
}

// TestLateMessage: one that comes after another with a higher id is not taken for one that the host has.
// Behaviour: discord-catch-up.
func TestLateMessage(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.Direct("7", "70")
	api, err := newREST(s.Token(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer api.close()
	in := &recorder{}
	r := newReceiver(api, sdk.Env{State: newLedger(), Log: quiet()}, in, testPace())
	r.self = discordtest.BotID
	s.Say("70", "7", "first")
	second := s.Say("70", "7", "second")
	err = r.message(t.Context(), &discordgo.Message{ID: second, ChannelID: "70", Content: "second", Author: &discordgo.User{ID: "7"}})
	if err != nil {
		t.Fatal(err)
	}
	r.begun(ready{}, 1)
	if err := r.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(in.texts, " "); got != "second first second" {
		t.Errorf("the host got %q", got)
	}
}

// TestAnInteractionKeepsItsPlace: one that is acknowledged before its turn overtakes nothing, unless its turn was lost with its
// session.
// Behaviour: discord-interaction.
func TestAnInteractionKeepsItsPlace(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	in, state := &recorder{}, newLedger()
	r := newReceiver(newChannel(t, s).rest, sdk.Env{State: state, Log: quiet()}, in, testPace())
	i := interaction{ID: "5", Type: discordgo.InteractionApplicationCommand, ChannelID: "70", User: &discordgo.User{ID: "7"}, Data: interactionData{Name: "new"}}
	r.claims.add(i.ID, 1).settle(acknowledged, nil)
	if err := r.keep(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if err := r.settle(t.Context()); err != nil || len(in.texts) != 0 {
		t.Fatalf("before its turn the host got %q, %v", in.texts, err)
	}
	r.begun(ready{}, 2)
	if err := r.settle(t.Context()); err != nil || strings.Join(in.texts, " ") != "/new" {
		t.Errorf("after its session was lost the host got %q, %v", in.texts, err)
	}
	if kept := state.kept(); len(kept) != 0 {
		t.Errorf("still kept: %q", kept)
	}
}

// recorder is an inbox that notes what people wrote and picked.
type recorder struct {
	sdk.Inbox
	texts []string
}

func (r *recorder) Submit(_ context.Context, e chat.Event) (chat.Verdict, error) {
	switch body := e.Body.(type) {
	case chat.Message:
		r.texts = append(r.texts, body.Text)
	case chat.NativeCommand:
		r.texts = append(r.texts, "/"+body.Name)
	}
	return chat.Accepted, nil
}

func TestFirstOfItsChannel(t *testing.T) {
	t.Parallel()
	c := newCursors(newLedger())
	if err := c.meet(t.Context(), "70", "", 5); err != nil {
		t.Fatal(err)
	}
	if !c.first("70", 5) || c.first("70", 6) {
		t.Error("the message that the channel was met with is not the first one")
	}
	if c.passed("70", 5); c.first("70", 5) || c.first("70", 6) {
		t.Error("after the first message there is another first one")
	}
}

// TestOldMessagesOfANewServer are not read: the bot was not there yet.
func TestOldMessagesOfANewServer(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *discordtest.Server) { s.Joined(time.Now().Add(time.Hour)) })
	f.host.Shutdown()
	f.server.Say("901", "7", "before the bot came")
	f.server.Forget()
	f = f.again(t)
	f.server.Say("901", "7", "after")
	f.message(t, "after")
}

// TestQuietChannelsAreNotAsked for what they have: that would be many requests for a large server.
func TestQuietChannelsAreNotAsked(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *discordtest.Server) { s.Channel("900", "905", "silent") })
	s := f.server
	s.Say("901", "7", "hello")
	f.message(t, "hello")
	await(t, "the plugin has noted it", func() bool { return f.states.of(s.URL()).passed("901") > 0 })
	s.Forget()
	s.Cut()
	s.Await(t, "the next session has begun", func() bool { return s.Identified() == 2 })
	f.run.WaitFor(chat.Connected)
	s.Say("901", "7", "again")
	f.message(t, "again")
	if n := s.Asked("901") + s.Asked("905"); n != 0 {
		t.Errorf("%d requests for messages of channels where nothing was new", n)
	}
}

// TestTooManySessions: a bot that would begin more than Discord lets it waits, for it would lose its token.
func TestTooManySessions(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.LimitStarts(0)
	h := newHarness(t, &ledgers{})
	h.Configure(map[string]any{"token": s.Token(), "test_endpoint": s.URL()})
	run := h.Run()
	if state := run.WaitFor(chat.Disconnected); !strings.Contains(state.Detail, "as many sessions") {
		t.Errorf("the state is %+v", state)
	}
	run.Stop()
	if s.Identified() != 0 {
		t.Error("a session was begun")
	}
}

// TestManyChannels are caught up in, a page of state after the other.
func TestManyChannels(t *testing.T) {
	t.Parallel()
	const channels = 20
	f := start(t, func(s *discordtest.Server) {
		for n := range channels {
			s.Channel("900", fmt.Sprint(1000+n), "channel")
		}
	})
	for n := range channels {
		f.server.Say(fmt.Sprint(1000+n), "7", "before")
		f.message(t, "before")
	}
	f.host.Shutdown()
	f.server.Forget()
	for n := range channels {
		f.server.Say(fmt.Sprint(1000+n), "7", "meanwhile")
	}
	f = f.again(t)
	for range channels {
		f.message(t, "meanwhile")
	}
}

// TestCursorsAreBounded: of too many channels that has been silent for the longest is forgotten, also on disk.
func TestCursorsAreBounded(t *testing.T) {
	t.Parallel()
	kept := newLedger()
	c := newCursors(kept)
	for id := snowflake(1); id <= maxCursors; id++ {
		if err := c.meet(t.Context(), id.String(), "", 100+id); err != nil {
			t.Fatal(err)
		}
	}
	c.passed("1", 100_000)
	for range 2 { // Known the second time.
		if err := c.meet(t.Context(), "90000", "", 90_000); err != nil {
			t.Fatal(err)
		}
	}
	_, first := c.at["1"]
	_, second := c.at["2"]
	if _, third := c.at["3"]; len(c.at) != maxCursors || len(kept.values) != maxCursors || !first || second || !third {
		t.Errorf("%d channels are known, %d on disk; the first %t, the second %t, the third %t", len(c.at), len(kept.values), first, second, third)
	}
}
