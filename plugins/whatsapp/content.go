package main

import (
	"fmt"
	"strings"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"
)

// said returns a message's text, or a description of other content, and its context info.
func said(m *waE2E.Message) (string, *waE2E.ContextInfo) {
	switch {
	case m.GetExtendedTextMessage() != nil:
		return m.GetExtendedTextMessage().GetText(), m.GetExtendedTextMessage().GetContextInfo()
	case m.GetImageMessage() != nil:
		return m.GetImageMessage().GetCaption(), m.GetImageMessage().GetContextInfo()
	case m.GetVideoMessage() != nil:
		return m.GetVideoMessage().GetCaption(), m.GetVideoMessage().GetContextInfo()
	case m.GetPtvMessage() != nil:
		return "", m.GetPtvMessage().GetContextInfo()
	case m.GetDocumentMessage() != nil:
		return m.GetDocumentMessage().GetCaption(), m.GetDocumentMessage().GetContextInfo()
	case m.GetAudioMessage() != nil:
		return "", m.GetAudioMessage().GetContextInfo()
	case m.GetStickerMessage() != nil:
		return "", m.GetStickerMessage().GetContextInfo()
	case m.GetLocationMessage() != nil:
		l := m.GetLocationMessage()
		return location(l.GetDegreesLatitude(), l.GetDegreesLongitude(), l.GetName(), l.GetAddress(), l.GetComment()), l.GetContextInfo()
	case m.GetLiveLocationMessage() != nil:
		l := m.GetLiveLocationMessage()
		return location(l.GetDegreesLatitude(), l.GetDegreesLongitude(), l.GetCaption()), l.GetContextInfo()
	case m.GetContactMessage() != nil:
		return contact(m.GetContactMessage()), m.GetContactMessage().GetContextInfo()
	case m.GetContactsArrayMessage() != nil:
		var all []string
		for _, c := range m.GetContactsArrayMessage().GetContacts() {
			all = append(all, contact(c))
		}
		return strings.Join(all, "\n"), m.GetContactsArrayMessage().GetContextInfo()
	case pollOf(m) != nil:
		return poll(pollOf(m)), pollOf(m).GetContextInfo()
	case m.GetButtonsResponseMessage() != nil:
		return m.GetButtonsResponseMessage().GetSelectedDisplayText(), m.GetButtonsResponseMessage().GetContextInfo()
	case m.GetTemplateButtonReplyMessage() != nil:
		return m.GetTemplateButtonReplyMessage().GetSelectedDisplayText(), m.GetTemplateButtonReplyMessage().GetContextInfo()
	case m.GetListResponseMessage() != nil:
		return m.GetListResponseMessage().GetTitle(), m.GetListResponseMessage().GetContextInfo()
	default:
		return m.GetConversation(), nil
	}
}

// typed reports whether a message's text was written by its sender, as opposed to the description of a place, a card, or a
// button's label.
func typed(m *waE2E.Message) bool {
	return m.GetConversation() != "" || m.GetExtendedTextMessage() != nil || m.GetImageMessage() != nil || m.GetVideoMessage() != nil ||
		m.GetDocumentMessage() != nil
}

// bare unwraps a quoted message, and reports whether it was view-once.
func bare(m *waE2E.Message) (content *waE2E.Message, once bool) {
	unwrap := func(m *waE2E.Message) {
		unwrapped := (&events.Message{RawMessage: m}).UnwrapRaw()
		content, once = unwrapped.Message, once || unwrapped.IsViewOnce
	}
	unwrap(m)
	if part := content.GetAssociatedChildMessage().GetMessage(); part != nil {
		unwrap(part)
	}
	if edited := content.GetProtocolMessage().GetEditedMessage(); edited != nil {
		unwrap(edited)
	}
	once = once || content.GetImageMessage().GetViewOnce() || content.GetVideoMessage().GetViewOnce() ||
		content.GetAudioMessage().GetViewOnce()
	return content, once
}

// location describes a place.
func location(latitude, longitude float64, words ...string) string {
	text := fmt.Sprintf("[location: %.6f, %.6f", latitude, longitude)
	for _, word := range words {
		if word != "" {
			text += "; " + word
		}
	}
	return text + "]"
}

// contact describes an address card: the name, and the numbers of its vCard.
func contact(c *waE2E.ContactMessage) string {
	text := "[contact: " + c.GetDisplayName()
	for line := range strings.Lines(c.GetVcard()) {
		name, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if found && strings.Contains(strings.ToUpper(name), "TEL") {
			text += "; " + value
		}
	}
	return text + "]"
}

func pollOf(m *waE2E.Message) *waE2E.PollCreationMessage {
	for _, p := range []*waE2E.PollCreationMessage{
		m.GetPollCreationMessage(), m.GetPollCreationMessageV2(), m.GetPollCreationMessageV3(),
	} {
		if p != nil {
			return p
		}
	}
	return nil
}

func poll(p *waE2E.PollCreationMessage) string {
	text := "[poll: " + p.GetName()
	for _, option := range p.GetOptions() {
		text += "; " + option.GetOptionName()
	}
	return text + "]"
}
