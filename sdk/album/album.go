// Package album makes one message of the files of an album, for networks that bring each file in a message of its own.
package album

import (
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Join makes one event of those of an album's files, of which there is at least one: the first one's, with all files, and the
// text of each that has a caption. People edit the first caption, so the message's id is that of the file that has it. Of the
// mentions as many are kept as the host takes. Of events that are no messages the first stands alone, and others are left out.
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
