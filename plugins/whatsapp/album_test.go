package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/go-hclog"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// pictures are images of different sizes, the first with a caption.
func (l life) pictures(n int, caption string) []*waE2E.Message {
	list := make([]*waE2E.Message, n)
	for i := range list {
		list[i] = l.server.Image(make([]byte, i+1), "image/png", caption)
		caption = ""
	}
	return list
}

// sizes are those of a message's files. Each must be in the host's store.
func sizes(t *testing.T, m chat.Message) (list []int64) {
	t.Helper()
	for _, media := range m.Media {
		if media.Ref == "" {
			t.Errorf("%+v was not fetched", media)
		}
		list = append(list, media.Size)
	}
	return list
}

// kept are the keys of albums that the host keeps.
func (l life) kept() []string {
	l.t.Helper()
	keys, err := l.env.State.List(l.t.Context(), albumKeys, "")
	if err != nil {
		l.t.Fatal(err)
	}
	return keys
}

func TestAnAlbumIsOneMessage(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"read_receipts": true})
	ids := l.anna.Album(types.EmptyJID, l.pictures(3, "look")...)
	e, m := l.next()
	want := chat.Message{ID: messageID(ids[1], l.anna.LID), Text: "look"}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(chat.Message{}, "Media")); diff != "" {
		t.Errorf("came (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, sizes(t, m)); diff != "" || !strings.HasSuffix(string(e.ID), ids[3]) {
		t.Errorf("event %s, files (-want +got):\n%s", e.ID, diff)
	}
	for _, id := range ids[1:] {
		if err := l.server.AwaitRead(t.Context(), id); err != nil {
			t.Errorf("file %s is not shown as read: %v", id, err)
		}
	}
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil || len(l.kept()) > 0 {
		t.Errorf("%v; the host still keeps %q", err, l.kept())
	}
}

// TestAnAlbumOfAGroup comes whole where only its caption names the account: the other files would be kept out. Its files come
// in any order, and what Bob says meanwhile is his.
func TestAnAlbumOfAGroup(t *testing.T) {
	t.Parallel()
	l := start(t)
	files := l.pictures(3, "what is this, @900000000001?")
	files[0].ImageMessage.ContextInfo = &waE2E.ContextInfo{MentionedJID: []string{"900000000001@lid"}}
	album := l.anna.Announce(l.server.Group(), 3)
	for _, i := range []int{2, 0} {
		l.anna.SendGroup(whatsapptest.OfAlbum(album, i, files[i]))
	}
	l.server.Person(2).SendGroup(&waE2E.Message{Conversation: proto.String("hi all")})
	if _, m := l.next(); m.Text != "hi all" {
		t.Errorf("came %+v", m)
	}
	l.anna.SendGroup(whatsapptest.OfAlbum(album, 1, files[1]))
	_, m := l.next()
	if diff := cmp.Diff([]int64{1, 2, 3}, sizes(t, m)); diff != "" || !m.MentionsSelf || m.Text != "what is this, @900000000001?" {
		t.Errorf("came %+v, files (-want +got):\n%s", m, diff)
	}
}

// hasty is a pace at which albums do not wait for long.
func hasty() pace {
	p := quick()
	p.album, p.albumWhole = time.Second, 2*time.Second
	return p
}

// TestAlbumsThatAreNotWhole are messages of what has come: when nothing more comes, and before what the same person says
// next. What comes late is a message of its own.
func TestAlbumsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	l := startAt(t, hasty())
	files := l.pictures(5, "")
	album := l.anna.Announce(types.EmptyJID, 9)
	for i := range 2 {
		l.anna.Send(whatsapptest.OfAlbum(album, i, files[i]))
	}
	if _, m := l.next(); len(m.Media) != 2 {
		t.Errorf("came %+v", m)
	}
	for i := 2; i < 4; i++ {
		l.anna.Send(whatsapptest.OfAlbum(album, i, files[i]))
	}
	l.anna.Say("these")
	l.anna.Send(whatsapptest.OfAlbum("of which nobody told", 4, files[4]))
	for _, want := range []int{2, 0, 1} {
		if _, m := l.next(); len(m.Media) != want {
			t.Errorf("came %+v, want %d files", m, want)
		}
	}
	l.anna.Say("done")
	l.next()
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil || len(l.kept()) > 0 {
		t.Errorf("%v; the host still keeps %q", err, l.kept())
	}
}

// TestWhatIsBesideAFile: some phones wrap what they send, and send pictures a second time, in a better quality.
func TestWhatIsBesideAFile(t *testing.T) {
	t.Parallel()
	l := start(t)
	wrap := func(kind waE2E.MessageAssociation_AssociationType, m *waE2E.Message) {
		l.anna.Send(&waE2E.Message{
			AssociatedChildMessage: &waE2E.FutureProofMessage{Message: m},
			MessageContextInfo:     &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{AssociationType: kind.Enum()}},
		})
	}
	wrap(waE2E.MessageAssociation_HD_IMAGE_DUAL_UPLOAD, l.pictures(1, "the same")[0])
	wrap(waE2E.MessageAssociation_UNKNOWN, &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{
		Message: l.server.Document([]byte("content"), "text/plain", "a.txt"),
	}})
	if _, m := l.next(); len(m.Media) != 1 || m.Media[0].FileName != "a.txt" {
		t.Errorf("came %+v", m)
	}
}

// TestAPrefixCoversAnAlbum: it stands before one caption, and means all files.
func TestAPrefixCoversAnAlbum(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"prefix": "claw"})
	l.anna.Album(types.EmptyJID, l.pictures(2, "not for you")...)
	l.anna.Album(types.EmptyJID, l.pictures(2, "claw, look")...)
	if _, m := l.next(); m.Text != "look" || len(m.Media) != 2 {
		t.Errorf("came %+v", m)
	}
}

// TestAnAlbumOutlivesThePlugin: what came before it ended waits with the host, and was acknowledged.
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
		t.Fatalf("%v; the second file is acknowledged though nobody has it", err)
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

// TestTheFilesOfAnAlbumAreBounded together: the one for which there is no room says why it is missing, as does the one that
// would be too large alone.
func TestTheFilesOfAnAlbumAreBounded(t *testing.T) {
	t.Parallel()
	c := &channel{recent: newRecent(), log: hclog.NewNullLogger(), pace: quick()}
	l := &line{channel: c, in: &tray{}, ctx: t.Context(), read: inbound{channel: c}, albums: newAlbums(drawer{}, c.pace), waste: waste{}}
	anna := types.MessageSource{
		Chat: types.NewJID("2", types.HiddenUserServer), Sender: types.NewJID("2", types.HiddenUserServer),
		SenderAlt: types.NewJID("1555", types.DefaultUserServer),
	}
	by := writer{anna.Chat, anna.Sender}
	key := albumKey(by, "album")
	stored := child{ID: "0", Message: chat.Message{Media: []chat.Media{{Ref: "x", Size: maxTogether - 1<<20}}}}
	l.albums.open[key] = &gathered{key: key, first: time.Now(), record: record{By: by, Parts: []child{stored}}}
	for i, size := range []uint64{1<<20 + 1, maxFile + 1} {
		m := &waE2E.Message{
			ImageMessage: &waE2E.ImageMessage{FileLength: proto.Uint64(size)},
			MessageContextInfo: &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{
				AssociationType:  waE2E.MessageAssociation_MEDIA_ALBUM.Enum(),
				ParentMessageKey: &waCommon.MessageKey{ID: proto.String("album")},
			}},
		}
		if err := l.take(nil, &events.Message{Info: types.MessageInfo{MessageSource: anna, ID: fmt.Sprint(i + 1)}, Message: m}); err != nil {
			t.Fatal(err)
		}
	}
	var problems []string
	for _, part := range l.albums.open[key].Parts {
		problems = append(problems, part.Message.Media[0].Problem)
	}
	want := []string{"", "is of an album with more than the 128 MB that are fetched together", "is larger than 64 MB"}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems of the files (-want +got):\n%s", diff)
	}
}

// TestAFileThatComesAgain behind the others, which had overtaken it, is no second message, in the next Run neither.
func TestAFileThatComesAgain(t *testing.T) {
	t.Parallel()
	c := &channel{recent: newRecent(), log: hclog.NewNullLogger(), pace: quick()}
	in := &tray{}
	newLine := func() *line {
		return &line{channel: c, in: in, ctx: t.Context(), read: inbound{channel: c}, albums: newAlbums(drawer{}, c.pace), waste: waste{}}
	}
	come := func(l *line, id types.MessageID) {
		t.Helper()
		event := chat.Event{ID: chat.EventID(id), Body: chat.Message{ID: chat.MessageID(id)}}
		if err := l.gather(nil, "album/1", writer{}, newChild(id, 0, event)); err != nil {
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

// TestPicturesGoOutAsAlbums where some follow each other.
func TestPicturesGoOutAsAlbums(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	_, first := l.next()
	var media []chat.Media
	for _, kind := range []struct {
		kind     chat.MediaKind
		mimeType string
	}{
		{chat.Image, "image/png"},
		{chat.Video, "video/mp4"},
		{chat.File, "text/plain"},
		{chat.Image, "image/png"},
		{chat.File, "text/plain"},
		{chat.Image, "image/jpeg"},
		{chat.Image, "image/jpeg"},
		{chat.Image, "image/jpeg"},
	} {
		m, err := l.env.Media.Upload(t.Context(), chat.Media{Kind: kind.kind, MIMEType: kind.mimeType}, strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		media = append(media, m)
	}
	out := chat.Outgoing{Key: "k", To: l.direct, Text: "look, @+15550000002", Media: media, ReplyTo: first.ID}
	receipt := l.send(out)
	if again := l.send(out); len(receipt.IDs) != len(media)+2 || !slices.Equal(receipt.IDs, again.IDs) {
		t.Errorf("the ids are %v, then %v", receipt.IDs, again.IDs)
	}
	shown := slices.DeleteFunc(l.server.Messages(l.anna.LID), func(m whatsapptest.Message) bool { return !m.Author.IsEmpty() })
	if len(shown) != len(media) {
		t.Fatalf("Anna sees %d messages, want %d", len(shown), len(media))
	}
	var ids []chat.MessageID
	var in []int
	for _, m := range shown {
		ids = append(ids, chat.MessageID(m.ID))
		in = append(in, m.AlbumSize)
	}
	if diff := cmp.Diff([]int{2, 2, 0, 0, 0, 3, 3, 3}, in); diff != "" || shown[0].Album == shown[5].Album || !slices.Equal(ids, receipt.IDs[:len(media)]) {
		t.Errorf("messages %v of %v, albums (-want +got):\n%s", ids, receipt.IDs, diff)
	}
	caption := shown[0].Content.GetImageMessage()
	if shown[0].Text != "look, @900000000002" || caption.GetContextInfo().GetStanzaID() == "" || !slices.Equal(caption.GetContextInfo().GetMentionedJID(), []string{"900000000002@lid"}) {
		t.Errorf("the first is %v", shown[0].Content)
	}
	// She answers the album as such.
	l.anna.Send(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String("nice"), ContextInfo: &waE2E.ContextInfo{StanzaID: proto.String(shown[5].Album), Participant: proto.String("900000000001@lid")},
	}})
	if _, m := l.next(); m.ReplyTo == nil || !m.ReplyTo.IsSelf || !slices.Contains(receipt.IDs, m.ReplyTo.ID) {
		t.Errorf("came %+v", m)
	}
}

// TestAlbumsAreBounded in files, and in what is said of them.
func TestAlbumsAreBounded(t *testing.T) {
	t.Parallel()
	saying := func(n int) child { return child{Message: chat.Message{Text: strings.Repeat("x", n)}} }
	g := &gathered{record: record{Parts: make([]child, maxAlbum)}}
	if !g.full(child{}) {
		t.Error("an album takes more files than the host")
	}
	g = &gathered{bytes: saying(maxKept / 2).bytes()}
	if g.full(child{}) || !g.full(saying(maxKept/2)) {
		t.Error("captions are not bounded")
	}
	a := newAlbums(nil, quick())
	for i := range 3 * maxAlbums {
		a.announce(fmt.Sprint(i), 2)
		if a.room(fmt.Sprint(i), child{}) {
			a.open[fmt.Sprint(i)] = &gathered{}
		}
	}
	if len(a.sizes) > maxAlbums || len(a.open) != maxAlbums || !a.room("0", child{}) || a.room("0", saying(maxKept)) {
		t.Errorf("%d albums are known, %d begun", len(a.sizes), len(a.open))
	}
}
