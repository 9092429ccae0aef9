package main

import (
	"fmt"
	"slices"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
)

// maxHanded limits the remembered files that the host has.
const maxHanded = 4 * maxAlbum

// filed identifies a file of an album.
type filed struct {
	album string // its key
	id    types.MessageID
}

// announced handles the start of an album, of which files may have arrived before.
func (l *line) announced(client *whatsmeow.Client, key string, size int) error {
	l.albums.announce(key, size)
	g := l.albums.open[key]
	if g == nil {
		return nil
	}
	g.Size = size
	if len(g.Parts) < size {
		return nil
	}
	return l.deliver(client, g)
}

// gather adds a file to its album, and submits the album when it is complete.
func (l *line) gather(client *whatsmeow.Client, key string, by writer, c child) error {
	g := l.albums.open[key]
	switch {
	case slices.Contains(l.handed, filed{key, c.ID}):
		return nil
	case g != nil && g.has(c.ID) && !g.Closed:
		return nil
	case g != nil && g.has(c.ID):
		return l.deliver(client, g)
	case g != nil && (g.Closed || g.full(c)):
		if err := l.deliver(client, g); err != nil {
			return err
		}
		g = nil
	}
	if g == nil {
		g = &gathered{key: key, first: time.Now(), record: record{By: by, Size: l.albums.sizes[key]}}
	}
	g = g.with(c)
	if err := l.albums.keep(l.ctx, g); err != nil {
		return err
	}
	if g.Closed {
		return l.deliver(client, g)
	}
	l.albums.resetTimer()
	return nil
}

// deliver submits an album as it is. Later files are separate messages.
func (l *line) deliver(client *whatsmeow.Client, g *gathered) error {
	if !g.Closed {
		g = g.closed()
		if err := l.albums.keep(l.ctx, g); err != nil {
			return err
		}
	}
	if event, ok := l.read.addressed(g.event()); ok {
		ids := make([]types.MessageID, len(g.Parts))
		for i, c := range g.Parts {
			ids[i] = c.ID
		}
		if err := l.submit(client, event, g.By, ids...); err != nil {
			return err
		}
	}
	for _, c := range g.Parts {
		l.handed = append(l.handed, filed{g.key, c.ID})
	}
	l.handed = l.handed[max(0, len(l.handed)-maxHanded):]
	defer l.albums.resetTimer()
	return l.albums.forget(l.ctx, g)
}

// deliverOf submits a writer's albums before their next message.
func (l *line) deliverOf(client *whatsmeow.Client, by writer) error {
	for _, g := range l.albums.startedBy(by) {
		if err := l.deliver(client, g); err != nil {
			return err
		}
	}
	return nil
}

// deliverDue submits the albums that have waited long enough. While a message is being submitted they wait a little longer.
func (l *line) deliverDue(client *whatsmeow.Client) error {
	if !l.taking.TryLock() {
		l.albums.expiry.Reset(l.pace.album)
		return nil
	}
	defer l.taking.Unlock()
	for next := l.albums.next(); next != nil && !l.refused; next = l.albums.next() {
		if time.Until(l.albums.due(next)) > 0 {
			break
		}
		if err := l.deliver(client, next); err != nil {
			l.refused = true
			return fmt.Errorf("%w: %w", errHost, err)
		}
	}
	l.albums.resetTimer()
	return nil
}
