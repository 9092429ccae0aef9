package main

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk/chat"
)

// handle handles an event of the library. It returns false to leave a message unacknowledged, so that WhatsApp redelivers
// it on the next connection. The library would treat a panic as success. End cancels all work of the connection.
func (l *line) handle(client *whatsmeow.Client, end context.CancelFunc, event any) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			l.log.Error("panic while handling an event; a message stays unacknowledged", "event", fmt.Sprintf("%T", event),
				"cause", fmt.Sprint(cause))
			ok = false
		}
	}()
	switch e := event.(type) {
	case *events.Message:
		ok = l.inTurn(client, func() error { return l.take(client, e) })
		if !ok && e.UnavailableRequestID != "" {
			// The account's phone sends it in place of a message that could not be decrypted, and the library acknowledges
			// that whatever is returned here, except when its connection ends.
			end()
		}
		return ok
	case *events.UndecryptableMessage:
		// The library has requested it again from the sender's phone.
		l.log.Warn("a message could not be decrypted; the sender's phone is asked to send it again", "id", e.Info.ID,
			"unavailable", e.IsUnavailable)
	case *events.GroupInfo:
		if e.Name != nil {
			l.read.titles.set(e.JID, e.Name.Name)
		}
		return l.inTurn(client, func() error { return l.submitMoves(l.moved(e)) })
	case *events.JoinedGroup:
		l.read.titles.set(e.JID, e.Name)
		return l.inTurn(client, func() error { return l.submitMoves(l.entered(e)) })
	case *events.ChatPresence:
		if hint, ok := l.read.typing(l.ctx, e); ok {
			l.in.Typing(hint)
		}
	case *events.Connected, *events.Disconnected, *events.KeepAliveTimeout, *events.ManualLoginReconnect, *events.StreamError,
		*events.PushNameSetting, *events.AppStateSyncComplete, *events.ConnectFailure, *events.LoggedOut,
		*events.StreamReplaced, *events.TemporaryBan, *events.ClientOutdated:
		l.announce(news{client, event})
	}
	return true
}

// announce must not block: handlers are waited for.
func (l *line) announce(n news) {
	select {
	case l.news <- n:
	default: // overflows only after the connection has ended
	}
}

// inTurn calls handOver after previous calls have finished. Submit blocks while the host accepts no events, and so do later
// messages.
func (l *line) inTurn(client *whatsmeow.Client, handOver func() error) bool {
	l.taking.Lock()
	defer l.taking.Unlock()
	if l.refused {
		return false // a message must not overtake one that the host does not have
	}
	if err := handOver(); err != nil {
		l.refused = true
		if l.ctx.Err() == nil {
			l.announce(news{client, fmt.Errorf("%w: %w", errHost, err)})
		}
		return false
	}
	return true
}

// take submits a message, or stores it until its album is complete. An error is the host's, or the end of Run.
func (l *line) take(client *whatsmeow.Client, m *events.Message) error {
	by := writer{m.Info.Chat, m.Info.Sender.ToNonAD()}
	if size := announces(m.Message); size > 0 {
		return l.announced(client, albumKey(by, m.Info.ID), size)
	}
	event, ok := l.read.event(l.ctx, client, m)
	if !ok {
		return l.ctx.Err() // after the end a decryption error means nothing
	}
	message, isMessage := event.Body.(chat.Message)
	if _, of, index := associated(m.Message); of != "" && isMessage && len(message.Media) > 0 {
		if key, c := albumKey(by, of), newChild(m.Info.ID, index, event, message); l.albums.admits(key, c) {
			return l.gather(client, key, by, c)
		}
	}
	if event, ok = l.read.addressed(event); !ok {
		return nil
	}
	if err := l.deliverOf(client, by); err != nil {
		return err
	}
	return l.submit(client, event, by, m.Info.ID)
}

// submit submits an event, which was made from messages with these ids.
func (l *line) submit(client *whatsmeow.Client, event chat.Event, by writer, ids ...types.MessageID) error {
	message, isMessage := event.Body.(chat.Message)
	if isMessage {
		l.recent.keep(event.Chat.ID, message.ID, message.Text) // the answer may be sent before Submit returns
	}
	verdict, err := l.in.Submit(l.ctx, event)
	if err != nil {
		return err
	}
	if isMessage && l.config.ReadReceipts && verdict != chat.Rejected {
		// A lost receipt only leaves a grey tick.
		_ = client.MarkRead(l.ctx, ids, event.At, by.Chat, by.Sender)
	}
	return nil
}
