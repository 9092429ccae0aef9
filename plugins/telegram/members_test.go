package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// An administrator who is anonymous in the group is not given away, and the bot knows itself.
// Behaviour: members-tool.
func TestMembers(t *testing.T) {
	t.Parallel()
	server := telegramtest.New(t)
	server.Group(-100, "Team")
	anna, bob := server.User(7), server.User(8)
	anna.FirstName, anna.LastName, anna.Username = "Anna", "Lee", "anna"
	server.Promote(-100, anna, false)
	server.Promote(-100, bob, true)
	server.Promote(-100, server.Bot(), false)
	h := sdktest.New(t, component())
	h.Configure(map[string]any{"token": server.Token(), "api_endpoint": server.URL()})
	got, err := h.Members(chat.Address{Channel: sdktest.Instance, Chat: "-100"}, 100)
	if err != nil {
		t.Fatal(err)
	}
	bot := server.Bot()
	want := chat.Members{Total: 3, AdminsOnly: true, List: []chat.Member{
		{Sender: chat.Sender{ID: "7", DisplayName: "Anna Lee", Username: "anna"}, IsAdmin: true},
		{Sender: chat.Sender{ID: userID(bot.ID), DisplayName: bot.FirstName, Username: bot.Username, IsSelf: true, IsBot: true}, IsAdmin: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
