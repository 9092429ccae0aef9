package sdktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	acknowledged(t, network, "a message")
	if off := time.Since(e.At).Abs(); off > clocksDiffer {
		t.Errorf("the message is of %v, which is %v off", e.At, off.Round(time.Second))
	}
	// A message that was delivered before must not be delivered again under another id.
	network.Deliver(s.Chats[0], "another message")
	if m, ok := h.NextEvent().Body.(chat.Message); !ok || m.Text != "another message" {
		t.Errorf("after the first message came %+v, want the second", m)
	}
}

// clocksDiffer is the maximum difference between a network's clock and the host's.
const clocksDiffer = time.Hour

// acknowledged waits until a message is acknowledged.
func acknowledged(t testing.TB, n Network, text string) {
	t.Helper()
	eventually(t, "the message is acknowledged", func() bool { return n.Acknowledged(text) }, is(true))
}

// tellsPeopleApart checks the ids of people: access and sessions depend on nothing else.
func tellsPeopleApart(t testing.TB, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	people := map[chat.UserID]chat.ID{}
	for round := range 2 {
		for i, id := range s.Chats {
			network.Deliver(id, fmt.Sprintf("message %d of person %d", round, i))
			sender := h.NextEvent().Sender.ID
			if known, met := people[sender]; met && known != id || !met && round > 0 {
				t.Errorf("message %d of chat %s is by %q; the direct chats so far are of %v", round, id, sender, people)
			}
			people[sender] = id
		}
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
	// The channel after a restart.
	h, _ = s.start(t, config)
	e := h.NextEvent()
	if m, ok := e.Body.(chat.Message); !ok || m.Text != "held back" {
		t.Fatalf("after the restart came %+v, want the message that was held back", e.Body)
	}
	if e.ID != refused.ID {
		t.Errorf("the message came as event %q and again as %q: the host cannot know it as the same", refused.ID, e.ID)
	}
	acknowledged(t, network, "held back")
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

func tellsTypists(t testing.TB, s Setup) {
	n, config := s.network(t)
	h, _ := s.start(t, config)
	people := map[chat.ID]chat.UserID{}
	for _, id := range s.Chats {
		n.Deliver(id, "hello from "+string(id))
		people[id] = h.NextEvent().Sender.ID
	}
	network, ok := feature[TypistNetwork](t, s, n, Typists)
	if !ok {
		return
	}
	for _, id := range s.Chats {
		network.Type(id)
		got := h.NextTyping()
		if got.Chat.ID != id || got.Chat.Kind != chat.Direct || got.Sender.ID != people[id] || got.Stopped {
			t.Errorf("who is typing comes as %+v, want person %s in the direct chat %s", got, people[id], id)
		}
	}
	if n := len(h.Host.Submissions()); n != len(s.Chats) {
		t.Errorf("the host has %d events, want only the messages", n)
	}
}

func handsOverPresses(t testing.TB, s Setup) {
	n, h := s.connect(t)
	limits := h.Limits(chat.Direct).Buttons
	if limits == (chat.ButtonLimits{}) {
		return
	}
	network := as[ButtonNetwork](t, n, "buttons")
	// The maximum number of buttons, each with the maximum amount of data.
	var rows [][]chat.Button
	var label, data string
	for row := range limits.Rows {
		rows = append(rows, nil)
		for column := range limits.Columns {
			label = fmt.Sprintf("%d.%d", row, column)
			data = longest(label+" ", limits.DataBytes)
			rows[row] = append(rows[row], chat.Button{Label: label, Data: data})
		}
	}
	_, id := s.post(t, h, "may I?", rows...)
	before := len(h.Host.Submissions())
	h.Host.OnSubmit(Unavailable)
	network.Press(s.Chats[0], id, label)
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

// longest returns button data of the maximum length with a prefix.
func longest(begin string, bytes int) string {
	return begin + strings.Repeat("x", max(0, bytes-len(begin)))
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

func handsOverRevisions(t testing.TB, s Setup) {
	n, h := s.connect(t)
	network, ok := feature[RevisionNetwork](t, s, n, Edits)
	if !ok {
		return
	}
	network.Deliver(s.Chats[0], "with a misteak")
	m, _ := h.NextEvent().Body.(chat.Message)
	var ids []chat.EventID
	for _, text := range []string{"with a mistake", "without one"} {
		network.Revise(s.Chats[0], "with a misteak", text)
		e := h.NextEvent()
		if edited, ok := e.Body.(chat.Edited); !ok || edited.ID != m.ID || edited.Text != text || e.Chat.ID != s.Chats[0] {
			t.Errorf("the edit comes as %+v, want message %s with the text %q", e, m.ID, text)
		}
		ids = append(ids, e.ID)
	}
	if ids[0] == ids[1] {
		t.Errorf("two edits come as the same event %q", ids[0])
	}
}

func handsOverRetractions(t testing.TB, s Setup) {
	n, h := s.connect(t)
	network, ok := feature[RetractionNetwork](t, s, n, Deletions)
	if !ok {
		return
	}
	network.Deliver(s.Chats[0], "never mind")
	m, _ := h.NextEvent().Body.(chat.Message)
	network.Retract(s.Chats[0], "never mind")
	if e := h.NextEvent(); e.Body != (chat.Deleted{ID: m.ID}) || e.Chat.ID != s.Chats[0] {
		t.Errorf("the deletion comes as %+v, want message %s gone", e, m.ID)
	}
}
