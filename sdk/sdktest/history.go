package sdktest

import (
	"reflect"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// tellsHistory asks for what was said before a message.
func tellsHistory(t testing.TB, s Setup) {
	n, h := s.connect(t)
	if !h.can("HISTORY") {
		return
	}
	var said []chat.Event
	for _, text := range []string{"said first", "said second", "said third"} {
		n.Deliver(s.Chats[0], text)
		said = append(said, h.NextEvent())
	}
	last, _ := said[2].Body.(chat.Message)
	for limit, want := range map[int][]chat.Event{1: said[1:2], 2: said[:2]} {
		got, err := h.History(chat.Address{Channel: Instance, Chat: said[2].Chat.ID}, last.ID, limit)
		if err != nil {
			t.Fatalf("history: %v", err)
		}
		if len(got) != len(want) {
			t.Fatalf("of the last %d messages come %d", limit, len(got))
		}
		for i := range want {
			a, _ := got[i].Body.(chat.Message)
			b, _ := want[i].Body.(chat.Message)
			if a.Text != b.Text || a.ID != b.ID || got[i].ID != want[i].ID ||
				!reflect.DeepEqual(got[i].Sender, want[i].Sender) || !got[i].At.Equal(want[i].At) {
				t.Errorf("message %d of the last %d is %s, want it as it was submitted: %s", i, limit, shown(got[i:i+1]),
					shown(want[i:i+1]))
			}
		}
	}
}
