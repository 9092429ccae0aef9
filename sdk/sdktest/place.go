package sdktest

import (
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func keepsGroups(t testing.TB, s Setup) {
	n, h := s.connect(t)
	network, ok := feature[GroupNetwork](t, s, n, Groups)
	if !ok {
		return
	}
	group := network.Group()
	network.Deliver(group, "to all")
	e := h.NextEvent()
	m, ok := e.Body.(chat.Message)
	if !ok || m.Text != "to all" || e.Chat.ID != group || e.Chat.Kind != chat.Group || e.Sender.ID == "" || e.Sender.IsSelf {
		t.Errorf("the message to the group comes as %+v", e)
	}
	if addressed(m) {
		t.Errorf("the message to the group addresses the channel's account: %+v", m)
	}
	network.Mention("to the agent")
	e = h.NextEvent()
	m, ok = e.Body.(chat.Message)
	if !ok || !strings.Contains(m.Text, "to the agent") || !addressed(m) {
		t.Errorf("the message that names the channel's account comes as %+v", e)
	}
	if _, err := h.Send(chat.Outgoing{
		Key: "to a group", To: chat.Address{Channel: Instance, Chat: group},
		Text: "an answer to all",
	}); err != nil {
		t.Fatalf("send to the group: %v", err)
	}
	eventually(t, "the answer arrives in the group", sentTo(network, group), has("an answer to all"))
	if elsewhere := network.Sent(s.Chats[0]); len(elsewhere) > 0 {
		t.Errorf("the answer to the group arrives in a direct chat: %q", elsewhere)
	}
}

// addressed reports whether a message of a group is for the agent.
func addressed(m chat.Message) bool {
	return m.MentionsSelf || slices.ContainsFunc(m.Mentions, func(m chat.Mention) bool { return m.IsSelf })
}

func keepsThreads(t testing.TB, s Setup) {
	n, h := s.connect(t)
	network, ok := feature[ThreadNetwork](t, s, n, Threads)
	if !ok {
		return
	}
	id, thread := network.Thread()
	network.DeliverThread("in the thread")
	e := h.NextEvent()
	if m, ok := e.Body.(chat.Message); !ok || m.Text != "in the thread" || e.Chat.ID != id || e.Thread != thread {
		t.Errorf("the message in thread %s of chat %s comes as %+v", thread, id, e)
	}
	for i, to := range []chat.Address{{Channel: Instance, Chat: id, Thread: thread}, {Channel: Instance, Chat: id}} {
		text := []string{"an answer in the thread", "an answer beside it"}[i]
		if _, err := h.Send(chat.Outgoing{Key: text, To: to, Text: text}); err != nil {
			t.Fatalf("send %s: %v", text, err)
		}
	}
	eventually(t, "the answer arrives in the thread", network.SentThread, are("an answer in the thread"))
}
