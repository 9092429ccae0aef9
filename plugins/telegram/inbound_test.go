package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestInbound has people do things on the loopback server and looks at the events that come of them.
func TestInbound(t *testing.T) {
	t.Parallel()
	const group, forum = -200, -100
	post := func(p telegramtest.Post) func(*stage) {
		return func(s *stage) { s.anna.Post(p) }
	}
	say := func(text string) func(*stage) { return post(telegramtest.Post{Text: text}) }
	react := func(before, now string) func(*stage) {
		return func(s *stage) {
			s.bot("sendMessage", "chat_id", "-200", "text", "the answer")
			id := s.server.Replies(group)[0].ID
			if before != "" {
				s.anna.React(group, id, before)
				s.skip(1)
			}
			s.anna.React(group, id, now)
		}
	}
	message := func(m chat.Message) chat.Body { return m }
	direct := chat.Chat{ID: "7", Kind: chat.Direct}
	inGroup := chat.Chat{ID: "-200", Kind: chat.Group, Title: "group"}
	inForum := chat.Chat{ID: "-100", Kind: chat.Group, Title: "forum"}
	me := chat.Sender{ID: "4242", DisplayName: "Claw", Username: "claw_bot", IsSelf: true, IsBot: true}
	anna := chat.Sender{ID: "7", DisplayName: "Anna Alt", Username: "user_7"}
	for _, c := range []struct {
		name   string
		do     func(*stage)
		chat   chat.Chat
		thread chat.ThreadID
		body   chat.Body // nil: no event
	}{
		{"text", say("hello"), direct, "", message(chat.Message{Text: "hello"})},
		{"own command", say("/status@Claw_Bot now"), direct, "", message(chat.Message{Text: "/status now", MentionsSelf: true})},
		{"plain command", say("/status"), direct, "", message(chat.Message{Text: "/status"})},
		{"another bot's command", say("/status@other_bot now"), direct, "", nil},
		{
			"mentions, in bytes", say("😀 @claw_bot and @berta_b"), direct, "",
			message(chat.Message{
				Text: "😀 @claw_bot and @berta_b", MentionsSelf: true,
				Mentions: []chat.Mention{{Offset: 5, Length: 9, User: "4242", IsSelf: true}, {Offset: 19, Length: 8}},
			}),
		},
		{
			"mention behind a command", say("/go@claw_bot @claw_bot"), direct, "",
			message(chat.Message{
				Text: "/go @claw_bot", MentionsSelf: true, Mentions: []chat.Mention{{Offset: 4, Length: 9, User: "4242", IsSelf: true}},
			}),
		},
		{
			"command in the middle", say("try /go@claw_bot"), direct, "",
			message(chat.Message{
				Text: "try /go@claw_bot", MentionsSelf: true, Mentions: []chat.Mention{{Offset: 4, Length: 12, User: "4242", IsSelf: true}},
			}),
		},
		{
			"mention without a name",
			func(s *stage) {
				s.anna.Post(telegramtest.Post{Text: "ask Ben", Entities: []telegramtest.Entity{s.server.User(8).Mention(4, 3)}})
			},
			direct, "", message(chat.Message{Text: "ask Ben", Mentions: []chat.Mention{{Offset: 4, Length: 3, User: "8"}}}),
		},
		{"group", post(telegramtest.Post{Chat: group, Text: "hello"}), inGroup, "", message(chat.Message{Text: "hello"})},
		{
			"answer to the bot",
			func(s *stage) {
				s.bot("sendMessage", "chat_id", "-200", "text", "the answer")
				s.anna.Post(telegramtest.Post{Chat: group, Text: "why?", ReplyTo: s.server.Replies(group)[0].ID})
			},
			inGroup, "",
			message(chat.Message{Text: "why?", MentionsSelf: true, ReplyTo: &chat.Quote{SenderName: "Claw", Text: "the answer", IsSelf: true}}),
		},
		{
			"answer to a part of a message",
			func(s *stage) {
				first := s.anna.Send(group, "one two three")
				s.skip(1)
				s.anna.Post(telegramtest.Post{Chat: group, Text: "which?", ReplyTo: first.ID, Quote: "two"})
			},
			inGroup, "", message(chat.Message{Text: "which?", ReplyTo: &chat.Quote{SenderName: "Anna Alt", Text: "two"}}),
		},
		{
			"topic",
			func(s *stage) {
				topic := s.server.Topic(s.anna, forum, "plans")
				s.skip(1)
				s.anna.Post(telegramtest.Post{Chat: forum, Thread: topic, Text: "hello"})
			},
			inForum, "101", message(chat.Message{Text: "hello", ThreadStarter: "plans"}),
		},
		{
			"answer in a topic",
			func(s *stage) {
				topic := s.server.Topic(s.anna, forum, "plans")
				s.bot("sendMessage", "chat_id", "-100", "message_thread_id", "101", "text", "the answer")
				s.skip(1)
				s.anna.Post(telegramtest.Post{Chat: forum, Thread: topic, Text: "why?", ReplyTo: s.server.Replies(forum)[0].ID})
			},
			inForum, "101",
			message(chat.Message{Text: "why?", MentionsSelf: true, ReplyTo: &chat.Quote{SenderName: "Claw", Text: "the answer", IsSelf: true}}),
		},
		{
			"own command in a group", post(telegramtest.Post{Chat: group, Text: "/status@claw_bot"}), inGroup, "",
			message(chat.Message{Text: "/status", MentionsSelf: true}),
		},
		{
			"forwarded photo with a caption",
			post(telegramtest.Post{Media: "photo", Text: "look", File: []byte("pixels"), ForwardedFrom: "Berta"}), direct, "",
			message(chat.Message{
				Text: "look", Forwarded: &chat.Forward{From: "Berta"},
				Media: []chat.Media{{Kind: chat.Image, MIMEType: "image/jpeg", Size: 6}},
			}),
		},
		{"General topic", post(telegramtest.Post{Chat: forum, Text: "hello"}), inForum, "1", message(chat.Message{Text: "hello"})},
		{
			"photo with a caption", post(telegramtest.Post{Media: "photo", Text: "look @claw_bot", File: []byte("pixels")}), direct, "",
			message(chat.Message{
				Text: "look @claw_bot", MentionsSelf: true, Mentions: []chat.Mention{{Offset: 5, Length: 9, User: "4242", IsSelf: true}},
				Media: []chat.Media{{Kind: chat.Image, MIMEType: "image/jpeg", Size: 6}},
			}),
		},
		{
			"document", post(telegramtest.Post{Media: "document", File: []byte("%PDF"), FileName: "a.pdf", MIMEType: "application/pdf"}), direct, "",
			message(chat.Message{Media: []chat.Media{{Kind: chat.File, MIMEType: "application/pdf", FileName: "a.pdf", Size: 4}}}),
		},
		{
			"voice", post(telegramtest.Post{Media: "voice", File: []byte("ogg"), MIMEType: "audio/ogg"}), direct, "",
			message(chat.Message{Media: []chat.Media{{Kind: chat.Voice, MIMEType: "audio/ogg", Size: 3}}}),
		},
		{
			"sticker", post(telegramtest.Post{Media: "sticker"}), direct, "",
			message(chat.Message{Text: "🙂", Media: []chat.Media{{Kind: chat.Sticker}}, Mentions: whole("🙂")}),
		},
		{
			"forwarded", post(telegramtest.Post{Text: "news", ForwardedFrom: "Berta"}), direct, "",
			message(chat.Message{Text: "news", Forwarded: &chat.Forward{From: "Berta"}}),
		},
		{
			"edit",
			func(s *stage) {
				first := s.anna.Send(0, "helo")
				s.skip(1)
				s.anna.Edit(7, first.ID, "/hello@claw_bot")
			},
			direct, "",
			chat.Edited{Text: "/hello"},
		},
		{
			"edit that mentions the bot",
			func(s *stage) {
				first := s.anna.Send(0, "helo")
				s.skip(1)
				s.anna.Edit(7, first.ID, "é @claw_bot")
			},
			direct, "",
			chat.Edited{Text: "é @claw_bot", Mentions: []chat.Mention{{Offset: 3, Length: 9, User: "4242", IsSelf: true}}},
		},
		{"reaction", react("", "👍"), inGroup, "", chat.Reaction{Emoji: "👍"}},
		{"another reaction", react("👍", "🎉"), inGroup, "", chat.Reaction{Emoji: "🎉"}},
		{"reaction taken back", react("👍", ""), inGroup, "", chat.Reaction{}},
		{
			"stop button",
			func(s *stage) {
				s.bot("sendMessageDraft", "chat_id", "7", "draft_id", "5", "text", "so far", "can_stop", "true")
				s.anna.Stop()
			},
			direct, "",
			chat.StopRequest{},
		},
		{"blocked", func(s *stage) { s.anna.Block() }, direct, "", chat.MemberChange{Member: me}},
		{"added", func(s *stage) { s.server.AddBot(s.anna, group) }, inGroup, "", chat.MemberChange{Joined: true, Member: me}},
		{"removed", func(s *stage) { s.server.RemoveBot(s.anna, group) }, inGroup, "", chat.MemberChange{Member: me}},
		{
			"migrated",
			func(s *stage) {
				s.server.SmallGroup(-5, "small")
				s.server.Migrate(s.anna, -5, -1005)
			},
			chat.Chat{ID: "-5", Kind: chat.Group, Title: "small"},
			"",
			chat.Migrated{To: "-1005"},
		},
		{"a channel's post", post(telegramtest.Post{Chat: -300, Text: "news"}), chat.Chat{}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c.do(s)
			event, ok := s.event()
			if c.body == nil {
				if ok {
					t.Fatalf("got %+v", event)
				}
				return
			}
			if !ok {
				t.Fatal("no event")
			}
			want := chat.Event{Chat: c.chat, Thread: c.thread, Sender: anna, Body: c.body}
			ignored := cmp.Options{
				cmpopts.IgnoreFields(chat.Event{}, "ID", "At"), cmpopts.IgnoreFields(chat.Message{}, "ID"), cmpopts.IgnoreFields(chat.Edited{}, "ID"),
				cmpopts.IgnoreFields(chat.Reaction{}, "MessageID"), cmpopts.IgnoreFields(chat.Quote{}, "ID"), cmpopts.IgnoreFields(chat.Forward{}, "At"),
				cmpopts.IgnoreFields(chat.Media{}, "Token"),
			}
			if diff := cmp.Diff(want, event, ignored); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
			if age := time.Since(event.At); age < -time.Minute || age > time.Hour {
				t.Errorf("it happened at %v", event.At)
			}
		})
	}
}

// stage is a server with a person, and the plugin's view of the next update.
type stage struct {
	t       *testing.T
	server  *telegramtest.Server
	api     *api
	anna    *telegramtest.User
	skipped int
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, server: telegramtest.New(t)}
	s.api = newAPI(s.server.Token(), s.server.URL())
	t.Cleanup(s.api.close)
	s.bot("getUpdates", "allowed_updates", strings.Replace(wanted, "]", `,"channel_post"]`, 1)) // from now on the bot gets these
	s.anna = s.server.User(7)
	s.anna.FirstName, s.anna.LastName = "Anna", "Alt"
	s.server.Group(-200, "group")
	s.server.Forum(-100, "forum")
	s.server.Channel(-300, "channel")
	return s
}

// skip leaves out so many updates.
func (s *stage) skip(n int) { s.skipped += n }

func (s *stage) bot(method string, params ...string) json.RawMessage {
	s.t.Helper()
	values := tgbotapi.Params{}
	for i := 0; i < len(params); i += 2 {
		values[params[i]] = params[i+1]
	}
	raw, err := s.api.call(s.t.Context(), method, values)
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

func (s *stage) event() (chat.Event, bool) {
	s.t.Helper()
	var updates []update
	if err := json.Unmarshal(s.bot("getUpdates"), &updates); err != nil || len(updates) <= s.skipped {
		s.t.Fatalf("%d updates, %v", len(updates), err)
	}
	u := updates[s.skipped]
	event, ok := (inbound{self: tgbotapi.User{ID: 4242, UserName: "claw_bot"}}).event(u)
	if ok && event.ID == "" {
		s.t.Error("an event without an id")
	}
	return event, ok
}

// TestAnonymousAdmin writes as the group; a channel writes in its discussion group in the same way.
func TestAnonymousAdmin(t *testing.T) {
	t.Parallel()
	var u update
	raw := `{"update_id":5,"message":{"message_id":1,"date":1700000000,"text":"hi","chat":{"id":-200,"type":"supergroup","title":"group"},
		"from":{"id":1087968824,"is_bot":true,"first_name":"Group","username":"GroupAnonymousBot"},"sender_chat":{"id":-200,"type":"supergroup","title":"group"}}}`
	if err := json.Unmarshal([]byte(raw), &u); err != nil {
		t.Fatal(err)
	}
	event, ok := (inbound{self: tgbotapi.User{ID: 4242}}).event(u)
	if want := (chat.Sender{ID: "-200", DisplayName: "group"}); !ok || !cmp.Equal(event.Sender, want) {
		t.Errorf("sender %+v, want %+v", event.Sender, want)
	}
	if event.ID != "tg:4242:5" {
		t.Errorf("id %s", event.ID)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte(`{"update_id":5,"message":{"message_id":1,"text":"😀 @claw_bot","chat":{"id":7,"type":"private"},"from":{"id":7},` +
		`"entities":[{"type":"mention","offset":3,"length":9},{"type":"bot_command","offset":-1,"length":99}],"reply_to_message":{"message_id":2}}}`))
	f.Add([]byte(`{"update_id":6,"edited_message":{"message_id":1,"text":"/a@claw_bot","entities":[{"type":"bot_command","length":11}],"chat":{"id":-7}}}`))
	f.Add([]byte(`{"update_id":7,"callback_query":{"id":"1","data":"x","from":{"id":7},"message":{"message_id":1}}}`))
	f.Add([]byte(`{"update_id":8,"my_chat_member":{"new_chat_member":{"status":"member","user":{"id":4242}}}}`))
	f.Add([]byte(`{"update_id":10,"message":{"message_id":1,"text":"x","chat":{"id":7},"external_reply":{"photo":[{"file_id":"f"}],"dice":{}},"reply_to_message":{"forum_topic_created":{}}}}`))
	f.Add([]byte(`{"update_id":11,"message_reaction":{"chat":{"id":7},"message_id":1,"old_reaction":[{}],"new_reaction":[{"emoji":"👍"},{}]}}`))
	f.Add([]byte(`{"update_id":12,"stopped_message_generation":{"chat":{"id":7},"message_thread_id":-1,"draft_id":0}}`))
	f.Add([]byte(`{"update_id":13,"message":{"message_id":1,"text":"é @claw_bot","chat":{"id":7},"entities":[{"type":"text_link","offset":1,"length":4,"url":"x://y"},` +
		`{"type":"text_link","length":1,"url":"z"},{"type":"mention","offset":2,"length":9}]}}`))
	f.Add([]byte(`{"update_id":14,"message":{"message_id":1,"chat":{"id":7},"media_group_id":"5","poll":{"question":"]","options":[{}]},"venue":{},"dice":{}}}`))
	f.Add([]byte(`{"update_id":9,"message":{"message_id":1,"text":"no chat"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var u update
		if json.Unmarshal(raw, &u) != nil {
			return
		}
		event, ok := (inbound{self: tgbotapi.User{ID: 4242, UserName: "claw_bot"}}).event(u)
		if !ok {
			return
		}
		if event.Chat.ID == "" || event.Body == nil {
			t.Errorf("incomplete: %+v", event)
		}
		if m, ok := event.Body.(chat.Message); ok {
			for _, mention := range m.Mentions {
				if mention.Offset < 0 || mention.Length < 0 || mention.Offset+mention.Length > len(m.Text) {
					t.Errorf("mention %+v is not in %q", mention, m.Text)
				}
			}
		}
	})
}
