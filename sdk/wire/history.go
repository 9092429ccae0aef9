package wire

import (
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

const (
	// MaxHistory is the maximum number of messages of a chat's history.
	MaxHistory = 100
	// MaxHistoryText is the maximum length of each of their texts, in bytes; longer ones are cut.
	MaxHistoryText = 8 << 10
)

// HistoryToProto converts a request for what was said before a message.
func HistoryToProto(of chat.Address, before chat.MessageID, limit int) *pluginv1.GetHistoryRequest {
	return &pluginv1.GetHistoryRequest{Address: AddressToProto(of), BeforeId: string(before), Limit: unsigned(min(limit, MaxHistory))}
}

// HistoryFromProto converts a request for what was said before a message; its address is converted by [AddressFromProto].
func HistoryFromProto(p *pluginv1.GetHistoryRequest) (before chat.MessageID, limit int, err error) {
	if p.GetLimit() == 0 || p.GetLimit() > MaxHistory {
		return "", 0, field("limit", "%d, 1 to %d are allowed", p.GetLimit(), MaxHistory)
	}
	return chat.MessageID(p.GetBeforeId()), int(p.GetLimit()), requiredID("before_id", p.GetBeforeId())
}

// EventsToProto converts a history, of which the newest [MaxHistory] are kept. Quotes are left out, and texts cut, so that it is
// not too long for a message.
func EventsToProto(events []chat.Event) *pluginv1.GetHistoryResponse {
	events = events[max(0, len(events)-MaxHistory):]
	return &pluginv1.GetHistoryResponse{Events: each(events, func(e chat.Event) *pluginv1.Event {
		if m, ok := e.Body.(chat.Message); ok {
			if len(m.Text) > MaxHistoryText {
				m.Text, m.Mentions = Cut(m.Text, MaxHistoryText), nil // they may end behind it
			}
			m.ReplyTo, m.ThreadStarter = nil, ""
			e.Body = m
		}
		return EventToProto(e)
	})}
}

// EventsFromProto converts a history. What is no valid message is left out.
func EventsFromProto(p *pluginv1.GetHistoryResponse) ([]chat.Event, error) {
	if err := count("events", len(p.GetEvents()), MaxHistory); err != nil {
		return nil, err
	}
	var events []chat.Event
	for _, one := range p.GetEvents() {
		e, err := EventFromProto(one)
		m, ok := e.Body.(chat.Message)
		if err != nil || !ok {
			continue
		}
		if len(m.Text) > MaxHistoryText {
			m.Text, m.Mentions = Cut(m.Text, MaxHistoryText), nil
		}
		e.Body = m
		events = append(events, e)
	}
	return events, nil
}
