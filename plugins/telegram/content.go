package main

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxTold limits the text for a location, a poll and the like, in bytes.
const maxTold = 2 << 10

// written is a message's text or caption, as the host receives it.
type written struct {
	text      string
	entities  []tgbotapi.MessageEntity // offsets in UTF-16 code units
	addressed bool                     // it began with a command that names the bot
}

func writtenOf(m *tgbotapi.Message) written {
	if m.Text == "" {
		return written{text: m.Caption, entities: m.CaptionEntities}
	}
	return written{text: m.Text, entities: m.Entities}
}

// read removes "@bot" from a command that names this bot. It returns false if the command names another bot.
func (in inbound) read(m *tgbotapi.Message) (written, bool) {
	w := writtenOf(m)
	if len(w.entities) == 0 || w.entities[0].Type != "bot_command" || w.entities[0].Offset != 0 {
		return w, true
	}
	begin, end := byteRange(w.text, w.entities[0])
	command, bot, named := strings.Cut(w.text[begin:end], "@")
	if !named {
		return w, true
	}
	if !strings.EqualFold(bot, in.self.UserName) {
		return w, false
	}
	taken := len(bot) + 1 // ASCII: bytes are UTF-16 code units
	rest := written{text: command + w.text[end:], addressed: true}
	for _, e := range w.entities[1:] {
		e.Offset -= taken
		rest.entities = append(rest.entities, e)
	}
	return rest, true
}

// mentions returns the mentions in a text.
func (in inbound) mentions(w written) []chat.Mention {
	var mentions []chat.Mention
	for _, e := range w.entities {
		begin, end := byteRange(w.text, e)
		mention := chat.Mention{Offset: begin, Length: end - begin}
		switch e.Type {
		case "mention", "bot_command":
			_, name, named := strings.Cut(w.text[begin:end], "@")
			if !named {
				continue
			}
			if strings.EqualFold(name, in.self.UserName) {
				mention.User, mention.IsSelf = userID(in.self.ID), true
			}
		case "text_mention":
			if e.User == nil {
				continue
			}
			mention.User, mention.IsSelf = userID(e.User.ID), e.User.ID == in.self.ID
		default:
			continue
		}
		mentions = append(mentions, mention)
	}
	return mentions
}

// said returns a message's text and mentions. Text written by an inline bot is one mention as a whole, so that no
// command is found in what its sender only chose.
func (in inbound) said(w written, m *tgbotapi.Message, x extra) (string, []chat.Mention) {
	text, mentions := formatted(w, in.mentions(w))
	if text == "" {
		text = richText(x.Rich)
	}
	if m.ViaBot != nil {
		return text, whole(text)
	}
	return text, mentions
}

// whole marks a text that its sender did not write, so that the host looks for no command in it.
func whole(text string) []chat.Mention {
	if text == "" {
		return nil
	}
	return []chat.Mention{{Length: len(text)}}
}

// byteRange returns an entity's range in bytes, clamped to the text.
func byteRange(text string, e tgbotapi.MessageEntity) (begin, end int) {
	begin, end = len(text), len(text)
	units := 0
	for i, r := range text {
		if units >= e.Offset && i < begin {
			begin = i
		}
		if units >= e.Offset+e.Length {
			return begin, max(begin, i)
		}
		units += utf16.RuneLen(r)
	}
	return begin, end
}

// describe describes a message without text, such as a location; empty if there is nothing to describe.
func describe(m *tgbotapi.Message) string {
	switch {
	case m.Venue != nil: // has its location, too
		return bracketed("venue", m.Venue.Title, m.Venue.Address, place(m.Venue.Location))
	case m.Location != nil && m.Location.LivePeriod > 0:
		return bracketed("live location", place(*m.Location))
	case m.Location != nil:
		return bracketed("location", place(*m.Location))
	case m.Contact != nil:
		return bracketed("contact", m.Contact.FirstName+" "+m.Contact.LastName, m.Contact.PhoneNumber)
	case m.Poll != nil:
		parts := []string{m.Poll.Question}
		for _, option := range m.Poll.Options {
			parts = append(parts, option.Text)
		}
		return bracketed("poll", parts...)
	case m.Dice != nil:
		return bracketed("dice", m.Dice.Emoji+" "+strconv.Itoa(m.Dice.Value))
	case m.Sticker != nil:
		return cmp.Or(m.Sticker.Emoji, "[sticker]") // the model can rarely read its picture
	default:
		return ""
	}
}

func place(l tgbotapi.Location) string {
	degrees := func(d float64) string { return strconv.FormatFloat(d, 'f', 6, 64) }
	return degrees(l.Latitude) + ", " + degrees(l.Longitude)
}

// bracketed returns "[what: part, part]", or "[what]" without parts, on one line. No part can contain brackets.
func bracketed(what string, parts ...string) string {
	var full []string
	left := maxTold
	for _, part := range parts {
		part = strings.Join(strings.Fields(strings.Map(sanitizeRune, part)), " ")
		if part = cut(part, left); part != "" {
			full = append(full, part)
			left -= len(part)
		}
	}
	if len(full) == 0 {
		return "[" + what + "]"
	}
	return "[" + what + ": " + strings.Join(full, ", ") + "]"
}

// cut returns as much of a text as fits into limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// sanitizeRune replaces brackets and drops invisible characters.
func sanitizeRune(r rune) rune {
	switch {
	case r == '[':
		return '('
	case r == ']':
		return ')'
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsGraphic(r) && r != '\u200d': // emojis contain this one
		return -1
	default:
		return r
	}
}
