package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
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

// sizes are those of a message's files, each of which has a token.
func sizes(t *testing.T, m chat.Message) (list []int64) {
	t.Helper()
	for _, media := range m.Media {
		if media.Token == "" {
			t.Errorf("%+v has no token", media)
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

// Behaviour: album.
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
	for i, media := range m.Media {
		if content, err := l.Content(media); err != nil || len(content) != i+1 {
			t.Errorf("file %d has %d bytes, %v", i, len(content), err)
		}
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
// Behaviour: album.
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
// Behaviour: album-late.
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

// TestWrappedFiles: some phones wrap what they send, and send pictures a second time, in a better quality.
func TestWrappedFiles(t *testing.T) {
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
// Behaviour: whatsapp-self.
func TestAPrefixCoversAnAlbum(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"prefix": "claw"})
	l.anna.Album(types.EmptyJID, l.pictures(2, "not for you")...)
	l.anna.Album(types.EmptyJID, l.pictures(2, "claw, look")...)
	if _, m := l.next(); m.Text != "look" || len(m.Media) != 2 {
		t.Errorf("came %+v", m)
	}
}

// TestAlbumsAreBounded in files, and in what is said of them.
// Behaviour: album-late.
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
		if a.admits(fmt.Sprint(i), child{}) {
			a.open[fmt.Sprint(i)] = &gathered{}
		}
	}
	if len(a.sizes) > maxAlbums || len(a.open) != maxAlbums || !a.admits("0", child{}) || a.admits("0", saying(maxKept)) {
		t.Errorf("%d albums are known, %d begun", len(a.sizes), len(a.open))
	}
}
