package main

import (
	"errors"
	"testing"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// Without the intent Discord lists no members, and says so.
// Behaviour: members-tool.
func TestMembersAreHidden(t *testing.T) {
	t.Parallel()
	server := discordtest.New(t)
	server.User("1", "anna")
	server.Channel("900", "901", "kitchen")
	server.Direct("1", "11")
	server.HideMembers()
	h := sdktest.New(t, component(&ledgers{}))
	h.Configure(map[string]any{"token": server.Token(), "test_endpoint": server.URL()})
	for id, want := range map[chat.ID]chat.Reason{"901": chat.Forbidden, "11": chat.Invalid, "12": chat.ChatNotFound} {
		got, err := h.Members(chat.Address{Channel: sdktest.Instance, Chat: id}, 100)
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != want {
			t.Errorf("the members of %s are %+v, %v; want %s", id, got, err, want)
		}
	}
}
