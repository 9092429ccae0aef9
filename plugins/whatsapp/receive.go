package main

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk/chat"
)

// handle takes an event of the library. False keeps a message unacknowledged, so that WhatsApp delivers it again on the
// next connection. A panic would count as success. End ends what the connection has under way.
func (l *line) handle(client *whatsmeow.Client, end context.CancelFunc, event any) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			l.log.Error("an event broke the plugin; a message stays unacknowledged", "event", fmt.Sprintf("%T", event), "cause", fmt.Sprint(cause))
			ok = false
		}
	}()
	switch e := event.(type) {
	case *events.Message:
		ok = l.inTurn(client, func() error { return l.take(client, e) })
		if !ok && e.UnavailableRequestID != "" {
			// The account's phone sends it in place of one that could not be read, and the library acknowledges that whatever
			// is said here. At its end it does not.
			end()
		}
		return ok
	case *events.UndecryptableMessage:
		// The library has asked the sender's phone for it again.
		l.log.Warn("a message could not be decrypted; the sender's phone is asked to send it again", "id", e.Info.ID, "unavailable", e.IsUnavailable)
	case *events.GroupInfo:
		if e.Name != nil {
			l.read.titles.set(e.JID, e.Name.Name)
		}
		return l.inTurn(client, func() error { return l.tellMoved(l.moved(e)) })
	case *events.JoinedGroup:
		l.read.titles.set(e.JID, e.Name)
		return l.inTurn(client, func() error { return l.tellMoved(l.entered(e)) })
	case *events.Connected, *events.Disconnected, *events.KeepAliveTimeout, *events.ManualLoginReconnect, *events.StreamError,
		*events.PushNameSetting, *events.AppStateSyncComplete, *events.ConnectFailure, *events.LoggedOut, *events.StreamReplaced, *events.TemporaryBan, *events.ClientOutdated:
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

// inTurn hands something over when what came before it has been. Submit waits while the host takes none, and what is behind
// it waits too.
func (l *line) inTurn(client *whatsmeow.Client, handOver func() error) bool {
	l.taking.Lock()
	defer l.taking.Unlock()
	if l.refused {
		return false // What is behind a message that the host has not got must not come before it.
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

// take hands a message over, or has it wait for the rest of its album. An error is the host's, or the end of Run.
func (l *line) take(client *whatsmeow.Client, m *events.Message) error {
	by := writer{m.Info.Chat, m.Info.Sender.ToNonAD()}
	if size := announces(m.Message); size > 0 {
		return l.announced(client, albumKey(by, m.Info.ID), size)
	}
	event, ok := l.read.event(l.ctx, client, m)
	if !ok {
		return l.ctx.Err() // What cannot be read at the end may be something after it.
	}
	message, isMessage := event.Body.(chat.Message)
	if _, of, index := associated(m.Message); of != "" && isMessage && len(message.Media) > 0 {
		if key, c := albumKey(by, of), newChild(m.Info.ID, index, event, message); l.albums.room(key, c) {
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

// submit gives the host an event, which was made of somebody's messages with these ids.
func (l *line) submit(client *whatsmeow.Client, event chat.Event, by writer, ids ...types.MessageID) error {
	message, isMessage := event.Body.(chat.Message)
	if isMessage {
		l.recent.keep(event.Chat.ID, message.ID, message.Text) // The answer may be sent before Submit returns.
	}
	verdict, err := l.in.Submit(l.ctx, event)
	if err != nil {
		return err
	}
	if isMessage && l.config.ReadReceipts && verdict != chat.Rejected {
		// A receipt that is lost is a grey tick and no more.
		_ = client.MarkRead(l.ctx, ids, event.At, by.Chat, by.Sender)
	}
	return nil
}
