package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// refusing is a channel that runs in a group, and whose host refuses everything.
func refusing(t *testing.T) (*telegramtest.Server, *telegramtest.User, *sdktest.Harness) {
	t.Helper()
	s := telegramtest.New(t)
	s.Group(-200, "group")
	anna := s.User(7)
	h := sdktest.New(t, component())
	h.Host.OnSubmit(func(context.Context, chat.Event) (chat.Verdict, error) { return chat.Rejected, nil })
	h.Configure(map[string]any{"token": s.Token(), "api_endpoint": s.URL()})
	h.Run()
	return s, anna, h
}

// TestTheBotsPlacesAreLogged, for the operator, who finds a group's id there or learns why nothing arrives in one. A reaction
// that the host has no use for says nothing about the chat.
func TestTheBotsPlacesAreLogged(t *testing.T) {
	t.Parallel()
	s, anna, h := refusing(t)
	if _, err := h.Send(chat.Outgoing{Key: "k", To: chat.Address{Chat: "7"}, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	s.AddBot(anna, -200)
	s.RemoveBot(anna, -200)
	anna.React(7, s.Replies(7)[0].ID, "👍")
	anna.Block()
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Shutdown()
	for _, want := range []string{"was added to a chat", "was removed from a chat", "has blocked the bot"} {
		if n := strings.Count(h.Logs(), want); n != 1 {
			t.Errorf("%q is logged %d times:\n%s", want, n, h.Logs())
		}
	}
	if strings.Contains(h.Logs(), "not allowed") {
		t.Errorf("a chat seems not to be allowed:\n%s", h.Logs())
	}
}

// TestAnswersAreBounded: however many press buttons while Telegram hangs, few answers are on their way, and the presses are
// taken all the same.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	c := newChannel(t, s)
	over := make(chan struct{})
	s.Fail("answerCallbackQuery", 1000, telegramtest.Stalled(over))
	stop := run(t, c, in)
	if _, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "May I?", Buttons: [][]chat.Button{{{Label: "Yes", Data: "y"}}}}); err != nil {
		t.Fatal(err)
	}
	const presses = 3 * maxAnswers
	for range presses {
		anna.Press(7, s.Replies(7)[0].ID, "y")
	}
	in.await(t, "the presses", func() bool { return len(in.events) == presses })
	close(over)
	if _, err := s.AwaitCalls(t.Context(), "answerCallbackQuery", maxAnswers); err != nil {
		t.Fatal(err)
	}
	_ = stop()
	if n := len(s.Calls("answerCallbackQuery")); n != maxAnswers {
		t.Errorf("%d of %d presses were answered at once, want %d", n, presses, maxAnswers)
	}
}

// The line by which Telegram says that the bot has pinned a message is removed, and the host does not hear of it. In a group without the
// right nothing is pinned.
func TestPinsAreSilent(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	s.User(7)
	s.Group(-200, "group")
	c := newChannel(t, s)
	run(t, c, in)
	receipt, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "May I?"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Pin(t.Context(), chat.Address{Chat: "7"}, receipt.IDs[0], true); err != nil {
		t.Fatal(err)
	}
	calls, err := s.AwaitCalls(t.Context(), "deleteMessage", 1)
	if err != nil || calls[0].Failed || s.PinLines(7) != 0 || !s.Replies(7)[0].Pinned || len(in.events) != 0 {
		t.Errorf("%+v, %v; %d lines, %+v, events %v", calls, err, s.PinLines(7), s.Replies(7), in.events)
	}
	if pins := s.Calls("pinChatMessage"); len(pins) != 1 || pins[0].Params["disable_notification"] != "true" {
		t.Errorf("%+v", pins)
	}
	receipt, err = c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "-200"}, Text: "May I?"})
	if err != nil {
		t.Fatal(err)
	}
	to := chat.Address{Chat: "-200"}
	if f, ok := errors.AsType[*chat.Failure](c.Pin(t.Context(), to, receipt.IDs[0], true)); !ok || f.Reason != chat.Forbidden {
		t.Errorf("in a group: %v", f)
	}
	s.LetPin(-200)
	if err := c.Pin(t.Context(), to, receipt.IDs[0], true); err != nil {
		t.Errorf("with the right: %v", err)
	}
}

func TestButtonPressIsAnswered(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	c := newChannel(t, s)
	run(t, c, in)
	receipt, err := c.Send(t.Context(), chat.Outgoing{
		To: chat.Address{Chat: "7"}, Text: "May I?",
		Buttons: [][]chat.Button{{{Label: "Yes", Data: "y"}, {Label: "No", Data: "n"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := s.Replies(7)[0]
	if diff := cmp.Diff([][]telegramtest.Button{{{Text: "Yes", Data: "y"}, {Text: "No", Data: "n"}}}, sent.Buttons); diff != "" {
		t.Errorf("buttons (-want +got):\n%s", diff)
	}
	query := anna.Press(7, sent.ID, "y")
	in.await(t, "the press", func() bool { return len(in.events) > 0 })
	if got := in.events[0].Body; got != (chat.ButtonPress{MessageID: receipt.IDs[0], Data: "y"}) {
		t.Errorf("got %+v", got)
	}
	calls, err := s.AwaitCalls(t.Context(), "answerCallbackQuery", 1)
	if err != nil || calls[0].Params["callback_query_id"] != query || calls[0].Failed {
		t.Errorf("answers %+v, %v", calls, err)
	}
}
