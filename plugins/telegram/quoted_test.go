package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/fetch"
)

// TestQuotedFiles come with what is said to the bot about them, once and with nothing else.
func TestQuotedFiles(t *testing.T) {
	t.Parallel()
	const group = -200
	image := chat.Media{Ref: "some", Kind: chat.Image, MIMEType: "image/jpeg", Size: 6}
	without := func(problem string) []chat.Media {
		return []chat.Media{{Kind: chat.Image, MIMEType: "image/jpeg", Size: 6, Problem: problem}}
	}
	for name, tt := range map[string]struct {
		by    func(*telegramtest.Server) *telegramtest.User
		in    int64
		posts []telegramtest.Post
		want  []chat.Media
		own   int
	}{
		"asked":        {in: group, posts: []telegramtest.Post{{Text: "@claw_bot what is this?"}}, want: []chat.Media{image}},
		"asked alone":  {posts: []telegramtest.Post{{Text: "what is this?"}}, want: []chat.Media{image}},
		"a part of it": {posts: []telegramtest.Post{{Text: "where?", Quote: "sea"}}, want: []chat.Media{image}},
		"said to others": {
			in: group, posts: []telegramtest.Post{{Text: "nice"}}, want: without("is fetched only for a message that mentions you"),
		},
		"the bot's": {
			by: (*telegramtest.Server).Bot, in: group, posts: []telegramtest.Post{{Text: "@claw_bot what is this?"}}, want: without("was sent by you"),
		},
		"asked with an album": {
			in: group, posts: []telegramtest.Post{
				{Media: "photo", File: []byte("mine")},
				{Media: "photo", File: []byte("mine"), Text: "@claw_bot is it one of these?"},
			},
			want: []chat.Media{image}, own: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newShelf(t)
			b.server.Group(group, "Family")
			author := b.anna
			if tt.by != nil {
				author = tt.by(b.server)
			}
			photo := author.Post(telegramtest.Post{Chat: tt.in, Media: "photo", Text: "at sea", File: []byte("pixels")})
			b.next()
			for i := range tt.posts {
				tt.posts[i].Chat, tt.posts[i].ReplyTo = tt.in, photo.ID
			}
			if len(tt.posts) == 1 {
				b.anna.Post(tt.posts[0])
			} else {
				b.anna.Album(tt.posts...)
			}
			message, _ := b.NextEvent().Body.(chat.Message)
			if message.ReplyTo == nil || len(message.Media) != tt.own {
				t.Fatalf("got %+v", message)
			}
			some := cmp.Transformer("some", func(r chat.MediaRef) bool { return r != "" })
			if diff := cmp.Diff(tt.want, message.ReplyTo.Media, some); diff != "" {
				t.Errorf("the quoted files (-want +got):\n%s", diff)
			}
			if ref := message.ReplyTo.Media[0].Ref; ref != "" {
				if stored, ok := b.Host.File(ref); !ok || string(stored) != "pixels" {
					t.Errorf("the host has %q", stored)
				}
			}
		})
	}
}

// TestQuotedFilesCountWithTheOthers: a stranger fills no more of the disk for quoting, and a message has no more in all.
func TestQuotedFilesCountWithTheOthers(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	video := telegramtest.Post{Media: "video", File: make([]byte, 18<<20)}
	first := anna.Post(video)
	video.ReplyTo = first.ID
	anna.Album(video, video)
	c := newChannel(t, s)
	c.media = hoard{}
	run(t, c, in)
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	message := in.events[1].Body.(chat.Message)
	want := &chat.Quote{SenderName: "User7", Media: []chat.Media{{
		Kind: chat.Video, Size: 18 << 20, Problem: "is one of several files with more than the 50 MB that are fetched together",
	}}}
	if diff := cmp.Diff(want, message.ReplyTo, cmpopts.IgnoreFields(chat.Quote{}, "ID")); diff != "" {
		t.Errorf("the quoted file (-want +got):\n%s", diff)
	}
	if got := fetch.Stored(message); got != 36<<20 {
		t.Errorf("%d bytes were fetched, want those of its own files", got)
	}
}

// TestAnswerToAnotherChat quotes a message that the bot cannot see, but for what is quoted of it and its file.
func TestAnswerToAnotherChat(t *testing.T) {
	t.Parallel()
	const news = `"origin":{"type":"channel","date":1700000000,"chat":{"id":-300,"type":"channel","title":"News"}},"chat":{"id":-300,"type":"channel"},"message_id":9`
	const own = `"origin":{"type":"user","date":1700000000,"sender_user":{"id":4242,"is_bot":true,"first_name":"Claw"}}`
	for what, want := range map[string]*chat.Quote{
		`"external_reply":{` + news + `},"quote":{"text":"it rains"}`:                         {SenderName: "News", Text: "it rains"},
		`"external_reply":{` + news + `,"photo":[{"file_id":"s"},{"file_id":"f"}]}`:           {SenderName: "News", Media: []chat.Media{{Kind: chat.Image, MIMEType: "image/jpeg"}}},
		`"external_reply":{` + news + `,"location":{"latitude":48.208174,"longitude":16.37}}`: {SenderName: "News", Text: "[location: 48.208174, 16.370000]"},
		`"external_reply":{` + own + `,"voice":{"file_id":"f"}}`:                              {SenderName: "Claw", IsSelf: true, Media: []chat.Media{{Kind: chat.Voice}}},
	} {
		event, _ := decode(t, `"message"`, `"text":"is that so?",`+what)
		message, _ := event.Body.(chat.Message)
		if diff := cmp.Diff(want, message.ReplyTo); diff != "" || message.MentionsSelf != want.IsSelf {
			t.Errorf("%s: to the bot %t, reply (-want +got):\n%s", what, message.MentionsSelf, diff)
		}
	}
}

// TestQuotedFilesOfAnotherChat are fetched by the same rule.
func TestQuotedFilesOfAnotherChat(t *testing.T) {
	t.Parallel()
	const group = -200
	b := newShelf(t)
	b.server.Group(group, "Family")
	b.server.Group(-300, "Club")
	photo := b.server.User(8).Post(telegramtest.Post{Chat: -300, Media: "photo", Text: "at sea", File: []byte("pixels")})
	b.next()
	for text, fetched := range map[string]bool{"@claw_bot what is this?": true, "nice": false} {
		b.anna.Post(telegramtest.Post{Chat: group, Text: text, ReplyTo: photo.ID, Elsewhere: -300})
		message, _ := b.NextEvent().Body.(chat.Message)
		if message.ReplyTo == nil || message.ReplyTo.ID != "" || message.ReplyTo.SenderName != "User8" || len(message.ReplyTo.Media) != 1 {
			t.Fatalf("%q came as %+v", text, message)
		}
		file := message.ReplyTo.Media[0]
		if stored, ok := b.Host.File(file.Ref); ok != fetched || (file.Problem == "") != fetched || fetched && string(stored) != "pixels" {
			t.Errorf("%q brings %+v, the host has %q", text, file, stored)
		}
	}
}
