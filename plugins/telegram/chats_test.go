package main

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

func wantFailure(t *testing.T, what string, err error, want chat.Reason) *chat.Failure {
	t.Helper()
	f, ok := errors.AsType[*chat.Failure](err)
	if !ok || f.Reason != want {
		t.Fatalf("%s: got %v, want %v", what, err, want)
	}
	return f
}

// TestAChatThatIsLimitedIsLeftAlone until Telegram takes something for it: asking again would make the wait longer.
func TestAChatThatIsLimitedIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	s.User(8)
	c := newChannel(t, s)
	now := time.Now()
	c.api.chats.now = func() time.Time { return now }
	send := func(to chat.ID) error {
		_, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: to}, Text: "hello"})
		return err
	}
	s.Fail("sendMessage", 1, telegramtest.TooManyRequests(3*time.Second))
	if f := wantFailure(t, "the first", send("7"), chat.RateLimited); f.RetryAfter != 3*time.Second {
		t.Errorf("to wait %v", f.RetryAfter)
	}
	now = now.Add(time.Second)
	f := wantFailure(t, "meanwhile", send("7"), chat.RateLimited)
	if f.RetryAfter != 2*time.Second || f.MaybeDelivered || len(s.Calls("sendMessage")) != 1 {
		t.Errorf("meanwhile: to wait %v, maybe delivered %t, %d calls", f.RetryAfter, f.MaybeDelivered, len(s.Calls("sendMessage")))
	}
	wantFailure(t, "typing meanwhile", c.Typing(t.Context(), chat.Address{Chat: "7"}, true), chat.RateLimited)
	if err := send("8"); err != nil {
		t.Errorf("another chat: %v", err)
	}
	now = now.Add(2 * time.Second)
	if err := send("7"); err != nil {
		t.Errorf("when the time is over: %v", err)
	}
}

// TestSignalsHoldNoMessagesBack: too much typing is no reason to keep an answer.
func TestSignalsHoldNoMessagesBack(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	c, to := newChannel(t, s), chat.Address{Chat: "7"}
	s.Fail("sendMessageDraft", 1, telegramtest.TooManyRequests(time.Minute))
	wantFailure(t, "a draft", c.Draft(t.Context(), to, 1, "x"), chat.RateLimited)
	wantFailure(t, "the next", c.Draft(t.Context(), to, 1, "xy"), chat.RateLimited)
	if n := len(s.Calls("sendMessageDraft")); n != 1 {
		t.Errorf("%d drafts were tried", n)
	}
	if _, err := c.Send(t.Context(), chat.Outgoing{To: to, Text: "the answer"}); err != nil {
		t.Error(err)
	}
}

// TestLimitOfTheWholeBot: when several chats are limited at once it is the bot that sends too much.
func TestLimitOfTheWholeBot(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newChats()
	c.now = func() time.Time { return now }
	for i, id := range []string{"1", "2", "2"} {
		c.limited(id, "sendMessage", time.Duration(i+2)*time.Second)
	}
	if d := c.patience("9", "sendMessage"); d != 0 {
		t.Errorf("two limited chats hold another one for %v", d)
	}
	c.limited("3", "sendMessage", 2*time.Second)
	if d := c.patience("9", "sendMessage"); d != 2*time.Second {
		t.Errorf("three limited chats hold another one for %v", d)
	}
	now = now.Add(time.Minute)
	c.limited("4", "sendMessage", time.Second)
	if d := c.patience("9", "sendMessage"); d != 0 {
		t.Errorf("limits that are over hold another chat for %v", d)
	}
	now = now.Add(time.Minute)
	for _, id := range []string{"1", "2", "3", "4"} {
		c.limited(id, "sendMessageDraft", time.Second)
	}
	c.limited("5", "sendMessage", time.Second)
	c.limited("6", "sendMessage", time.Second)
	if d := c.patience("9", "sendMessage"); d != 0 {
		t.Errorf("limited drafts hold another chat's messages for %v", d)
	}
	c.limited("7", "sendChatAction", 3*time.Second)
	if d := c.patience("9", "sendMessage"); d != 0 {
		t.Errorf("limited typing holds another chat's messages for %v", d)
	}
	now = now.Add(time.Minute)
	for i := range 3 * maxChats {
		c.limited(string(messageID(i)), "sendMessage", time.Hour)
		c.move(string(messageID(i)), "1")
	}
	if len(c.quiet) > maxChats || len(c.moved) > maxChats {
		t.Errorf("remembers %d limited chats and %d that moved", len(c.quiet), len(c.moved))
	}
}

// TestServersLimit holds the plugin against a server that counts: it is obeyed, and in the end everything is there.
func TestServersLimit(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	s.LimitSends(2, time.Second)
	c := newChannel(t, s)
	for i := range 5 {
		for {
			_, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "7"}, Text: string(messageID(i))})
			if err == nil {
				break
			}
			if f := wantFailure(t, "sending", err, chat.RateLimited); !network.Pause(t.Context(), f.RetryAfter) {
				t.Fatal("the test ended")
			}
		}
	}
	refused := 0
	for _, call := range s.Calls("sendMessage") {
		if call.Failed {
			refused++
		}
	}
	if n := len(s.Replies(7)); n != 5 || refused > 4 {
		t.Errorf("%d of 5 messages arrived, %d calls were refused", n, refused)
	}
}

// TestAGroupThatSaysThatItMoves is not tried under its old id.
func TestAGroupThatSaysThatItMoves(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	s.SmallGroup(-5, "small")
	c := newChannel(t, s)
	run(t, c, in)
	s.Migrate(s.User(7), -5, -1005)
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "-5"}, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if calls := s.Calls("sendMessage"); len(calls) != 1 || calls[0].Params["chat_id"] != "-1005" {
		t.Errorf("calls %+v", calls)
	}
}

// TestAGroupThatMovedIsFoundAtOnce: only the first message goes to the old group.
func TestAGroupThatMovedIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.SmallGroup(-5, "small")
	s.Migrate(s.User(7), -5, -1005)
	c := newChannel(t, s)
	for range 3 {
		if _, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: "-5"}, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Typing(t.Context(), chat.Address{Chat: "-5"}, true); err != nil {
		t.Error(err)
	}
	if n := len(s.Calls("sendMessage")); len(s.Replies(-1005)) != 3 || n != 4 {
		t.Errorf("%d calls for %d messages", n, len(s.Replies(-1005)))
	}
}
