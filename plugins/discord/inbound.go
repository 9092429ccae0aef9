package main

import (
	"context"
	"regexp"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// inbound converts Discord's messages for the host.
type inbound struct {
	self   string // the bot's id
	places *places
}

// message returns a person's message, or false for other messages, such as that a member joined.
func (in inbound) message(ctx context.Context, m *discordgo.Message) (chat.Message, bool, error) {
	switch m.Type {
	case discordgo.MessageTypeDefault, discordgo.MessageTypeReply:
	default:
		return chat.Message{}, false, nil
	}
	text, err := in.read(ctx, m)
	if err != nil {
		return chat.Message{}, false, err
	}
	body := chat.Message{ID: chat.MessageID(m.ID), Text: text.text, Mentions: text.mentions, MentionsSelf: text.self}
	body.Media = media(m)
	ref := m.MessageReference
	switch {
	case ref != nil && ref.Type == discordgo.MessageReferenceTypeForward:
		body.Forwarded = &chat.Forward{}
		for _, s := range m.MessageSnapshots {
			if s.Message == nil {
				continue
			}
			s.Message.GuildID = m.GuildID
			forwarded, err := in.read(ctx, s.Message)
			if err != nil {
				return chat.Message{}, false, err
			}
			body.Forwarded.At = s.Message.Timestamp
			body.Text = joined(body.Text, forwarded.text)
		}
	case ref != nil && m.Type == discordgo.MessageTypeReply:
		body.ReplyTo, err = in.quote(ctx, ref, m)
		if err != nil {
			return chat.Message{}, false, err
		}
		body.MentionsSelf = body.MentionsSelf || body.ReplyTo.IsSelf
	}
	return body, body.Text != "" || len(body.Media) > 0, nil
}

// quote returns the message that another one replies to.
func (in inbound) quote(ctx context.Context, ref *discordgo.MessageReference, answer *discordgo.Message) (*chat.Quote, error) {
	quote, m := &chat.Quote{ID: chat.MessageID(ref.MessageID)}, answer.ReferencedMessage
	if m == nil {
		return quote, nil
	}
	m.GuildID = answer.GuildID
	text, err := in.read(ctx, m)
	if err != nil {
		return nil, err
	}
	quote.Text = text.text
	if m.ChannelID == "" {
		m.ChannelID = ref.ChannelID
	}
	quote.Media = media(m)
	if m.Author != nil {
		quote.SenderName, quote.IsSelf = nameOf(m.Author, nil), m.Author.ID == in.self
	}
	return quote, nil
}

// below returns the texts of a message's embeds, poll and stickers.
func below(m *discordgo.Message) string {
	text := ""
	for _, e := range m.Embeds {
		if e == nil || e.Type != "" && e.Type != discordgo.EmbedTypeRich {
			continue // Discord's preview of a link, whose address is in the text
		}
		text = joined(text, embedded(e))
	}
	if m.Poll != nil {
		text = joined(text, "[poll] "+m.Poll.Question.Text)
		for _, a := range m.Poll.Answers {
			if a.Media != nil {
				text = joined(text, "- "+a.Media.Text)
			}
		}
	}
	for _, s := range m.StickerItems {
		if s != nil {
			text = joined(text, "[sticker: "+s.Name+"]")
		}
	}
	return text
}

// embedded returns the text of an embed, from top to bottom.
func embedded(e *discordgo.MessageEmbed) string {
	text := ""
	if e.Author != nil {
		text = e.Author.Name
	}
	text = joined(text, e.Title, e.URL, e.Description)
	for _, f := range e.Fields {
		if f != nil {
			text = joined(text, strings.TrimSpace(f.Name+": "+f.Value))
		}
	}
	if e.Image != nil {
		text = joined(text, e.Image.URL)
	}
	if e.Footer != nil {
		text = joined(text, e.Footer.Text)
	}
	return text
}

// joined joins the texts that are not empty with line breaks.
func joined(texts ...string) string {
	var full []string
	for _, t := range texts {
		if t != "" {
			full = append(full, t)
		}
	}
	return strings.Join(full, "\n")
}

// nameShape matches references to users, roles, channels, emojis and commands in a text.
var nameShape = regexp.MustCompile(`<(@!?|@&|#)([0-9]{1,20})>|<a?:([0-9A-Za-z_]{1,32}):[0-9]{1,20}>|</([^:<>\n]{1,100}):[0-9]{1,20}>`)

// cleaned is a text as people see it.
type cleaned struct {
	text     string
	mentions []chat.Mention
	self     bool // whether it mentions the bot
}

// read returns a message's text, followed by what is shown below it. A preview is from the page of its link, so everything
// below the text is marked as a mention: the host looks for no command there.
func (in inbound) read(ctx context.Context, m *discordgo.Message) (cleaned, error) {
	out, err := in.clean(ctx, m, m.Content)
	if err != nil {
		return cleaned{}, err
	}
	shown, err := in.clean(ctx, m, below(m))
	if err != nil || shown.text == "" {
		return out, err
	}
	out.text = joined(out.text, shown.text)
	out.mentions = out.mentions[:min(len(out.mentions), wire.MaxMentions-1)]
	out.mention(chat.Mention{Offset: len(out.text) - len(shown.text), Length: len(shown.text)})
	return out, nil
}

// mention adds a mention, up to the host's limit.
func (c *cleaned) mention(m chat.Mention) bool {
	c.self = c.self || m.IsSelf
	if len(c.mentions) == wire.MaxMentions {
		return false
	}
	c.mentions = append(c.mentions, m)
	return true
}

// clean replaces ids by names. People choose their names, so each name is marked as a mention.
func (in inbound) clean(ctx context.Context, m *discordgo.Message, text string) (cleaned, error) {
	users := map[string]string{}
	for _, u := range m.Mentions {
		if u != nil {
			users[u.ID] = nameOf(u, nil)
		}
	}
	var out cleaned
	var said strings.Builder
	end := 0
	for _, found := range nameShape.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if found[2*n] < 0 {
				return ""
			}
			return text[found[2*n]:found[2*n+1]]
		}
		name, mention, err := in.named(ctx, m.GuildID, users, group(1), group(2))
		if err != nil {
			return cleaned{}, err
		}
		said.WriteString(text[end:found[0]])
		end = found[0]
		mention.Offset, mention.Length = said.Len(), len(name)
		switch {
		case group(3) != "":
			name = ":" + group(3) + ":"
		case group(4) != "":
			name = "/" + group(4)
		case name == "" || !out.mention(mention):
			continue // unknown, or too many
		}
		said.WriteString(name)
		end = found[1]
	}
	said.WriteString(text[end:])
	out.text = said.String()
	return out, nil
}

// named returns the name that people see for an id, and the mention. A bot's own role counts as the bot: Discord's app
// offers both under one name, and many people choose the role.
func (in inbound) named(ctx context.Context, guild string, users map[string]string, sign, id string) (string, chat.Mention, error) {
	switch sign {
	case "@", "@!":
		name, known := users[id]
		if !known {
			return "", chat.Mention{}, nil
		}
		return "@" + name, chat.Mention{User: chat.UserID(id), IsSelf: id == in.self}, nil
	case "@&":
		found, known, err := in.places.role(ctx, guild, id)
		if err != nil || !known {
			return "", chat.Mention{}, err
		}
		if found.Tags.BotID == in.self {
			return "@" + found.Name, chat.Mention{User: chat.UserID(in.self), IsSelf: true}, nil
		}
		return "@" + found.Name, chat.Mention{}, nil
	case "#":
		if known, ok := in.places.byID[id]; ok {
			return "#" + known.name, chat.Mention{}, nil
		}
	}
	return "", chat.Mention{}, nil
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

// author returns the sender of a message. A webhook is not a person.
func (in inbound) author(m *discordgo.Message) chat.Sender {
	sender := in.sender(m.Author, m.Member)
	sender.IsBot = sender.IsBot || m.WebhookID != ""
	return sender
}

// nameOf returns the name that people see: that on the server, else the person's own, else the account's.
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

// emojiOf returns an emoji as people write it; a custom one by its name.
func emojiOf(e discordgo.Emoji) string {
	if e.ID != "" {
		return ":" + e.Name + ":"
	}
	return e.Name
}
