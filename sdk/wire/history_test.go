package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var said []chat.Event
	for i := range wire.MaxHistory + 1 {
		said = append(said, chat.Event{
			ID: chat.EventID(fmt.Sprint("e", i)), Chat: chat.Chat{ID: "g", Kind: chat.Group}, Sender: chat.Sender{ID: "anna"},
			Body: chat.Message{ID: "m", Text: strings.Repeat("é", wire.MaxHistoryText), ReplyTo: &chat.Quote{Text: "long"}, Mentions: []chat.Mention{{Offset: wire.MaxHistoryText, Length: 2}}},
		})
	}
	p := wire.EventsToProto(said)
	got, err := wire.EventsFromProto(p)
	if err != nil || len(got) != wire.MaxHistory || got[0].ID != "e1" {
		t.Fatalf("%d messages come, %v", len(got), err)
	}
	if m := got[0].Body.(chat.Message); len(m.Text) != wire.MaxHistoryText || m.ReplyTo != nil || m.Mentions != nil {
		t.Errorf("a long message comes as %d bytes, %+v, %+v", len(m.Text), m.ReplyTo, m.Mentions)
	}
	p.Events = append(p.Events, p.GetEvents()[0])
	if _, err := wire.EventsFromProto(p); err == nil {
		t.Error("too many messages are taken")
	}
	p.Events = []*pluginv1.Event{
		wire.EventToProto(chat.Event{ID: "r", Chat: said[0].Chat, Body: chat.Reaction{MessageID: "m"}}), {}, p.GetEvents()[0],
	}
	if got, err := wire.EventsFromProto(p); err != nil || len(got) != 1 {
		t.Errorf("of what is no message comes %+v, %v", got, err)
	}
	for _, r := range []*pluginv1.GetHistoryRequest{{BeforeId: "m"}, {BeforeId: "m", Limit: wire.MaxHistory + 1}, {Limit: 1}} {
		if _, _, err := wire.HistoryFromProto(r); err == nil {
			t.Errorf("%v is taken", r)
		}
	}
	if before, limit, err := wire.HistoryFromProto(wire.HistoryToProto(chat.Address{}, "m", 500)); before != "m" || limit != wire.MaxHistory || err != nil {
		t.Errorf("a request comes as %q, %d, %v", before, limit, err)
	}
}
