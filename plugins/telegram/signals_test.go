package main

import (
	"encoding/json"
	"testing"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestReactionsThatSayNothing: pictures have no emoji to tell of, and the bot's own reactions are no news.
func TestReactionsThatSayNothing(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"a picture": `{"user":{"id":7},"old_reaction":[],"new_reaction":[{"type":"custom_emoji","custom_emoji_id":"1"}]}`,
		"its own":   `{"user":{"id":4242},"old_reaction":[],"new_reaction":[{"type":"emoji","emoji":"👀"}]}`,
	} {
		var r reaction
		if err := json.Unmarshal([]byte(raw), &r); err != nil {
			t.Fatal(err)
		}
		r.Chat = &tgbotapi.Chat{ID: 7, Type: "private"}
		if event, ok := (inbound{self: tgbotapi.User{ID: 4242}}).event(update{reaction: &r}); ok {
			t.Errorf("%s: got %+v", name, event)
		}
	}
	anonymous := update{reaction: &reaction{
		Chat: &tgbotapi.Chat{ID: -200, Type: "supergroup"}, Anonymous: &tgbotapi.Chat{ID: -300, Title: "News"}, New: []emoji{{"👍"}},
	}}
	event, ok := (inbound{}).event(anonymous)
	if want := (chat.Sender{ID: "-300", DisplayName: "News"}); !ok || event.Sender.ID != want.ID || event.Sender.DisplayName != want.DisplayName {
		t.Errorf("of a channel: %+v", event)
	}
}

func TestDraft(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	s.Group(-200, "group")
	c, to := newChannel(t, s), chat.Address{Chat: "7"}
	run(t, c, in)
	for _, step := range []struct{ text, shown string }{
		{"", ""}, {"**so", "**so"}, {"**so far**", "so far"}, {growing(), ""},
	} {
		if err := c.Draft(t.Context(), to, 5, step.text); err != nil {
			t.Fatalf("draft %.20q: %v", step.text, err)
		}
		d, ok := s.Draft(7)
		if !ok || d.ID != 5 || !d.CanStop || step.shown != "" && d.Text != step.shown {
			t.Errorf("draft %.20q is shown as %+v", step.text, d)
		}
	}
	for _, call := range s.Calls("sendMessageDraft") { // What is there when it is stopped is still to be read.
		if call.Params["keep_on_stop"] != "true" {
			t.Errorf("a draft is asked for by %v", call.Params)
		}
	}
	if err := s.AwaitPoll(t.Context()); err != nil {
		t.Fatal(err)
	}
	anna.Stop()
	in.await(t, "the stop", func() bool { return len(in.events) > 0 })
	if e := in.events[0]; e.Body != (chat.StopRequest{}) || e.Sender.ID != "7" || e.Chat.ID != "7" || e.Chat.Kind != chat.Direct {
		t.Errorf("got %+v", e)
	}
	if _, err := c.Send(t.Context(), chat.Outgoing{To: to, Text: "so far"}); err != nil {
		t.Fatal(err)
	}
	if d, ok := s.Draft(7); ok {
		t.Errorf("behind the message there is still %+v", d)
	}
	wantFailure(t, "in a group", c.Draft(t.Context(), chat.Address{Chat: "-200"}, 5, "x"), chat.Invalid)
	s.Fail("sendMessageDraft", 1, telegramtest.Refuse(404, "Not Found"))
	wantFailure(t, "on an old server", c.Draft(t.Context(), to, 5, "x"), chat.Invalid)
}

// TestDraftsAreAsLimitsSay: what the host reads must be what the network does.
func TestDraftsAreAsLimitsSay(t *testing.T) {
	t.Parallel()
	for kind, want := range map[chat.Kind]chat.Draft{chat.Direct: chat.NativeDraft, chat.Group: chat.DraftByEdit, chat.Broadcast: chat.DraftByEdit} {
		if got := (*channel)(nil).Limits(kind); got.Draft != want || got.Edit.MinInterval <= 0 {
			t.Errorf("%v: draft %v, an edit each %v", kind, got.Draft, got.Edit.MinInterval)
		}
	}
}
