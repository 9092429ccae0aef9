package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// TestAnAlbumOutlivesThePlugin: what came before it ended waits with the host, and was acknowledged.
// Behaviour: album.
func TestAnAlbumOutlivesThePlugin(t *testing.T) {
	t.Parallel()
	l := start(t)
	files := l.pictures(3, "look")
	album := l.anna.Announce(types.EmptyJID, 3)
	for i := range 2 {
		l.anna.Send(whatsapptest.OfAlbum(album, i, files[i]))
	}
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil || len(l.kept()) != 1 {
		t.Fatalf("%v; the host keeps %q", err, l.kept())
	}
	l.run.Stop()
	l.anna.Send(whatsapptest.OfAlbum(album, 2, files[2]))
	l.Run()
	_, m := l.next()
	if diff := cmp.Diff([]int64{1, 2, 3}, sizes(t, m)); diff != "" || m.Text != "look" {
		t.Errorf("came %+v, files (-want +got):\n%s", m, diff)
	}
}

// fragile is a state that breaks whoever writes the second value to it.
type fragile struct {
	sdk.State
	writes atomic.Int32
}

func (f *fragile) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if f.writes.Add(1) == 2 {
		panic("the state breaks")
	}
	return f.State.Put(ctx, key, value)
}

// TestAFileIsAcknowledgedOnceItIsKept though the plugin broke when it was to be kept, and it came again.
// Behaviour: album-late.
func TestAFileIsAcknowledgedOnceItIsKept(t *testing.T) {
	t.Parallel()
	env := &sdk.Env{}
	l := startAs(t, env, sdk.NewChannel((*channel)(nil).Limits(0), func(ctx context.Context, got sdk.Env, cfg config) (*channel, error) {
		*env = got
		got.State = &fragile{State: got.State}
		c, err := open(ctx, got, cfg)
		if err == nil {
			c.pace = quick()
		}
		return c, err
	}))
	files := l.pictures(3, "look")
	album := l.anna.Announce(types.EmptyJID, 3)
	l.anna.Send(whatsapptest.OfAlbum(album, 0, files[0]))
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := l.anna.Send(whatsapptest.OfAlbum(album, 1, files[1]))
	l.anna.Send(&waE2E.Message{Conversation: proto.String("")}) // What the plugin takes no notice of.
	if err := l.server.AwaitUnacknowledged(t.Context(), 1); err != nil || l.server.Acknowledged(broken) {
		t.Fatalf("%v; the second file is acknowledged though no one has it", err)
	}
	l.server.Cut()
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.run.Stop()
	l.anna.Send(whatsapptest.OfAlbum(album, 2, files[2]))
	l.Run()
	_, m := l.next()
	if diff := cmp.Diff([]int64{1, 2, 3}, sizes(t, m)); diff != "" {
		t.Errorf("came %+v, files (-want +got):\n%s", m, diff)
	}
}

// drawer is a state that takes everything.
type drawer struct{ sdk.State }

func (drawer) Put(context.Context, string, []byte) (uint64, error) { return 0, nil }
func (drawer) Delete(context.Context, string) error                { return nil }

// tray is an inbox that takes everything.
type tray struct {
	sdk.Inbox
	events []chat.Event
}

func (t *tray) Submit(_ context.Context, e chat.Event) (chat.Verdict, error) {
	t.events = append(t.events, e)
	return chat.Accepted, nil
}

// TestAFileThatComesAgain behind the others, which had overtaken it, is no second message, in the next Run neither.
// Behaviour: album-late.
func TestAFileThatComesAgain(t *testing.T) {
	t.Parallel()
	c := &channel{recent: newRecent(), log: slog.New(slog.DiscardHandler), pace: quick()}
	in := &tray{}
	newLine := func() *line {
		return &line{channel: c, in: in, ctx: t.Context(), read: inbound{channel: c}, albums: newAlbums(drawer{}, c.pace)}
	}
	come := func(l *line, id types.MessageID) {
		t.Helper()
		event := chat.Event{ID: chat.EventID(id), Body: chat.Message{ID: chat.MessageID(id)}}
		if err := l.gather(nil, "album/1", writer{}, newChild(id, 0, event, event.Body.(chat.Message))); err != nil {
			t.Fatal(err)
		}
	}
	l := newLine()
	l.albums.announce("album/1", 2)
	come(l, "second")
	come(l, "first")
	for _, l := range []*line{l, newLine()} {
		come(l, "second")
		come(l, "first")
		if len(in.events) != 1 || len(l.albums.open) > 0 {
			t.Fatalf("came %d messages, and %d albums wait for more", len(in.events), len(l.albums.open))
		}
	}
	come(l, "third")
	if len(l.albums.open) != 1 {
		t.Error("a file that comes late is taken for one that came again")
	}
}

// TestARefusedAlbum comes again as the same, though more of it has come.
// Behaviour: album.
func TestARefusedAlbum(t *testing.T) {
	t.Parallel()
	l := startAt(t, hasty())
	files := l.pictures(3, "look")
	refused := make(chan chat.Event, 100)
	l.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		refused <- e
		return sdktest.Unavailable(ctx, e)
	})
	album := l.anna.Announce(types.EmptyJID, 3)
	for i := range 2 {
		l.anna.Send(whatsapptest.OfAlbum(album, i, files[i]))
	}
	first := <-refused
	l.run.Stop()
	l.Host.OnSubmit(nil)
	l.anna.Send(whatsapptest.OfAlbum(album, 2, files[2]))
	l.Run()
	e, m := l.next()
	if diff := cmp.Diff(first, e); diff != "" || len(m.Media) != 2 {
		t.Errorf("refused and taken differ:\n%s", diff)
	}
	if e, m := l.next(); len(m.Media) != 1 || e.ID == first.ID {
		t.Errorf("came %+v", e)
	}
	l.anna.Say("done")
	l.next()
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil || len(l.kept()) > 0 {
		t.Errorf("%v; the host still keeps %q", err, l.kept())
	}
}
