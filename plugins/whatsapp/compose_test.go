package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestPicturesGoOutAsAlbums where some follow each other.
// Behaviour: whatsapp-albums.
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
