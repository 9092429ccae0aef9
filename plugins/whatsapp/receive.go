package main

import (
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk/chat"
)

// handle takes an event of the library. False keeps a message unacknowledged, so that WhatsApp delivers it again on the
// next connection. A panic would count as success.
func (l *line) handle(client *whatsmeow.Client, event any) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			l.log.Error("an event broke the plugin; a message stays unacknowledged", "event", fmt.Sprintf("%T", event), "cause", fmt.Sprint(cause))
			ok = false
		}
	}()
	switch e := event.(type) {
	case *events.Message:
		return l.receive(client, e)
	case *events.UndecryptableMessage:
		// The library has asked the sender's phone for it again.
		l.log.Warn("a message could not be decrypted; the sender's phone is asked to send it again", "id", e.Info.ID, "unavailable", e.IsUnavailable)
	case *events.GroupInfo:
		if e.Name != nil {
			l.read.titles.set(e.JID, e.Name.Name)
		}
	case *events.Connected, *events.Disconnected, *events.KeepAliveTimeout, *events.ManualLoginReconnect, *events.StreamError,
		*events.ConnectFailure, *events.LoggedOut, *events.StreamReplaced, *events.TemporaryBan, *events.ClientOutdated:
		l.announce(news{client, event})
	}
	return true
}

// announce must not wait: handlers are waited for.
func (l *line) announce(n news) {
	select {
	case l.news <- n:
	default: // So much is told only of a connection that has ended.
	}
}

// receive hands a message over. Submit waits while the host takes none, and the messages behind it wait too.
func (l *line) receive(client *whatsmeow.Client, m *events.Message) bool {
	l.taking.Lock()
	defer l.taking.Unlock()
	if l.refused {
		return false // What is behind a message that the host has not got must not come before it.
	}
	event, file, ok := l.read.event(l.ctx, client, m)
	if !ok {
		return true
	}
	body, isMessage := event.Body.(chat.Message)
	if isMessage {
		if file != nil {
			body.Media = []chat.Media{l.fetch(l.ctx, client, file)}
			event.Body = body
		}
		l.recent.keep(event.Chat.ID, body.ID, body.Text) // The answer may be sent before Submit returns.
	}
	verdict, err := l.in.Submit(l.ctx, event)
	if err != nil {
		l.refused = true
		if l.ctx.Err() == nil {
			l.announce(news{client, fmt.Errorf("%w: %w", errHost, err)})
		}
		return false
	}
	if isMessage && l.config.ReadReceipts && verdict != chat.Rejected {
		// A receipt that is lost is a grey tick and no more.
		_ = client.MarkRead(l.ctx, []types.MessageID{m.Info.ID}, m.Info.Timestamp, m.Info.Chat, m.Info.Sender)
	}
	return true
}
