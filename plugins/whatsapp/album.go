package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/album"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// An album is a message with the number of files, followed by a message for each file, which refers to the first one. A
// file cannot stay unacknowledged while it waits for the others: the library continues with the next message only when the
// previous one is handled, and unacknowledged messages are redelivered on the next connection only. So the parts are stored
// in the instance's state at the host before they are acknowledged.

const (
	// maxAlbum limits the files of a message to the host, leaving one for the quoted message.
	maxAlbum = wire.MaxMedia - 1
	// maxAlbums limits the albums that are assembled at a time. The files of further ones are separate messages.
	maxAlbums = 50
	// maxKept limits an album's record, in bytes. It is below the host's limits for a value and for a text.
	maxKept = 256 << 10
	// albumKeys is the prefix of the keys of albums.
	albumKeys = "album/"
)

// albums are the incomplete albums.
type albums struct {
	state  sdk.State
	pace   pace
	sizes  map[string]int       // by key: the announced number of files
	open   map[string]*gathered // as stored by the host
	expiry *time.Timer          // fires when an album has waited long enough
}

// gathered is the received part of an album.
type gathered struct {
	key         string
	first, last time.Time // when parts arrived
	bytes       int       // of its parts in the record
	record
}

// record is an album as stored by the host.
type record struct {
	By     writer
	Size   int     // the announced number of files; zero: unknown
	Parts  []child // in order of arrival
	Closed bool    // these parts are the message; later ones are separate
}

// writer is a person in a chat.
type writer struct{ Chat, Sender types.JID }

// child is one file of an album.
type child struct {
	ID      types.MessageID
	Index   int32      // its place in the album
	Event   chat.Event // without its body
	Message chat.Message
}

func newAlbums(state sdk.State, p pace) *albums {
	expiry := time.NewTimer(time.Hour)
	expiry.Stop()
	return &albums{state: state, pace: p, sizes: map[string]int{}, open: map[string]*gathered{}, expiry: expiry}
}

// announces returns the number of files of the album that a message starts; zero: none.
func announces(m *waE2E.Message) int {
	a := m.GetAlbumMessage()
	return int(min(a.GetExpectedImageCount(), maxAlbum) + min(a.GetExpectedVideoCount(), maxAlbum))
}

// associated unwraps a message that belongs to another one, such as a file of an album, and returns the album; empty: none.
// A better version of another message is dropped.
func associated(m *waE2E.Message) (content *waE2E.Message, of types.MessageID, index int32) {
	content = m
	bond := m.GetMessageContextInfo().GetMessageAssociation()
	if inner := m.GetAssociatedChildMessage().GetMessage(); inner != nil {
		content = inner
		if file := inner.GetDocumentWithCaptionMessage().GetMessage(); file != nil {
			content = file
		}
		if within := inner.GetMessageContextInfo().GetMessageAssociation(); within != nil {
			bond = within
		}
	}
	switch bond.GetAssociationType() {
	case waE2E.MessageAssociation_MEDIA_ALBUM:
		return content, bond.GetParentMessageKey().GetID(), bond.GetMessageIndex()
	case waE2E.MessageAssociation_HD_IMAGE_DUAL_UPLOAD, waE2E.MessageAssociation_HD_VIDEO_DUAL_UPLOAD,
		waE2E.MessageAssociation_HEVC_VIDEO_DUAL_UPLOAD, waE2E.MessageAssociation_MOTION_PHOTO:
		return &waE2E.Message{}, "", 0
	default:
		return content, "", 0
	}
}

// albumKey returns an album's key in the state. The id is chosen by the sender, and may be long.
func albumKey(by writer, id types.MessageID) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", by.Chat, by.Sender, id))
	return albumKeys + hex.EncodeToString(sum[:16])
}

// announce records how many files an album has.
func (a *albums) announce(key string, size int) {
	if len(a.sizes) >= maxAlbums {
		clear(a.sizes) // without a size an album is submitted after a timeout
	}
	a.sizes[key] = size
}

// load loads the albums of a previous process. Missing files may still arrive.
func (a *albums) load(ctx context.Context, log *slog.Logger) error {
	keys, err := a.state.List(ctx, albumKeys, "")
	if err != nil {
		return fmt.Errorf("list albums: %w", err)
	}
	for _, key := range keys {
		value, _, err := a.state.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("read album: %w", err)
		}
		g := &gathered{key: key, first: time.Now(), last: time.Now()}
		if err := json.Unmarshal(value, &g.record); err != nil || len(g.Parts) == 0 {
			log.Error("cannot read an album of a previous process", "key", key, "error", err)
			continue
		}
		g.bytes = len(value)
		a.open[key] = g
	}
	a.resetTimer()
	return nil
}

// keep stores an album with the host before it updates the memory: a known file is acknowledged when it is redelivered.
func (a *albums) keep(ctx context.Context, g *gathered) error {
	value, err := json.Marshal(g.record)
	if err != nil {
		return fmt.Errorf("store album: %w", err)
	}
	if _, err := a.state.Put(ctx, g.key, value); err != nil {
		return fmt.Errorf("store album: %w", err)
	}
	a.open[g.key] = g
	return nil
}

// forget deletes an album that the host has received as a message.
func (a *albums) forget(ctx context.Context, g *gathered) error {
	if err := a.state.Delete(ctx, g.key); err != nil {
		return fmt.Errorf("delete album: %w", err)
	}
	delete(a.open, g.key)
	delete(a.sizes, g.key)
	return nil
}

// due returns when an incomplete album is submitted.
func (a *albums) due(g *gathered) time.Time {
	if g.Closed {
		return g.first
	}
	quiet, whole := g.last.Add(a.pace.album), g.first.Add(a.pace.albumWhole)
	if quiet.Before(whole) {
		return quiet
	}
	return whole
}

// resetTimer sets the timer for the next due album.
func (a *albums) resetTimer() {
	a.expiry.Stop()
	if next := a.next(); next != nil {
		a.expiry.Reset(max(0, time.Until(a.due(next))))
	}
}

// next returns the album that is due first; nil: none.
func (a *albums) next() *gathered {
	var next *gathered
	for _, g := range a.open {
		if next == nil || a.due(g).Before(a.due(next)) {
			next = g
		}
	}
	return next
}

// startedBy returns the albums of a writer, in order.
func (a *albums) startedBy(by writer) []*gathered {
	var list []*gathered
	for _, g := range a.open {
		if g.By == by {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *gathered) int { return a.first.Compare(b.first) })
	return list
}

// with returns the album with another file, which may complete it.
func (g *gathered) with(c child) *gathered {
	next := *g
	next.last = time.Now()
	next.Parts = append(slices.Clip(g.Parts), c)
	next.bytes += c.bytes()
	next.Closed = len(next.Parts) == next.Size
	return &next
}

// closed returns the album as complete.
func (g *gathered) closed() *gathered {
	next := *g
	next.Closed = true
	return &next
}

// has reports whether a file has already arrived.
func (g *gathered) has(id types.MessageID) bool {
	return slices.ContainsFunc(g.Parts, func(c child) bool { return c.ID == id })
}

func newChild(id types.MessageID, index int32, event chat.Event, message chat.Message) child {
	event.Body = nil
	return child{ID: id, Index: index, Event: event, Message: message}
}

// event returns the file as a separate message.
func (c child) event() chat.Event {
	event := c.Event
	event.Body = c.Message
	return event
}

// admits reports whether a file may wait for the rest of its album.
func (a *albums) admits(key string, c child) bool {
	_, begun := a.open[key]
	return (begun || len(a.open) < maxAlbums) && c.bytes() <= maxKept
}

// full reports whether another file would exceed an album's limits.
func (g *gathered) full(with child) bool {
	return len(g.Parts) >= maxAlbum || g.bytes+with.bytes() > maxKept
}

// bytes returns a file's share of the record. Names and captions are chosen by the sender, and may be long.
func (c child) bytes() int {
	raw, err := json.Marshal(c)
	if err != nil {
		return maxKept + 1
	}
	return len(raw)
}

// event returns one event for an album. Its id is that of the file that arrived last, which is the one that may be
// redelivered after the host has the album, even to a later process. Others may be if files were reordered; the process
// remembers those.
func (g *gathered) event() chat.Event {
	parts := slices.Clone(g.Parts)
	slices.SortStableFunc(parts, func(a, b child) int { return cmp.Compare(a.Index, b.Index) })
	events := make([]chat.Event, len(parts))
	for i, c := range parts {
		events[i] = c.event()
	}
	all := album.Join(events)
	all.ID = g.Parts[len(g.Parts)-1].Event.ID
	return all
}
