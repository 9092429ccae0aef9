package main

import (
	"regexp"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// inbound makes what the host reads of what Discord writes.
type inbound struct{ self string }

// message is what a person wrote; false: nothing, such as that somebody joined.
func (in inbound) message(m *discordgo.Message) (chat.Message, bool) {
	switch m.Type {
	case discordgo.MessageTypeDefault, discordgo.MessageTypeReply:
	default:
		return chat.Message{}, false
	}
	text, mentions := in.read(m)
	body := chat.Message{ID: chat.MessageID(m.ID), Text: text, Mentions: mentions}
	for _, a := range m.Attachments {
		body.Media = append(body.Media, mediaOf(a))
	}
	for _, mention := range mentions {
		body.MentionsSelf = body.MentionsSelf || mention.IsSelf
	}
	ref := m.MessageReference
	switch {
	case ref != nil && ref.Type == discordgo.MessageReferenceTypeForward:
		body.Forwarded = &chat.Forward{}
		for _, s := range m.MessageSnapshots {
			if s.Message == nil {
				continue
			}
			body.Forwarded.At = s.Message.Timestamp
			body.Text = joined(body.Text, written(s.Message))
			for _, a := range s.Message.Attachments {
				body.Media = append(body.Media, mediaOf(a))
			}
		}
	case ref != nil && m.Type == discordgo.MessageTypeReply:
		body.ReplyTo = in.quote(ref, m.ReferencedMessage)
		body.MentionsSelf = body.MentionsSelf || body.ReplyTo.IsSelf
	}
	return body, body.Text != "" || len(body.Media) > 0
}

func (in inbound) quote(ref *discordgo.MessageReference, m *discordgo.Message) *chat.Quote {
	quote := &chat.Quote{ID: chat.MessageID(ref.MessageID)}
	if m == nil {
		return quote
	}
	quote.Text, _ = in.read(m)
	if m.Author != nil {
		quote.SenderName, quote.IsSelf = nameOf(m.Author, nil), m.Author.ID == in.self
	}
	return quote
}

// written is a message's text with what only its embeds and stickers say.
func written(m *discordgo.Message) string {
	text := m.Content
	for _, e := range m.Embeds {
		if e == nil || e.Type != "" && e.Type != discordgo.EmbedTypeRich {
			continue // Discord's preview of a link, whose address is in the text.
		}
		text = joined(text, e.Title, e.Description)
		for _, f := range e.Fields {
			text = joined(text, strings.TrimSpace(f.Name+": "+f.Value))
		}
	}
	for _, s := range m.StickerItems {
		text = joined(text, "[sticker: "+s.Name+"]")
	}
	return text
}

// joined puts texts that are not empty under each other.
func joined(texts ...string) string {
	var full []string
	for _, t := range texts {
		if t != "" {
			full = append(full, t)
		}
	}
	return strings.Join(full, "\n")
}

// mentionShape is how a text names a user. Roles are named in another way and are nobody.
var mentionShape = regexp.MustCompile(`<@!?([0-9]{1,20})>`)

// read puts names in place of the ids of those whom the text mentions.
func (in inbound) read(m *discordgo.Message) (string, []chat.Mention) {
	names := map[string]string{}
	for _, u := range m.Mentions {
		names[u.ID] = nameOf(u, nil)
	}
	text := written(m)
	var shown strings.Builder
	var mentions []chat.Mention
	end := 0
	for _, found := range mentionShape.FindAllStringSubmatchIndex(text, -1) {
		id := text[found[2]:found[3]]
		name, known := names[id]
		if !known {
			continue
		}
		shown.WriteString(text[end:found[0]])
		mentions = append(mentions, chat.Mention{
			Offset: shown.Len(), Length: len("@" + name), User: chat.UserID(id), IsSelf: id == in.self,
		})
		shown.WriteString("@" + name)
		end = found[1]
	}
	shown.WriteString(text[end:])
	return shown.String(), mentions
}

func (in inbound) sender(u *discordgo.User, member *discordgo.Member) chat.Sender {
	return chat.Sender{
		ID:          chat.UserID(u.ID),
		DisplayName: nameOf(u, member),
		Username:    u.Username,
		IsSelf:      u.ID == in.self,
		IsBot:       u.Bot,
	}
}

// nameOf is what people see: the name on the server, else the person's own, else the account's.
func nameOf(u *discordgo.User, member *discordgo.Member) string {
	switch {
	case member != nil && member.Nick != "":
		return member.Nick
	case u.GlobalName != "":
		return u.GlobalName
	default:
		return u.Username
	}
}

// emojiOf is an emoji as people write it; one of a server's own by its name.
func emojiOf(e discordgo.Emoji) string {
	if e.ID != "" {
		return ":" + e.Name + ":"
	}
	return e.Name
}
