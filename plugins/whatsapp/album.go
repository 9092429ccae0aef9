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

// An album is a message that says how many files follow, and then a message for each file, which names the first one. A file
// cannot wait unacknowledged for the others: the library begins with the next message when the one before is taken, and what
// is not taken comes again on the next connection only. So it waits with the host, in the instance's state, and the host has
// it before it is acknowledged.

const (
	// maxAlbum is how many files one message to the host has, beside that of the message which it answers.
	maxAlbum = wire.MaxMedia - 1
	// maxAlbums is how many albums are put together at a time. The files of further ones are messages of their own.
	maxAlbums = 50
	// maxKept bounds an album's record, in bytes. The host takes a larger value, and a text as long as that.
	maxKept = 256 << 10
	// albumKeys is what the keys of albums begin with.
	albumKeys = "album/"
)

// albums are those that are being put together.
type albums struct {
	state  sdk.State
	pace   pace
	sizes  map[string]int       // by key: how many files an album has that was announced
	open   map[string]*gathered // as the host keeps them
	expiry *time.Timer          // fires when an album has waited long enough
}

// gathered is what has come of an album.
type gathered struct {
	key         string
	first, last time.Time // when something came of it
	bytes       int       // of its parts in the record
	record
}

// record is what the host keeps of an album.
type record struct {
	By     writer
	Size   int     // how many files it has; zero: that was not announced
	Parts  []child // in the order in which they came
	Closed bool    // these parts are the message, whatever comes later
}

// writer is somebody in a chat.
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

// announces is how many files an album has that begins with a message; zero: it begins none.
func announces(m *waE2E.Message) int {
	a := m.GetAlbumMessage()
	return int(min(a.GetExpectedImageCount(), maxAlbum) + min(a.GetExpectedVideoCount(), maxAlbum))
}

// associated takes the file of an album, or what else belongs to another message, out of its wrapping, and tells of which
// album it is; empty: of none. What only shows another message in a better way is nothing.
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

// albumKey names an album in the state. Its id is its sender's choice, and may be long.
func albumKey(by writer, id types.MessageID) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", by.Chat, by.Sender, id))
	return albumKeys + hex.EncodeToString(sum[:16])
}

// announce remembers how many files an album has.
func (a *albums) announce(key string, size int) {
	if len(a.sizes) >= maxAlbums {
		clear(a.sizes) // What is not known to be whole is handed over when nothing more comes.
	}
	a.sizes[key] = size
}

// load takes up what an earlier life has left. What is missing may still come.
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
			log.Error("an album that an earlier life has left cannot be read", "key", key, "error", err)
			continue
		}
		g.bytes = len(value)
		a.open[key] = g
	}
	a.wind()
	return nil
}

// keep has the host keep an album, and only then knows of it: a file that is known is acknowledged when it comes again.
func (a *albums) keep(ctx context.Context, g *gathered) error {
	value, err := json.Marshal(g.record)
	if err != nil {
		return fmt.Errorf("keep album: %w", err)
	}
	if _, err := a.state.Put(ctx, g.key, value); err != nil {
		return fmt.Errorf("keep album: %w", err)
	}
	a.open[g.key] = g
	return nil
}

// forget ends an album that the host has as a message.
func (a *albums) forget(ctx context.Context, g *gathered) error {
	if err := a.state.Delete(ctx, g.key); err != nil {
		return fmt.Errorf("forget album: %w", err)
	}
	delete(a.open, g.key)
	delete(a.sizes, g.key)
	return nil
}

// due is when an album is one message, though not all has come.
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

// wind sets the timer for the album that is due next.
func (a *albums) wind() {
	a.expiry.Stop()
	if next := a.next(); next != nil {
		a.expiry.Reset(max(0, time.Until(a.due(next))))
	}
}

// next is the album that is due first; nil: there is none.
func (a *albums) next() *gathered {
	var next *gathered
	for _, g := range a.open {
		if next == nil || a.due(g).Before(a.due(next)) {
			next = g
		}
	}
	return next
}

// begunBy are the albums of somebody, in order.
func (a *albums) begunBy(by writer) []*gathered {
	var list []*gathered
	for _, g := range a.open {
		if g.By == by {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *gathered) int { return a.first.Compare(b.first) })
	return list
}

// with is the album and another file, which may make it whole.
func (g *gathered) with(c child) *gathered {
	next := *g
	next.last = time.Now()
	next.Parts = append(slices.Clip(g.Parts), c)
	next.bytes += c.bytes()
	next.Closed = len(next.Parts) == next.Size
	return &next
}

// closed is the album without what may still come of it.
func (g *gathered) closed() *gathered {
	next := *g
	next.Closed = true
	return &next
}

// has tells whether a file has come before.
func (g *gathered) has(id types.MessageID) bool {
	return slices.ContainsFunc(g.Parts, func(c child) bool { return c.ID == id })
}

func newChild(id types.MessageID, index int32, event chat.Event, message chat.Message) child {
	event.Body = nil
	return child{ID: id, Index: index, Event: event, Message: message}
}

// event is the file as a message of its own.
func (c child) event() chat.Event {
	event := c.Event
	event.Body = c.Message
	return event
}

// room tells whether a file may wait for the rest of its album.
func (a *albums) room(key string, c child) bool {
	_, begun := a.open[key]
	return (begun || len(a.open) < maxAlbums) && c.bytes() <= maxKept
}

// full tells whether an album has no room for another file.
func (g *gathered) full(with child) bool {
	return len(g.Parts) >= maxAlbum || g.bytes+with.bytes() > maxKept
}

// bytes is what a file takes of the record. Names and captions are the sender's choice, and may be long.
func (c child) bytes() int {
	raw, err := json.Marshal(c)
	if err != nil {
		return maxKept + 1
	}
	return len(raw)
}

// event makes one event of an album. It has the id of the file that came last: that is the one which may come again after the
// host has the whole, in the plugin's next life too. Others may where files overtook each other; a life remembers them.
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
