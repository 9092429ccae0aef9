package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The bot's own typing, what is long over, and channels that are not known are not told.
// Behaviour: typing-networks.
func TestWhoIsTyping(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *discordtest.Server) { s.Thread("901", "902", "a thread") })
	s := f.server
	s.Say("901", "8", "hello") // the bot has been introduced to the server
	f.message(t, "hello")
	if _, err := f.host.Send(chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if err := f.host.Typing(chat.Address{Chat: "70"}, true); err != nil { // the bot's
		t.Fatal(err)
	}
	s.TypeAt("70", "7", time.Now().Add(-time.Minute))
	s.Type("70", "7")
	s.Type("901", "8")
	s.Type("902", "8")
	bob := chat.Sender{ID: "8", DisplayName: "bob", Username: "bob"}
	general := chat.Chat{ID: "901", Kind: chat.Group, Title: "general", Parent: "900"}
	for _, want := range []chat.Typing{
		{Chat: chat.Chat{ID: "70", Kind: chat.Direct}, Sender: chat.Sender{ID: "7"}},
		{Chat: general, Sender: bob},
		{Chat: general, Thread: "902", Sender: bob},
	} {
		if diff := cmp.Diff(want, f.host.NextTyping()); diff != "" {
			t.Errorf("the host learned (-want +got):\n%s", diff)
		}
	}
}
