package main

import (
	"fmt"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk/chat"
)

// handle takes an event of the library. False keeps a message unacknowledged, so that WhatsApp delivers it again on the
// next connection. A panic would count as success.
func (l *line) handle(event any) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			l.log.Error("an event broke the plugin; a message stays unacknowledged", "event", fmt.Sprintf("%T", event), "cause", fmt.Sprint(cause))
			ok = false
		}
	}()
	switch e := event.(type) {
	case *events.Message:
		return l.receive(e)
	case *events.UndecryptableMessage:
		// The library has asked the sender's phone for it again.
		l.log.Warn("a message could not be decrypted; the sender's phone is asked to send it again", "id", e.Info.ID, "unavailable", e.IsUnavailable)
	case *events.GroupInfo:
		if e.Name != nil {
			l.read.titles.set(e.JID, e.Name.Name)
		}
	case *events.Connected, *events.Disconnected, *events.KeepAliveTimeout, *events.ManualLoginReconnect, *events.StreamError,
		*events.ConnectFailure, *events.LoggedOut, *events.StreamReplaced, *events.TemporaryBan, *events.ClientOutdated:
		l.announce(event)
	}
	return true
}

func (l *line) announce(news any) {
	select {
	case l.news <- news:
	case <-l.ctx.Done():
	}
}

// receive hands a message over. Submit waits while the host takes none, and the messages behind it wait too.
func (l *line) receive(m *events.Message) bool {
	l.taking.Lock()
	defer l.taking.Unlock()
	event, file, ok := l.read.event(l.ctx, l.client, m)
	if !ok {
		return true
	}
	body, isMessage := event.Body.(chat.Message)
	if isMessage {
		if file != nil {
			body.Media = []chat.Media{l.fetch(l.ctx, l.client, file)}
			event.Body = body
		}
		l.recent.keep(event.Chat.ID, body.ID, body.Text) // The answer may be sent before Submit returns.
	}
	if _, err := l.in.Submit(l.ctx, event); err != nil {
		if l.ctx.Err() == nil {
			l.announce(fmt.Errorf("%w: %w", errHost, err))
		}
		return false
	}
	if isMessage && l.config.ReadReceipts {
		// A receipt that is lost is a grey tick and no more.
		_ = l.client.MarkRead(l.ctx, []types.MessageID{m.Info.ID}, m.Info.Timestamp, m.Info.Chat, m.Info.Sender)
	}
	return true
}
