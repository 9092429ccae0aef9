package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: typing-networks, whatsapp-online.
func TestWhoIsTyping(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"show_online": true})
	if err := l.server.AwaitPresence(t.Context(), "available"); err != nil {
		t.Fatal(err)
	}
	l.anna.Say("hello")
	direct, _ := l.next()
	l.anna.SendGroup(&waE2E.Message{Conversation: proto.String("hello all")})
	group, _ := l.next()
	hint := chat.Typing{Chat: direct.Chat, Sender: direct.Sender}
	hint.Chat.Title, hint.Sender.DisplayName = "", "" // WhatsApp does not say
	stopped, inGroup := hint, hint
	stopped.Stopped, inGroup.Chat = true, group.Chat
	for _, test := range []struct {
		chat      types.JID
		composing bool
		want      chat.Typing
	}{
		{types.EmptyJID, true, hint},
		{types.EmptyJID, false, stopped},
		{l.server.Group(), true, inGroup},
	} {
		if !l.anna.Type(test.chat, test.composing) {
			t.Fatal("the account is not online")
		}
		if diff := cmp.Diff(test.want, l.NextTyping()); diff != "" {
			t.Errorf("the host learned (-want +got):\n%s", diff)
		}
	}
}

// By default the account is not online, and does not go online to see who types. Where a message needs a prefix, typing says nothing.
// Behaviour: whatsapp-online.
func TestWhoIsTypingIsNotSeen(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	l.next()
	if l.anna.Type(types.EmptyJID, true) || l.server.Presence() != "" {
		t.Errorf("the account is online: %q", l.server.Presence())
	}
	l = start(t, map[string]any{"show_online": true, "prefix": "claw"})
	if err := l.server.AwaitPresence(t.Context(), "available"); err != nil {
		t.Fatal(err)
	}
	if !l.anna.Type(types.EmptyJID, true) {
		t.Fatal("the account is not online")
	}
	l.anna.Say("claw: hello") // after it
	l.next()
	if hints := l.Host.Typings(); len(hints) > 0 {
		t.Errorf("the host learned %+v", hints)
	}
}
