package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk/chat"
)

// inbound converts messages to events.
type inbound struct {
	*channel
	lids     store.LIDStore
	contacts store.ContactStore
	titles   *titles
}

// event returns a message's event, or false if the host gets none. Status posts and newsletters have none.
func (in inbound) event(ctx context.Context, client *whatsmeow.Client, m *events.Message) (chat.Event, bool) {
	info := m.Info
	if info.Chat.Server == types.BroadcastServer || info.Chat.Server == types.NewsletterServer {
		return chat.Event{}, false
	}
	author, aliases := in.person(ctx, info.Sender, info.SenderAlt)
	event := chat.Event{
		Chat:   chat.Chat{ID: chatID(author), Kind: chat.Direct, Title: info.PushName},
		Sender: chat.Sender{ID: chat.UserID(author.String()), Aliases: aliases, DisplayName: info.PushName},
		At:     info.Timestamp,
	}
	if info.IsGroup {
		event.Chat = chat.Chat{ID: chatID(info.Chat), Kind: chat.Group, Title: in.titles.of(ctx, client, info.Chat)}
	}
	event.ID = chat.EventID(fmt.Sprintf("wa:%s:%s:%s", event.Chat.ID, author, info.ID))
	if info.IsFromMe && !in.fromOwner(m, event.Chat.ID) {
		in.noteOwn(ctx, m)
		return chat.Event{}, false
	}
	body, ok := in.body(ctx, client, m, author)
	event.Body = body
	return event, ok
}

// addressed applies the configured prefix to an event; false: the message is not for the host.
func (in inbound) addressed(event chat.Event) (chat.Event, bool) {
	ok := true
	switch body := event.Body.(type) {
	case chat.Message:
		event.Body, ok = in.cut(body, event.Chat.Kind)
	case chat.Edited:
		var as chat.Message
		as, ok = in.cut(chat.Message{Text: body.Text, Mentions: body.Mentions}, event.Chat.Kind)
		event.Body = chat.Edited{ID: body.ID, Text: as.Text, Mentions: as.Mentions}
	}
	return event, ok
}

// fromOwner reports whether a message of the account itself is its owner's message to the agent: one in the chat with
// oneself, if the config enables that, that the agent did not send.
func (in inbound) fromOwner(m *events.Message, here chat.ID) bool {
	own, _ := in.recent.own(here, messageID(m.Info.ID, types.EmptyJID))
	return in.withSelf(m.Info) && !own
}

// withSelf reports whether a message is in the chat with oneself, if the config enables that.
func (in inbound) withSelf(info types.MessageInfo) bool {
	return in.config.SelfChat && !info.IsGroup && in.account().is(info.Chat.ToNonAD())
}

// noteOwn records messages of the account that its owner has deleted on the phone.
func (in inbound) noteOwn(ctx context.Context, m *events.Message) {
	p := m.Message.GetProtocolMessage()
	if p.GetType() != waE2E.ProtocolMessage_REVOKE || p == nil {
		return
	}
	other, _ := in.person(ctx, m.Info.Chat, m.Info.RecipientAlt)
	in.recent.forget(chatID(other), messageID(p.GetKey().GetID(), types.EmptyJID))
}

// cut removes the prefix from a message. Without the prefix a direct message is not for the host, and a group message does
// not address the account; with it, it does.
func (in inbound) cut(m chat.Message, kind chat.Kind) (chat.Message, bool) {
	prefix := in.config.Prefix
	if prefix == "" {
		return m, true
	}
	rest, ok := cutPrefix(m.Text, prefix)
	if !ok {
		return m, kind != chat.Direct
	}
	cut := len(m.Text) - len(rest)
	mentions := m.Mentions
	m.Text, m.Mentions, m.MentionsSelf = rest, nil, true
	for _, mention := range mentions {
		if mention.Offset -= cut; mention.Offset >= 0 {
			m.Mentions = append(m.Mentions, mention)
		}
	}
	return m, true
}

// cutPrefix removes a prefix from a text, ignoring case, and the separator after it. The prefix must end at a word
// boundary.
func cutPrefix(text, prefix string) (string, bool) {
	text = strings.TrimLeft(text, " \n")
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	rest := text[len(prefix):]
	last, _ := utf8.DecodeLastRuneInString(prefix)
	if next, _ := utf8.DecodeRuneInString(rest); inWord(last) && inWord(next) {
		return text, false // a longer word with the same beginning
	}
	return strings.TrimLeft(rest, " \n,:"), true
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

func (in inbound) body(ctx context.Context, client *whatsmeow.Client, m *events.Message, author types.JID) (chat.Body, bool) {
	content, ok := in.opened(ctx, client, m)
	if !ok {
		return nil, false
	}
	if p := content.GetProtocolMessage(); p != nil {
		return in.change(ctx, p, m.Info, author)
	}
	if r := content.GetReactionMessage(); r != nil {
		return chat.Reaction{MessageID: in.target(ctx, r.GetKey(), author), Emoji: r.GetText()}, true
	}
	text, quoting := said(content)
	files := fileOf(content)
	// In a group a message without content comes first: it has the sender's key and the same id as the message after it.
	if text == "" && files == nil {
		return nil, false
	}
	body := chat.Message{ID: messageID(m.Info.ID, author), Text: text, Media: files}
	if m.Info.IsFromMe {
		body.ID = messageID(m.Info.ID, types.EmptyJID)
	}
	body.Mentions, body.MentionsSelf = in.mentions(ctx, text, quoting)
	if !typed(content) && text != "" {
		body.Mentions = []chat.Mention{{Length: len(text)}} // disables commands
	}
	if id := quoting.GetStanzaID(); id != "" {
		body.ReplyTo = in.quote(ctx, m.Info, author, id, quoting)
		body.MentionsSelf = body.MentionsSelf || body.ReplyTo.IsSelf
	}
	if quoting.GetIsForwarded() {
		body.Forwarded = &chat.Forward{} // WhatsApp does not say from whom
	}
	return body, true
}

// opened decrypts a message's second encryption, if it has one.
func (in inbound) opened(ctx context.Context, client *whatsmeow.Client, m *events.Message) (*waE2E.Message, bool) {
	content := m.Message
	switch {
	case content.GetEncReactionMessage() != nil:
		reaction, err := client.DecryptReaction(ctx, m)
		if err != nil {
			in.log.Warn("a reaction cannot be read", "id", m.Info.ID, "error", err)
			return nil, false
		}
		if reaction.Key == nil {
			reaction.Key = content.GetEncReactionMessage().GetTargetMessageKey()
		}
		return &waE2E.Message{ReactionMessage: reaction}, true
	case content.GetSecretEncryptedMessage().GetSecretEncType() == waE2E.SecretEncryptedMessage_MESSAGE_EDIT:
		edit, err := client.DecryptSecretEncryptedMessage(ctx, m)
		if err != nil {
			in.log.Warn("an edit cannot be read", "id", m.Info.ID, "error", err)
			return nil, false
		}
		if edit.GetProtocolMessage() != nil {
			return edit, true
		}
		return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
			Key: content.GetSecretEncryptedMessage().GetTargetMessageKey(), Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(),
			EditedMessage: edit,
		}}, true
	default:
		content, _, _ = associated(content)
		return content, content != nil
	}
}

// change returns an edit or a deletion. People edit their own messages; a group's admin may delete those of others, which
// the server has checked.
func (in inbound) change(ctx context.Context, p *waE2E.ProtocolMessage, info types.MessageInfo, author types.JID) (chat.Body, bool) {
	own := messageID(p.GetKey().GetID(), author)
	if info.IsFromMe {
		own = messageID(p.GetKey().GetID(), types.EmptyJID)
	}
	switch p.GetType() {
	case waE2E.ProtocolMessage_MESSAGE_EDIT:
		edited, _, _ := associated(p.GetEditedMessage())
		text, quoting := said(edited)
		mentions, _ := in.mentions(ctx, text, quoting)
		return chat.Edited{ID: own, Text: text, Mentions: mentions}, text != ""
	case waE2E.ProtocolMessage_REVOKE:
		if info.Edit != types.EditAttributeAdminRevoke {
			return chat.Deleted{ID: own}, true
		}
		target := in.target(ctx, p.GetKey(), author)
		in.recent.forget(chatID(info.Chat), target)
		return chat.Deleted{ID: target}, true
	default:
		return nil, false
	}
}

// maxMentions limits the mentions of a message to what the host accepts. Beyond that only the account's own counts.
const maxMentions = 256

// mentions returns the mentions in a text, and whether the account is among them. The text has the user part of people's
// addresses.
func (in inbound) mentions(ctx context.Context, text string, quoting *waE2E.ContextInfo) (list []chat.Mention, ofSelf bool) {
	for _, mentioned := range quoting.GetMentionedJID() {
		jid, err := types.ParseJID(mentioned)
		if err != nil {
			continue
		}
		self := in.account().is(jid)
		ofSelf = ofSelf || self
		if len(list) == maxMentions {
			continue
		}
		if at := namedAt(text, jid.User); at >= 0 {
			person, _ := in.person(ctx, jid, types.EmptyJID)
			mention := chat.Mention{Offset: at, Length: len(jid.User) + 1, User: chat.UserID(person.String()), IsSelf: self}
			if !self && len(list) < maxNamed {
				mention.Name = in.called(ctx, jid.ToNonAD())
			}
			list = append(list, mention)
		}
	}
	return list, ofSelf
}

// namedAt returns where a text mentions the user of an address; -1: nowhere. A longer number may have the same beginning.
func namedAt(text, user string) int {
	for from := 0; ; {
		at := strings.Index(text[from:], "@"+user)
		if at < 0 {
			return -1
		}
		at, from = from+at, from+at+1+len(user)
		if next, _ := utf8.DecodeRuneInString(text[from:]); !unicode.IsDigit(next) {
			return at
		}
	}
}

// target returns the message that an edit, a deletion or a reaction refers to. FromMe is from the author's point of view.
func (in inbound) target(ctx context.Context, key *waCommon.MessageKey, author types.JID) chat.MessageID {
	if key.GetFromMe() && !in.account().is(author) {
		return messageID(key.GetID(), author)
	}
	// In a direct chat a message that is not the author's is of this account, and there is no participant.
	return in.of(ctx, key.GetID(), key.GetParticipant())
}

// of returns a message's id by its author's address; empty: this account's.
func (in inbound) of(ctx context.Context, id types.MessageID, author string) chat.MessageID {
	jid, err := types.ParseJID(author)
	if author == "" || err != nil || in.account().is(jid) {
		return messageID(id, types.EmptyJID)
	}
	person, _ := in.person(ctx, jid, types.EmptyJID)
	return messageID(id, person)
}

// quote returns the message that is replied to, as reported by the phone of the person who replies, and its file; nil: none
// that may be fetched.
func (in inbound) quote(
	ctx context.Context, info types.MessageInfo, author types.JID, id types.MessageID, quoting *waE2E.ContextInfo,
) *chat.Quote {
	content, once := bare(quoting.GetQuotedMessage())
	q := &chat.Quote{ID: in.of(ctx, id, quoting.GetParticipant())}
	if q.Text, _ = said(content); announces(content) > 0 {
		q.Text = fmt.Sprintf("[album: %d files]", announces(content))
	}
	if jid, err := types.ParseJID(quoting.GetParticipant()); err == nil {
		q.IsSelf = in.account().is(jid) && !(in.withSelf(info) && in.ofOwner(chatID(author), q.ID))
		q.SenderName = in.name(ctx, jid.ToNonAD())
	}
	if q.Media = fileOf(content); q.Media != nil && once {
		q.Media[0].Token, q.Media[0].Problem = "", "was to be seen once"
	}
	return q
}

// ofOwner reports whether a message of the account in the chat with oneself is its owner's, and not the agent's. One that
// is not remembered is recognised by its id, whose format is different on phones.
func (in inbound) ofOwner(here chat.ID, id chat.MessageID) bool {
	if own, known := in.recent.own(here, id); known {
		return !own
	}
	return !strings.HasPrefix(string(id), whatsmeow.WebMessageIDPrefix)
}

// name returns a person's own name if the device knows it; else the user part of their address.
func (in inbound) name(ctx context.Context, jid types.JID) string {
	return cmp.Or(in.called(ctx, jid), jid.User)
}

// called returns a person's own name; empty if the device does not know it. WhatsApp is not asked. The names in the
// account's phone book are private.
func (in inbound) called(ctx context.Context, jid types.JID) string {
	// After an error there is no name.
	contact, _ := in.contacts.GetContact(ctx, jid)
	return cmp.Or(contact.PushName, contact.BusinessName)
}

// person returns a person's id, the hidden one if it is known, and the other ids: the address by phone number, and the
// number itself.
func (in inbound) person(ctx context.Context, jid, alt types.JID) (types.JID, []chat.UserID) {
	jid, alt = jid.ToNonAD(), alt.ToNonAD()
	if self := in.account(); self.is(jid) {
		jid, alt = self.own(), self.pn
	}
	if alt.IsEmpty() {
		// After an error only the given address is used.
		switch jid.Server {
		case types.DefaultUserServer:
			alt, _ = in.lids.GetLIDForPN(ctx, jid)
		case types.HiddenUserServer:
			alt, _ = in.lids.GetPNForLID(ctx, jid)
		}
		alt = alt.ToNonAD()
	}
	if jid.Server == types.DefaultUserServer && alt.Server == types.HiddenUserServer {
		jid, alt = alt, jid
	}
	var aliases []chat.UserID
	for _, known := range []types.JID{jid, alt} {
		if known.Server == types.DefaultUserServer {
			if known != jid {
				aliases = append(aliases, chat.UserID(known.String()))
			}
			aliases = append(aliases, chat.UserID("+"+known.User))
		}
	}
	return jid, aliases
}
