package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// pictures are so many photos of different sizes.
func pictures(n int) []telegramtest.Post {
	posts := make([]telegramtest.Post, n)
	for i := range posts {
		posts[i] = telegramtest.Post{Media: "photo", File: make([]byte, i+1)}
	}
	return posts
}

// images are what becomes of [pictures], from the first-th on.
func images(first, n int) []chat.Media {
	media := make([]chat.Media, n)
	for i := range media {
		media[i] = chat.Media{Kind: chat.Image, MIMEType: "image/jpeg", Size: int64(first + i + 1)}
	}
	return media
}

// TestAnAlbumIsOneMessage, with its files in order and the text of whichever has a caption.
// Behaviour: album.
func TestAnAlbumIsOneMessage(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	posts := pictures(3)
	posts[1].Text = "look"
	sent := b.anna.Album(posts...)
	b.anna.Send(0, "done")
	e := b.NextEvent()
	if want := chat.EventID(fmt.Sprintf("tg:4242:%d", sent[0].Update)); e.ID != want {
		t.Errorf("event %s, want %s", e.ID, want)
	}
	want := chat.Message{ID: messageID(sent[1].ID), Text: "look", Media: images(0, 3)}
	if diff := cmp.Diff(want, e.Body, cmpopts.IgnoreFields(chat.Media{}, "Token")); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	message, _ := e.Body.(chat.Message)
	for i, media := range message.Media {
		if content, err := b.Content(media); err != nil || string(content) != string(posts[i].File) {
			t.Errorf("file %d: %q, %v", i, content, err)
		}
	}
	if next, _ := b.NextEvent().Body.(chat.Message); next.Text != "done" {
		t.Errorf("then came %+v", next)
	}
}

// TestAnAlbumOfAGroup comes whole where only its caption names the bot: the other files would be kept out.
// Behaviour: album.
func TestAnAlbumOfAGroup(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	s.Group(-200, "group")
	posts := pictures(4)
	posts[0].Text = "what is this, @claw_bot?"
	for i := range posts {
		posts[i].Chat = -200
	}
	s.User(7).Album(posts...)
	c := newChannel(t, s)
	run(t, c, in)
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(in.events) != 1 {
		t.Fatalf("%d events", len(in.events))
	}
	if m := in.events[0].Body.(chat.Message); !m.MentionsSelf || len(m.Media) != 4 {
		t.Errorf("got %+v", m)
	}
}

// TestAlbumsAreNotMixed with each other, with what stands between them, or with another chat's.
func TestAlbumsAreNotMixed(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna, berta := s.User(7), s.User(8)
	anna.Album(pictures(2)...)
	anna.Album(pictures(3)...)
	berta.Album(pictures(2)...)
	anna.Send(0, "between")
	anna.Album(pictures(2)...)
	anna.Post(pictures(1)[0])
	anna.Post(pictures(1)[0])
	anna.Album(pictures(maxAlbum + 2)...) // more than Telegram lets through
	c := newChannel(t, s)
	run(t, c, in)
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	var files []int
	for _, e := range in.events {
		files = append(files, len(e.Body.(chat.Message).Media))
	}
	if diff := cmp.Diff([]int{2, 3, 2, 0, 2, 1, 1, maxAlbum, 2}, files); diff != "" {
		t.Errorf("files of each message (-want +got):\n%s", diff)
	}
}

// TestAnAlbumThatAPollCuts is put together: a poll brings a hundred updates at most.
// Behaviour: album.
func TestAnAlbumThatAPollCuts(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	for i := range 98 {
		anna.Send(0, string(messageID(i)))
	}
	anna.Album(pictures(5)...)
	anna.Send(0, "the last")
	c := newChannel(t, s)
	run(t, c, in)
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(in.events) != 100 {
		t.Fatalf("%d events, want 100", len(in.events))
	}
	if m := in.events[98].Body.(chat.Message); len(m.Media) != 5 {
		t.Errorf("the album came as %+v", m)
	}
}

// late is a host that has more of an album arrive while it takes what came before it.
type late struct {
	*inbox
	before string
	more   func()
}

func (l *late) Submit(ctx context.Context, e chat.Event) (chat.Verdict, error) {
	if m, _ := e.Body.(chat.Message); m.Text == l.before {
		l.more()
	}
	return l.inbox.Submit(ctx, e)
}

// TestAnAlbumThatIsStillArriving is waited for.
func TestAnAlbumThatIsStillArriving(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	s.User(7).Send(0, "first")
	part := func(id int) {
		s.Push("message", map[string]any{
			"message_id": id, "date": 1, "chat": map[string]any{"id": 7, "type": "private"}, "from": map[string]any{"id": 7, "first_name": "Anna"},
			"media_group_id": "5", "photo": []any{map[string]any{"file_id": "none", "file_size": 1}},
		})
	}
	part(501)
	c := newChannel(t, s)
	run(t, c, &late{inbox: in, before: "first", more: func() {
		part(502)
		part(503)
	}})
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(in.events) != 2 || len(in.events[1].Body.(chat.Message).Media) != 3 {
		t.Errorf("events %+v", in.events)
	}
}

// TestARefusedAlbumComesAgain whole and under the same id, in this life and in the next: none of it is confirmed.
func TestARefusedAlbumComesAgain(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	anna.Album(pictures(3)...)
	in.refuse = -1
	c := newChannel(t, s)
	stop := run(t, c, in)
	in.await(t, "refusals", func() bool { return len(in.refused) >= 3 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if s.Pending() != 3 {
		t.Fatalf("%d updates wait, want 3", s.Pending())
	}
	in.refuse = 1
	c = newChannel(t, s)
	run(t, c, in)
	in.await(t, "the album", func() bool { return len(in.events) > 0 })
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(in.events) != 1 || len(in.events[0].Body.(chat.Message).Media) != 3 {
		t.Errorf("events %+v", in.events)
	}
	for _, id := range in.refused {
		if id != in.events[0].ID {
			t.Errorf("refused as %s, taken as %s", id, in.events[0].ID)
		}
	}
}
