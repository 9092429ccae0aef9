package main

import (
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxMentions bounds those of one message; of an album all captions count.
const maxMentions = 250

// together is how many of the updates, from the first on, are one message: each file of an album comes in an update of its
// own, with nothing in between.
func together(updates []received) int {
	first := albumOf(updates[0])
	n := 1
	for first.group != "" && n < min(len(updates), maxAlbum) && albumOf(updates[n]) == first {
		n++
	}
	return n
}

// isAlbum tells whether the updates are files of one album and nothing else.
func isAlbum(updates []received) bool {
	return len(updates) == together(updates) && albumOf(updates[0]).group != ""
}

// album names an album.
type album struct {
	chat  int64
	group string // empty: none
}

func albumOf(u received) album {
	if m := u.Message; u.unreadable == nil && m != nil && m.Chat != nil {
		return album{chat: m.Chat.ID, group: m.MediaGroupID}
	}
	return album{}
}

// joined makes one event of those of an album's files: with the first one's id, all files, and the text of each that has a
// caption. People edit the first caption, so the message's id is that of the file that has it.
func joined(parts []chat.Event) chat.Event {
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
	all.Mentions = all.Mentions[:min(len(all.Mentions), maxMentions)]
	event.Body = all
	return event
}
