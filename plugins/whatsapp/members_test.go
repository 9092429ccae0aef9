package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// TestWhoComesAndGoes is reported, and of the account itself also to the operator, who learns the group's id from it.
// Behaviour: whatsapp-members.
func TestWhoComesAndGoes(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello") // So that the account knows her number.
	l.next()
	anna := chat.Sender{ID: "900000000002@lid", Aliases: []chat.UserID{"15550000002@s.whatsapp.net", "+15550000002"}}
	bob := chat.Sender{ID: "900000000003@lid", Aliases: []chat.UserID{"15550000003@s.whatsapp.net", "+15550000003"}}
	self := chat.Sender{ID: "900000000001@lid", Aliases: []chat.UserID{"15550000001@s.whatsapp.net", "+15550000001"}, IsSelf: true}
	l.anna.Adds(l.server.Owner())
	l.anna.Adds(l.server.Person(2))
	l.anna.Removes(l.server.Person(2))
	l.server.Person(2).Removes(l.server.Person(2))
	l.anna.Removes(l.server.Owner())
	ids := map[chat.EventID]bool{}
	for _, want := range []chat.Event{
		{Sender: anna, Body: chat.MemberChange{Joined: true, Member: self}},
		{Sender: anna, Body: chat.MemberChange{Joined: true, Member: bob}},
		{Sender: anna, Body: chat.MemberChange{Member: bob}},
		{Sender: bob, Body: chat.MemberChange{Member: bob}},
		{Sender: anna, Body: chat.MemberChange{Member: self}},
	} {
		want.Chat = chat.Chat{ID: l.group.Chat, Kind: chat.Group, Title: "Team"}
		e := l.NextEvent()
		if diff := cmp.Diff(want, e, cmpopts.IgnoreFields(chat.Event{}, "ID", "At")); diff != "" || e.At.IsZero() || ids[e.ID] {
			t.Errorf("event %s at %v (-want +got):\n%s", e.ID, e.At, diff)
		}
		ids[e.ID] = true
	}
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil {
		t.Error(err)
	}
	for _, joined := range []bool{true, false} {
		if !strings.Contains(l.Logs(), whereabouts(joined)) {
			t.Errorf("the log does not say: %s", whereabouts(joined))
		}
	}
}

// TestARefusedChangeOfMembers comes again on the next connection.
// Behaviour: whatsapp-members.
func TestARefusedChangeOfMembers(t *testing.T) {
	t.Parallel()
	l := start(t)
	refused := make(chan struct{}, 100)
	l.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		refused <- struct{}{}
		return sdktest.Unavailable(ctx, e)
	})
	id := l.anna.Adds(l.server.Person(2))
	<-refused
	l.run.Stop()
	if l.server.Acknowledged(id) {
		t.Fatal("it is acknowledged")
	}
	l.Host.OnSubmit(nil)
	l.Run()
	if change, ok := l.NextEvent().Body.(chat.MemberChange); !ok || !change.Joined {
		t.Errorf("came %+v", change)
	}
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil {
		t.Error(err)
	}
}
