package main

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/sdk/chat"
)

func TestEditsReactsAndTypes(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	_, first := l.next()
	receipt := l.send(chat.Outgoing{Key: "k", To: l.direct, Text: "one"})
	err := errors.Join(
		l.Edit(l.direct, receipt.IDs[0], "two", nil),
		l.React(l.direct, first.ID, "👀"),
		l.React(l.direct, receipt.IDs[0], "👍"),
		l.Delete(l.direct, receipt.IDs[0]),
		l.Typing(l.direct, true),
	)
	if err != nil {
		t.Fatal(err)
	}
	heard := l.heard(5)
	theirs, own := heard[2].Message.GetReactionMessage(), heard[3].Message.GetReactionMessage()
	if heard[1].Text() != "two" || theirs.GetText() != "👀" || theirs.GetKey().GetFromMe() || !own.GetKey().GetFromMe() ||
		heard[4].Message.GetProtocolMessage().GetType() != waE2E.ProtocolMessage_REVOKE {
		t.Errorf("Anna heard %v", heard)
	}
	if err := l.server.AwaitTyping(t.Context(), l.anna.LID, "composing"); err != nil {
		t.Error(err)
	}
	if err := l.Typing(l.direct, false); err != nil {
		t.Error(err)
	}
	if err := l.server.AwaitTyping(t.Context(), l.anna.LID, "paused"); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"an edit of what is deleted": l.Edit(l.direct, receipt.IDs[0], "three", nil),
		"an edit of Anna's message":  l.Edit(l.direct, first.ID, "three", nil),
		"a deletion of Anna's":       l.Delete(l.direct, first.ID),
	} {
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.TargetGone || f.MaybeDelivered {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

func TestSameKeyShowsOneMessage(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	l.next()
	var receipts []chat.Receipt
	for range 2 {
		receipts = append(receipts, l.send(chat.Outgoing{Key: "same", To: l.direct, Text: "once"}))
	}
	other := l.send(chat.Outgoing{Key: "other", To: l.direct, Text: "once"})
	if heard := l.heard(2); len(heard) != 2 {
		t.Errorf("Anna heard %d messages", len(heard))
	}
	if !slices.Equal(receipts[0].IDs, receipts[1].IDs) || slices.Equal(receipts[0].IDs, other.IDs) {
		t.Errorf("the ids are %v, %v", receipts, other)
	}
}

// TestNamesPeople as WhatsApp does, so that their phones ring.
func TestNamesPeople(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.SendGroup(&waE2E.Message{Conversation: proto.String("hello")})
	l.next()
	l.send(chat.Outgoing{Key: "k", To: l.group, Text: "@+15550000002 and @900000000002, not @+4915112345678 or a@15550000002x"})
	heard := l.heard(1)
	const want = "@900000000002 and @900000000002, not @+4915112345678 or a@15550000002x"
	named := heard[0].Message.GetExtendedTextMessage().GetContextInfo().GetMentionedJID()
	if heard[0].Text() != want || !slices.Equal(named, []string{"900000000002@lid"}) {
		t.Errorf("Anna heard %q, which names %v", heard[0].Text(), named)
	}
	if err := l.Edit(l.group, chat.MessageID(heard[0].ID), "ask @+15550000002", nil); err != nil {
		t.Fatal(err)
	}
	edit := l.heard(2)[1]
	named = edit.Message.GetEditedMessage().GetMessage().GetProtocolMessage().GetEditedMessage().GetExtendedTextMessage().GetContextInfo().GetMentionedJID()
	if edit.Text() != "ask @900000000002" || !slices.Equal(named, []string{"900000000002@lid"}) {
		t.Errorf("the edit is %q, which names %v", edit.Text(), named)
	}
}

func TestRefusesWhatItCannotSend(t *testing.T) {
	t.Parallel()
	l := start(t)
	for _, test := range []struct {
		out  chat.Outgoing
		want chat.Reason
	}{
		{chat.Outgoing{To: chat.Address{Chat: "15550000099@s.whatsapp.net"}, Text: "x"}, chat.ChatNotFound},
		{chat.Outgoing{To: chat.Address{Chat: "status@broadcast"}, Text: "x"}, chat.ChatNotFound},
		{chat.Outgoing{To: chat.Address{Chat: "anna"}, Text: "x"}, chat.ChatNotFound},
		{chat.Outgoing{To: l.direct, Text: " \n"}, chat.Invalid},
		{chat.Outgoing{To: l.direct, Media: []chat.Media{{Kind: chat.Image}}}, chat.MediaRejected},
		{chat.Outgoing{To: l.direct, Media: []chat.Media{{Kind: chat.Image, Ref: "nowhere"}}}, chat.MediaRejected},
		{chat.Outgoing{To: l.direct, Media: []chat.Media{{Kind: chat.File, Ref: "x", Size: maxFile + 1}}}, chat.MediaRejected},
	} {
		test.out.Key = "k"
		_, err := l.Send(test.out)
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != test.want || f.MaybeDelivered {
			t.Errorf("%+v gives %v, want %s", test.out, err, test.want)
		}
	}
}

// TestSendsByPhoneNumber, as an operator writes it in the config.
func TestSendsByPhoneNumber(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	l.next()
	l.send(chat.Outgoing{Key: "1", To: chat.Address{Chat: "15550000002@s.whatsapp.net"}, Text: "one"})
	l.send(chat.Outgoing{Key: "2", To: chat.Address{Chat: "+15550000002"}, Text: "two"})
	if heard := l.heard(2); heard[0].Text() != "one" || heard[1].Text() != "two" {
		t.Errorf("Anna heard %v", heard)
	}
}

func TestWhatIsTooOldIsNotEdited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecent()
		r.keep("c", "m", "text")
		time.Sleep(editWindow - time.Second)
		if err := errors.Join(r.editable("c", "m"), r.editable("c", "of a previous process")); err != nil {
			t.Errorf("a message cannot be edited within the time: %v", err)
		}
		r.keep("c", "m", "edited")
		time.Sleep(2 * time.Second)
		if f, ok := errors.AsType[*chat.Failure](r.editable("c", "m")); !ok || f.Reason != chat.Invalid || r.text("c", "m") != "edited" {
			t.Errorf("an edit that is too late gives %v", f)
		}
		r.forget("c", "m")
		if f, ok := errors.AsType[*chat.Failure](r.editable("c", "m")); !ok || f.Reason != chat.TargetGone {
			t.Errorf("an edit of what is deleted gives %v", f)
		}
	})
}

// TestMessageWithoutKeysIsNotSent: the library encrypts for no device where WhatsApp gives no keys, and takes that for a success.
// Behaviour: whatsapp-nobody.
func TestMessageWithoutKeysIsNotSent(t *testing.T) {
	t.Parallel()
	l := start(t)
	bob := l.server.Person(2)
	to := chat.Address{Chat: chatID(bob.LID)}
	bob.HideKeys(true)
	_, err := l.Send(chat.Outgoing{Key: "k", To: to, Text: "hello"})
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.Temporary || f.MaybeDelivered {
		t.Errorf("a message that reaches no one gives %v", err)
	}
	if err := l.React(to, messageID("x", bob.LID), "👍"); err == nil {
		t.Error("a reaction that reaches no one is a success")
	}
	bob.HideKeys(false)
	l.send(chat.Outgoing{Key: "k", To: to, Text: "hello"})
	heard, err := bob.AwaitHeard(t.Context(), 1)
	if err != nil || heard[0].Text() != "hello" {
		t.Errorf("Bob heard %v, %v", heard, err)
	}
}
