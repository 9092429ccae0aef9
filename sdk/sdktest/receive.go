package sdktest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func handsOver(t testing.TB, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	network.Deliver(s.Chats[0], "a message")
	e := h.NextEvent()
	if m, ok := e.Body.(chat.Message); !ok || m.Text != "a message" {
		t.Errorf("the event is %+v, want the message", e.Body)
	}
	if e.Chat.ID != s.Chats[0] || e.Chat.Kind != chat.Direct || e.Sender.ID == "" || e.Sender.IsSelf {
		t.Errorf("the event comes from chat %+v and sender %+v, want the direct chat %s and a person", e.Chat, e.Sender, s.Chats[0])
	}
	eventually(t, "the message is acknowledged", func() bool { return network.Acknowledged("a message") })
	// What has come before must not come again under another id.
	network.Deliver(s.Chats[0], "another message")
	if m, ok := h.NextEvent().Body.(chat.Message); !ok || m.Text != "another message" {
		t.Errorf("after the first message came %+v, want the second", m)
	}
}

func keepsUnacknowledged(t testing.TB, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	h.Host.OnSubmit(Unavailable)
	network.Deliver(s.Chats[0], "held back")
	h.awaitHost("the event is submitted twice", func() bool { return len(h.Host.submitted) >= 2 })
	if network.Acknowledged("held back") {
		t.Error("the message is acknowledged though the host does not have it")
	}
	refused := h.Host.Submissions()[0]
	h.Shutdown()
	if network.Acknowledged("held back") {
		t.Error("the message is acknowledged by a shutdown, though the host does not have it")
	}
	// The next life.
	h, _ = s.start(t, config)
	e := h.NextEvent()
	if m, ok := e.Body.(chat.Message); !ok || m.Text != "held back" {
		t.Fatalf("after the restart came %+v, want the message that was held back", e.Body)
	}
	if e.ID != refused.ID {
		t.Errorf("the message came as event %q and again as %q: the host cannot know it as the same", refused.ID, e.ID)
	}
	eventually(t, "the message is acknowledged", func() bool { return network.Acknowledged("held back") })
}

func keepsOrder(t testing.TB, s Setup) {
	network, config := s.network(t)
	const messages = 20
	for n := range messages {
		for i, id := range s.Chats {
			network.Deliver(id, fmt.Sprintf("message %d of chat %d", n, i))
		}
	}
	h, _ := s.start(t, config)
	next := map[chat.ID]int{}
	for range messages * len(s.Chats) {
		e := h.NextEvent()
		m, _ := e.Body.(chat.Message)
		want := fmt.Sprintf("message %d of chat %d", next[e.Chat.ID], slices.Index(s.Chats, e.Chat.ID))
		if m.Text != want {
			t.Fatalf("chat %s: came %q, want %q", e.Chat.ID, m.Text, want)
		}
		next[e.Chat.ID]++
	}
}

func handsOverPresses(t testing.TB, s Setup) {
	n, h := s.connect(t)
	limits := h.Limits(chat.Direct).Buttons
	if limits == (chat.ButtonLimits{}) {
		return
	}
	network := as[ButtonNetwork](t, n, "buttons")
	data := longest(limits.DataBytes)
	_, id := s.post(t, h, "may I?", []chat.Button{{Label: "Yes", Data: data}, {Label: "No", Data: "n"}})
	before := len(h.Host.Submissions())
	h.Host.OnSubmit(Unavailable)
	network.Press(s.Chats[0], id, "Yes")
	h.awaitHost("the press is submitted twice", func() bool { return len(h.Host.submitted) >= before+2 })
	h.Host.OnSubmit(nil)
	e := h.NextEvent()
	if e.Body != (chat.ButtonPress{MessageID: id, Data: data}) || e.Chat.ID != s.Chats[0] || e.Sender.ID == "" {
		t.Errorf("the press comes as %+v, want one under message %s with the data as it was sent", e, id)
	}
	if first := h.Host.Submissions()[before]; first.ID != e.ID {
		t.Errorf("the press came as event %q and again as %q: the host cannot know it as the same", first.ID, e.ID)
	}
}

// longest is data of a button that is as long as it may be.
func longest(bytes int) string {
	data := make([]byte, max(1, bytes))
	for i := range data {
		data[i] = 'a' + byte(i%26)
	}
	return string(data)
}

func handsOverReactions(t testing.TB, s Setup) {
	n, h := s.connect(t)
	network, ok := feature[ReactionNetwork](t, s, n, Reactions)
	if !ok {
		return
	}
	_, id := s.post(t, h, "well?")
	for _, emoji := range []string{"👍", ""} {
		network.React(s.Chats[0], id, emoji)
		e := h.NextEvent()
		if e.Body != (chat.Reaction{MessageID: id, Emoji: emoji}) || e.Chat.ID != s.Chats[0] {
			t.Errorf("the reaction %q comes as %+v", emoji, e)
		}
	}
}
