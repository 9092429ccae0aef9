package main

import (
	"context"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk/chat"
)

// typing returns who writes or records a message, or has stopped; false: the message would not be for the host, or may not be.
// WhatsApp says so only while the account is online.
func (in inbound) typing(ctx context.Context, e *events.ChatPresence) (chat.Typing, bool) {
	if e.IsFromMe || in.config.Prefix != "" || e.Chat.Server == types.BroadcastServer || e.Chat.Server == types.NewsletterServer {
		return chat.Typing{}, false
	}
	author, aliases := in.person(ctx, e.Sender, e.SenderAlt)
	hint := chat.Typing{
		Chat:    chat.Chat{ID: chatID(author), Kind: chat.Direct},
		Sender:  chat.Sender{ID: chat.UserID(author.String()), Aliases: aliases},
		Stopped: e.State != types.ChatPresenceComposing,
	}
	if e.IsGroup {
		hint.Chat = chat.Chat{ID: chatID(e.Chat), Kind: chat.Group, Title: in.titles.known(e.Chat)}
	}
	return hint, true
}
