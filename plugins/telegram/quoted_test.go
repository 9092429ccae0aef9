package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestQuotedFiles come with what is said to the bot about them, once and with nothing else.
// Behaviour: file-quoted.
func TestQuotedFiles(t *testing.T) {
	t.Parallel()
	const group = -200
	image := chat.Media{Token: "some", Kind: chat.Image, MIMEType: "image/jpeg", Size: 6}
	for name, tt := range map[string]struct {
		by    func(*telegramtest.Server) *telegramtest.User
		in    int64
		posts []telegramtest.Post
		own   int
	}{
		"asked":          {in: group, posts: []telegramtest.Post{{Text: "@claw_bot what is this?"}}},
		"asked alone":    {posts: []telegramtest.Post{{Text: "what is this?"}}},
		"a part of it":   {posts: []telegramtest.Post{{Text: "where?", Quote: "sea"}}},
		"said to others": {in: group, posts: []telegramtest.Post{{Text: "nice"}}},
		"the bot's":      {by: (*telegramtest.Server).Bot, in: group, posts: []telegramtest.Post{{Text: "@claw_bot what is this?"}}},
		"asked with an album": {
			in: group, posts: []telegramtest.Post{
				{Media: "photo", File: []byte("mine")},
				{Media: "photo", File: []byte("mine"), Text: "@claw_bot is it one of these?"},
			},
			own: 2,
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
			some := cmp.Transformer("some", func(t chat.FileToken) bool { return t != "" })
			if diff := cmp.Diff([]chat.Media{image}, message.ReplyTo.Media, some); diff != "" || message.ReplyTo.IsSelf != (tt.by != nil) {
				t.Errorf("the quoted files of %+v (-want +got):\n%s", message.ReplyTo, diff)
			}
			if content, err := b.Content(message.ReplyTo.Media[0]); err != nil || string(content) != "pixels" {
				t.Errorf("the host gets %q, %v", content, err)
			}
		})
	}
}

// TestAnswerToAnotherChat quotes a message that the bot cannot see, but for what is quoted of it and its file.
func TestAnswerToAnotherChat(t *testing.T) {
	t.Parallel()
	const news = `"origin":{"type":"channel","date":1700000000,"chat":{"id":-300,"type":"channel","title":"News"}},"chat":{"id":-300,"type":"channel"},"message_id":9`
	const own = `"origin":{"type":"user","date":1700000000,"sender_user":{"id":4242,"is_bot":true,"first_name":"Claw"}}`
	for what, want := range map[string]*chat.Quote{
		`"external_reply":{` + news + `},"quote":{"text":"it rains"}`:                         {SenderName: "News", Text: "it rains"},
		`"external_reply":{` + news + `,"photo":[{"file_id":"s"},{"file_id":"f"}]}`:           {SenderName: "News", Media: []chat.Media{{Kind: chat.Image, MIMEType: "image/jpeg", Token: "f"}}},
		`"external_reply":{` + news + `,"location":{"latitude":48.208174,"longitude":16.37}}`: {SenderName: "News", Text: "[location: 48.208174, 16.370000]"},
		`"external_reply":{` + own + `,"voice":{"file_id":"f"}}`:                              {SenderName: "Claw", IsSelf: true, Media: []chat.Media{{Kind: chat.Voice, Token: "f"}}},
	} {
		event, _ := decode(t, `"message"`, `"text":"is that so?",`+what)
		message, _ := event.Body.(chat.Message)
		if diff := cmp.Diff(want, message.ReplyTo); diff != "" || message.MentionsSelf != want.IsSelf {
			t.Errorf("%s: to the bot %t, reply (-want +got):\n%s", what, message.MentionsSelf, diff)
		}
	}
}

// TestQuotedFilesOfAnotherChat have tokens, too.
// Behaviour: file-quoted.
func TestQuotedFilesOfAnotherChat(t *testing.T) {
	t.Parallel()
	const group = -200
	b := newShelf(t)
	b.server.Group(group, "Family")
	b.server.Group(-300, "Club")
	photo := b.server.User(8).Post(telegramtest.Post{Chat: -300, Media: "photo", Text: "at sea", File: []byte("pixels")})
	b.next()
	for _, text := range []string{"@claw_bot what is this?", "nice"} {
		b.anna.Post(telegramtest.Post{Chat: group, Text: text, ReplyTo: photo.ID, Elsewhere: -300})
		message, _ := b.NextEvent().Body.(chat.Message)
		if message.ReplyTo == nil || message.ReplyTo.ID != "" || message.ReplyTo.SenderName != "User8" || len(message.ReplyTo.Media) != 1 {
			t.Fatalf("%q came as %+v", text, message)
		}
		if content, err := b.Content(message.ReplyTo.Media[0]); err != nil || string(content) != "pixels" {
			t.Errorf("%q brings %+v, the host gets %q, %v", text, message.ReplyTo, content, err)
		}
	}
}
