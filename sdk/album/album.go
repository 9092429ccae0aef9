// Package album joins the files of an album into one message, for networks that deliver each file in a message of its own.
package album

import (
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Join merges the events of an album's files, of which there is at least one. The result is the first event, with all files
// and the text of each caption. Its message id is that of the first file with a caption, because that is the message that
// people edit. Mentions beyond the host's limit are dropped. If the first event is not a message it is returned unchanged;
// other events that are not messages are left out.
func Join(parts []chat.Event) chat.Event {
	event := parts[0]
	all, ok := event.Body.(chat.Message)
	if !ok {
		return event
	}
	for _, part := range parts[1:] {
		m, ok := part.Body.(chat.Message)
		if !ok {
			continue
		}
		shift := 0
		switch {
		case m.Text == "":
		case all.Text == "":
			all.ID, all.Text = m.ID, m.Text
		default:
			shift = len(all.Text) + 1
			all.Text += "\n" + m.Text
		}
		for _, mention := range m.Mentions {
			mention.Offset += shift
			all.Mentions = append(all.Mentions, mention)
		}
		all.Media = append(all.Media, m.Media...)
		all.MentionsSelf = all.MentionsSelf || m.MentionsSelf
		if all.ReplyTo == nil {
			all.ReplyTo = m.ReplyTo
		}
		if all.Forwarded == nil {
			all.Forwarded = m.Forwarded
		}
	}
	all.Mentions = all.Mentions[:min(len(all.Mentions), wire.MaxMentions)]
	event.Body = all
	return event
}
