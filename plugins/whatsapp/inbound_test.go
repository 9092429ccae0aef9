package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// Behaviour: whatsapp-access.
func TestPeopleAndGroups(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text:        proto.String("ask @900000000001 then"),
		ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{"900000000001@lid"}},
	}})
	e, m := l.next()
	if e.Chat != (chat.Chat{ID: l.group.Chat, Kind: chat.Group, Title: "Team"}) || !m.MentionsSelf ||
		!slices.Equal(m.Mentions, []chat.Mention{{Offset: 4, Length: 13, User: "900000000001@lid", IsSelf: true}}) {
		t.Errorf("the event is %+v", e)
	}
	if e.Sender.ID != "900000000002@lid" || e.Sender.IsSelf ||
		!slices.Equal(e.Sender.Aliases, []chat.UserID{"15550000002@s.whatsapp.net", "+15550000002"}) {
		t.Errorf("the sender is %+v", e.Sender)
	}
	if want := fmt.Sprintf("wa:%s:900000000002@lid:", l.group.Chat); !strings.HasPrefix(string(e.ID), want) {
		t.Errorf("the event's id is %q", e.ID)
	}
	l.send(chat.Outgoing{Key: "k", To: l.group, Text: "**yes**", ReplyTo: m.ID})
	heard := l.heard(1)
	quote := heard[0].Message.GetExtendedTextMessage().GetContextInfo()
	if heard[0].Text() != "*yes*" || quote.GetParticipant() != "900000000002@lid" || quote.GetQuotedMessage().GetConversation() != m.Text {
		t.Errorf("Anna heard %v", heard[0].Message)
	}
	// She answers what the account said.
	l.anna.SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String("fine"), ContextInfo: &waE2E.ContextInfo{
			StanzaID: proto.String(heard[0].ID), Participant: proto.String("900000000001@lid"), QuotedMessage: &waE2E.Message{Conversation: proto.String("*yes*")},
		},
	}})
	_, m = l.next()
	want := &chat.Quote{ID: chat.MessageID(heard[0].ID), SenderName: "900000000001", Text: "*yes*", IsSelf: true}
	if diff := cmp.Diff(want, m.ReplyTo); diff != "" || !m.MentionsSelf {
		t.Errorf("mentions self %t, quote (-want +got):\n%s", m.MentionsSelf, diff)
	}
}

// TestWhatPeopleSend comes in words.
// Behaviour: networks-foreign-text.
func TestWhatPeopleSend(t *testing.T) {
	t.Parallel()
	l := start(t)
	for _, test := range []struct {
		message *waE2E.Message
		want    string
	}{
		{&waE2E.Message{LocationMessage: &waE2E.LocationMessage{
			DegreesLatitude: proto.Float64(52.5), DegreesLongitude: proto.Float64(13.4), Name: proto.String("Office"),
		}}, "[location: 52.500000, 13.400000; Office]"},
		{&waE2E.Message{LiveLocationMessage: &waE2E.LiveLocationMessage{
			DegreesLatitude: proto.Float64(1), DegreesLongitude: proto.Float64(-2), Caption: proto.String("on my way"),
		}}, "[location: 1.000000, -2.000000; on my way]"},
		{&waE2E.Message{ContactMessage: &waE2E.ContactMessage{
			DisplayName: proto.String("Bob"), Vcard: proto.String("BEGIN:VCARD\nFN:Bob\nTEL;type=CELL;waid=1:+1 555\nEND:VCARD"),
		}}, "[contact: Bob; +1 555]"},
		{&waE2E.Message{ContactsArrayMessage: &waE2E.ContactsArrayMessage{
			Contacts: []*waE2E.ContactMessage{{DisplayName: proto.String("A")}, {DisplayName: proto.String("B")}},
		}}, "[contact: A]\n[contact: B]"},
		{&waE2E.Message{PollCreationMessageV3: &waE2E.PollCreationMessage{
			Name: proto.String("When?"), Options: []*waE2E.PollCreationMessage_Option{{OptionName: proto.String("now")}, {OptionName: proto.String("later")}},
		}}, "[poll: When?; now; later]"},
		{&waE2E.Message{ListResponseMessage: &waE2E.ListResponseMessage{Title: proto.String("second")}}, "second"},
		{&waE2E.Message{ButtonsResponseMessage: &waE2E.ButtonsResponseMessage{
			Response: &waE2E.ButtonsResponseMessage_SelectedDisplayText{SelectedDisplayText: "yes"},
		}}, "yes"},
		{&waE2E.Message{EphemeralMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{Conversation: proto.String("soon gone")}}}, "soon gone"},
		{&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String("passed on"), ContextInfo: &waE2E.ContextInfo{IsForwarded: proto.Bool(true)},
		}}, "passed on"},
	} {
		l.anna.Send(test.message)
		_, m := l.next()
		if m.Text != test.want || (m.Forwarded != nil) != (m.Text == "passed on") {
			t.Errorf("came %+v, want %q", m, test.want)
		}
		written := m.Text == "passed on" || m.Text == "soon gone"
		if want := []chat.Mention{{Length: len(m.Text)}}; !written && !cmp.Equal(want, m.Mentions) || written && m.Mentions != nil {
			t.Errorf("in %q commands are looked for but in %+v", m.Text, m.Mentions)
		}
	}
}

func TestChangesOfPeople(t *testing.T) {
	t.Parallel()
	l := start(t)
	id := l.anna.Say("helo")
	_, m := l.next()
	l.anna.Edit(id, "hello")
	if e, ok := l.NextEvent().Body.(chat.Edited); !ok || e.ID != m.ID || e.Text != "hello" || e.Mentions != nil {
		t.Errorf("came the edit %+v of message %s", e, m.ID)
	}
	l.anna.Send(&waE2E.Message{EditedMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: &waCommon.MessageKey{FromMe: proto.Bool(true), ID: proto.String(id)},
		EditedMessage: &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String("hello @900000000001"), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{"900000000001@lid"}},
		}},
	}}}})
	want := chat.Mention{Offset: 6, Length: 13, User: "900000000001@lid", IsSelf: true}
	if e, ok := l.NextEvent().Body.(chat.Edited); !ok || len(e.Mentions) != 1 || e.Mentions[0] != want {
		t.Errorf("came the edit %+v, want one that mentions the account", e)
	}
	l.anna.Delete(id)
	if d, ok := l.NextEvent().Body.(chat.Deleted); !ok || d.ID != m.ID {
		t.Errorf("came the deletion %+v of message %s", d, m.ID)
	}
	receipt := l.send(chat.Outgoing{Key: "k", To: l.direct, Text: "one"})
	for _, emoji := range []string{"👍", ""} {
		l.anna.Send(&waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{
			Key: &waCommon.MessageKey{FromMe: proto.Bool(false), ID: proto.String(string(receipt.IDs[0]))}, Text: proto.String(emoji),
		}})
		if r, ok := l.NextEvent().Body.(chat.Reaction); !ok || r != (chat.Reaction{MessageID: receipt.IDs[0], Emoji: emoji}) {
			t.Errorf("came the reaction %+v", r)
		}
	}
}

// TestOnlyAuthorsChangeTheirMessages, but for what the server lets the admins of a group do.
func TestOnlyAuthorsChangeTheirMessages(t *testing.T) {
	t.Parallel()
	l := start(t)
	bob := l.server.Person(2)
	id := l.anna.SendGroup(&waE2E.Message{Conversation: proto.String("mine")})
	_, m := l.next()
	of := &waCommon.MessageKey{FromMe: proto.Bool(false), ID: proto.String(id), Participant: proto.String(l.anna.LID.String())}
	bob.SendGroup(&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: of, EditedMessage: &waE2E.Message{Conversation: proto.String("yours")},
	}})
	if e, ok := l.NextEvent().Body.(chat.Edited); !ok || e.ID == m.ID {
		t.Errorf("Bob edited Anna's message: %+v", e)
	}
	bob.SendGroup(&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_REVOKE.Enum(), Key: of}})
	if d, ok := l.NextEvent().Body.(chat.Deleted); !ok || d.ID != m.ID {
		t.Errorf("an admin's deletion of %s is %+v", m.ID, d)
	}
}

// TestWhatIsNotTheHosts is acknowledged all the same.
func TestWhatIsNotTheHosts(t *testing.T) {
	t.Parallel()
	l := start(t)
	owner := l.server.Owner()
	owner.SayTo(l.anna, &waE2E.Message{Conversation: proto.String("private")})
	owner.SayTo(owner, &waE2E.Message{Conversation: proto.String("a note to self")})
	l.anna.Send(&waE2E.Message{KeepInChatMessage: &waE2E.KeepInChatMessage{}})
	l.anna.Say("hello")
	if _, m := l.next(); m.Text != "hello" {
		t.Errorf("came %q", m.Text)
	}
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(l.Host.Events()); n != 1 {
		t.Errorf("the host has %d events", n)
	}
}

// TestSelfChat is the chat with oneself, where the account's owner talks to the agent.
// Behaviour: whatsapp-self.
func TestSelfChat(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"self_chat": true, "prefix": "Claw"})
	owner := l.server.Owner()
	owner.SayTo(l.anna, &waE2E.Message{Conversation: proto.String("claw, private")})
	owner.SayTo(owner, &waE2E.Message{Conversation: proto.String("milk, bread")})
	id := owner.SayTo(owner, &waE2E.Message{Conversation: proto.String("claw: what do I need?")})
	e, m := l.next()
	if e.Chat.ID != "900000000001@lid" || e.Chat.Kind != chat.Direct || e.Sender.ID != "900000000001@lid" || e.Sender.IsSelf ||
		!slices.Contains(e.Sender.Aliases, "+15550000001") || m.Text != "what do I need?" {
		t.Fatalf("came %+v", e)
	}
	l.send(chat.Outgoing{Key: "k", To: chat.Address{Chat: e.Chat.ID}, Text: "claw says: milk", ReplyTo: m.ID})
	if err := l.React(chat.Address{Chat: e.Chat.ID}, m.ID, "👀"); err != nil {
		t.Fatal(err)
	}
	heard, err := owner.AwaitHeard(t.Context(), 2)
	if err != nil || heard[0].Text() != "claw says: milk" || heard[1].Message.GetReactionMessage().GetKey().GetID() != id ||
		!heard[1].Message.GetReactionMessage().GetKey().GetFromMe() {
		t.Errorf("the owner heard %v, %v", heard, err)
	}
	owner.SayTo(owner, &waE2E.Message{Conversation: proto.String("CLAW thanks")})
	if _, m := l.next(); m.Text != "thanks" {
		t.Errorf("came %q", m.Text)
	}
}

// TestWhatTheOwnerWroteComesAgain though the channel has seen it before: it is not one of the agent's.
func TestWhatTheOwnerWroteComesAgain(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"self_chat": true})
	refused := make(chan chat.Event, 100)
	l.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		refused <- e
		return sdktest.Unavailable(ctx, e)
	})
	l.server.Owner().SayTo(l.server.Owner(), &waE2E.Message{Conversation: proto.String("a note")})
	first := <-refused
	l.run.Stop()
	l.Host.OnSubmit(nil)
	l.Run()
	if e, m := l.next(); e.ID != first.ID || m.Text != "a note" {
		t.Errorf("came %+v", e)
	}
}

// Behaviour: whatsapp-self.
func TestPrefix(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"prefix": "claw"})
	l.anna.Say("not for you")
	l.anna.Say("clawing at the door")
	l.anna.Say("Claw  hello")
	if _, m := l.next(); m.Text != "hello" || !m.MentionsSelf {
		t.Errorf("came %+v", m)
	}
	l.anna.SendGroup(&waE2E.Message{Conversation: proto.String("said among others")})
	if _, m := l.next(); m.Text != "said among others" || m.MentionsSelf {
		t.Errorf("came %+v", m)
	}
	l.anna.SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String("claw, ask @900000000003"), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{"900000000003@lid"}},
	}})
	_, m := l.next()
	if m.Text != "ask @900000000003" || !m.MentionsSelf ||
		!slices.Equal(m.Mentions, []chat.Mention{{Offset: 4, Length: 13, User: "900000000003@lid"}}) {
		t.Errorf("came %+v", m)
	}
}

// Behaviour: whatsapp-access.
func TestReadReceipts(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"read_receipts": true})
	id := l.anna.Say("hello")
	l.next()
	if err := l.server.AwaitRead(t.Context(), id); err != nil {
		t.Error(err)
	}
	// Who is not let in does not learn that anybody reads.
	l.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		if m, ok := e.Body.(chat.Message); ok && m.Text == "let me in" {
			return chat.Rejected, nil
		}
		return l.Host.Accept(ctx, e)
	})
	refused := l.anna.Say("let me in")
	id = l.anna.Say("hello again")
	l.next()
	if err := l.server.AwaitRead(t.Context(), id); err != nil || l.server.Read(refused) {
		t.Errorf("%v; what was refused is shown as read: %t", err, l.server.Read(refused))
	}
	quiet := start(t)
	id = quiet.anna.Say("hello")
	quiet.next()
	if err := quiet.server.AwaitAcknowledged(t.Context()); err != nil || quiet.server.Read(id) {
		t.Errorf("%v; read %t", err, quiet.server.Read(id))
	}
}

// TestManyMentions are cut at what the host takes: the message is not lost for them.
func TestManyMentions(t *testing.T) {
	t.Parallel()
	l := start(t)
	var text strings.Builder
	var people []string
	for n := range 2 * maxMentions {
		fmt.Fprintf(&text, "@%d ", 700_000_000_000+n)
		people = append(people, fmt.Sprintf("%d@lid", 700_000_000_000+n))
	}
	people = append(people, "900000000001@lid")
	l.anna.SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String(text.String() + "@900000000001"), ContextInfo: &waE2E.ContextInfo{MentionedJID: people},
	}})
	if _, m := l.next(); len(m.Mentions) != maxMentions || !m.MentionsSelf {
		t.Errorf("came %d mentions, of the account %t", len(m.Mentions), m.MentionsSelf)
	}
}

// TestAMentionIsOfAWholeNumber, though a longer one that begins like it stands before.
// Behaviour: whatsapp-quotes.
func TestAMentionIsOfAWholeNumber(t *testing.T) {
	t.Parallel()
	l := start(t)
	say := func(text string) []chat.Mention {
		l.anna.SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String(text), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{"700000@lid", "7000001@lid"}},
		}})
		_, m := l.next()
		return m.Mentions
	}
	long := chat.Mention{Offset: 0, Length: 8, User: "7000001@lid"}
	want := []chat.Mention{{Offset: 13, Length: 7, User: "700000@lid"}, long}
	if diff := cmp.Diff(want, say("@7000001 and @700000, hello")); diff != "" {
		t.Errorf("mentions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]chat.Mention{long}, say("@7000001 and nobody else")); diff != "" {
		t.Errorf("mentions (-want +got):\n%s", diff)
	}
}

// TestPresence: the account is online while it types, or all the time.
// Behaviour: whatsapp-online.
func TestPresence(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	l.next()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for active, want := range map[bool]string{true: "available", false: "unavailable"} {
		if err := errors.Join(l.Typing(l.direct, active), l.server.AwaitPresence(ctx, want)); err != nil {
			t.Errorf("typing %t: %v, online %q", active, err, l.server.Presence())
		}
	}
	always := start(t, map[string]any{"show_online": true})
	if err := always.server.AwaitPresence(ctx, "available"); err != nil {
		t.Error(err)
	}
	always.anna.Say("hello")
	always.next()
	if err := errors.Join(always.Typing(always.direct, true), always.Typing(always.direct, false), always.server.AwaitTyping(ctx, always.anna.LID, "paused")); err != nil || always.server.Presence() != "available" {
		t.Errorf("%v; online %q", err, always.server.Presence())
	}
}
