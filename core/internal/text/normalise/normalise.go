// Package normalise turns events into messages. It is pure, and trusts the sizes of an event, which package wire has checked.
package normalise

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Event makes an immutable message of an event; false: there is nothing in it for the agent to read. The message has no
// authority yet.
//
// Line breaks become "\n". A backslash followed by an "n" is unchanged: channels send real line breaks, and the two
// characters occur in code and paths.
func Event(channel string, e chat.Event) (domain.Message, bool) {
	m := domain.Message{Channel: channel, Chat: e.Chat, Thread: e.Thread, Sender: e.Sender, SentAt: e.At}
	m.Sender.Aliases = slices.Clone(e.Sender.Aliases)
	switch body := e.Body.(type) {
	case chat.Message:
		say(&m, body)
	case chat.NativeCommand:
		m.Command = &domain.Command{Name: strings.ToLower(body.Name), Args: trim(newlines(body.Args))}
		m.Text = strings.TrimSpace("/" + m.Command.Name + " " + m.Command.Args)
	case chat.StopRequest:
		m.Command = &domain.Command{Name: "stop"}
		m.Text = "/stop"
	case chat.ButtonPress:
		// A button of the host contains the command that pressing it gives.
		m.Text = trim(newlines(body.Data))
	}
	if m.Text == "" && len(m.Media) == 0 {
		return domain.Message{}, false
	}
	return m, true
}

// say sets what a person wrote.
func say(m *domain.Message, body chat.Message) {
	m.ID = body.ID
	m.Text = readable(harmless(body.Text, body.Mentions), body.Mentions)
	if m.Text != body.Text {
		m.Raw = body.Text
	}
	m.Media = files(body.Media)
	if body.ReplyTo != nil {
		quote := *body.ReplyTo
		quote.Text = trim(newlines(quote.Text))
		if quote.Media = files(quote.Media); quote.IsSelf {
			quote.Media = own(quote.Media)
		}
		m.ReplyTo = &quote
	}
	if body.Forwarded != nil {
		m.Forwarded = new(*body.Forwarded)
	}
	m.Starter = trim(newlines(body.ThreadStarter))
}

// files returns files with one way at most to have each: it is there, it can be fetched, or it has a problem.
func files(list []chat.Media) []chat.Media {
	list = slices.Clone(list)
	for i := range list {
		switch {
		case list[i].Ref != "":
			list[i].Problem, list[i].Token = "", ""
		case list[i].Problem != "":
			list[i].Token = ""
		}
	}
	return list
}

// own returns files that the agent sent itself. They are not fetched.
func own(list []chat.Media) []chat.Media {
	for i := range list {
		list[i].Ref, list[i].Token, list[i].Problem = "", "", "was sent by you"
	}
	return list
}

// Passive returns a message of a group that is not for the agent as its next turn reads it.
func Passive(m domain.Message, body chat.Body) domain.Note {
	text := m.Written()
	for _, media := range m.Media {
		text = strings.TrimSpace(text + " <media:" + media.Kind.String() + ">")
	}
	return domain.Note{Kind: domain.NoteHistory, MessageID: m.ID, At: m.SentAt, Sender: m.Sender.Name(), Text: WithNames(text, body)}
}

// History returns what people said in a group before the agent came, as its first turn reads it.
func History(channel string, events []chat.Event) (notes []domain.Note) {
	for _, e := range events {
		if m, ok := Event(channel, e); ok && m.ID != "" && !m.Sender.IsSelf && !m.Sender.IsBot {
			notes = append(notes, Passive(m, e.Body))
		}
	}
	return notes
}
