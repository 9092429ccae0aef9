package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// Behaviour: networks-foreign-text.
func TestWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *discordtest.Server) {
		s.Thread("901", "902", "a thread")
		s.Forum("900", "903", "questions")
	})
	s := f.server

	direct := s.Say("70", "7", "in private")
	e, _ := f.message(t, "in private")
	want := chat.Event{
		ID: chat.EventID("dc:" + direct), Chat: chat.Chat{ID: "70", Kind: chat.Direct},
		Sender: chat.Sender{ID: "7", DisplayName: "anna", Username: "anna"},
		Body:   chat.Message{ID: chat.MessageID(direct), Text: "in private"},
	}
	if diff := cmp.Diff(want, e, cmpopts.IgnoreFields(chat.Event{}, "At")); diff != "" || e.At.IsZero() {
		t.Errorf("a direct message at %v (-want +got):\n%s", e.At, diff)
	}

	s.Say("901", "8", "to all, and <@&55> too")
	e, m := f.message(t, "to all, and <@&55> too")
	if diff := cmp.Diff(chat.Chat{ID: "901", Kind: chat.Group, Title: "general", Parent: "900"}, e.Chat); diff != "" || m.MentionsSelf || e.Thread != "" {
		t.Errorf("a message of a channel, for the bot %t:\n%s", m.MentionsSelf, diff)
	}

	s.Say("901", "8", "ä <@"+discordtest.BotID+"> and <@!7>, help")
	_, m = f.message(t, "ä @claw and @anna, help")
	mentions := []chat.Mention{{Offset: 3, Length: 5, User: discordtest.BotID, IsSelf: true}, {Offset: 13, Length: 5, User: "7"}}
	if diff := cmp.Diff(mentions, m.Mentions); diff != "" || !m.MentionsSelf {
		t.Errorf("mentions, of the bot %t (-want +got):\n%s", m.MentionsSelf, diff)
	}

	s.Role("900", "55", "staff", "")
	s.Say("901", "8", "<@&55> see <#901>, <#1>, <a:dance:77> and </new:5>")
	_, m = f.message(t, "@staff see #general, <#1>, :dance: and /new")
	if diff := cmp.Diff([]chat.Mention{{Length: 6}, {Offset: 11, Length: 8}}, m.Mentions); diff != "" || m.MentionsSelf {
		t.Errorf("a role and a channel, for the bot %t (-want +got):\n%s", m.MentionsSelf, diff)
	}
	s.Role("900", "56", "claw", discordtest.BotID)
	s.Say("901", "8", "<@&56> help")
	if _, m = f.message(t, "@claw help"); !m.MentionsSelf || !cmp.Equal(m.Mentions, []chat.Mention{{Length: 5, User: discordtest.BotID, IsSelf: true}}) {
		t.Errorf("the bot's own role is %+v", m.Mentions)
	}
	s.Say("901", "8", "deployed", discordtest.ByWebhook())
	if e, _ = f.message(t, "deployed"); !e.Sender.IsBot {
		t.Errorf("a webhook is %+v", e.Sender)
	}

	s.Say("902", "7", "in a thread")
	if e, _ = f.message(t, "in a thread"); e.Chat.ID != "901" || e.Thread != "902" || e.Chat.Title != "general" {
		t.Errorf("a message of a thread is in %+v, %q", e.Chat, e.Thread)
	}
	s.Thread("903", "904", "a post") // made while the bot is there
	s.Say("904", "7", "in a post")
	if e, _ = f.message(t, "in a post"); e.Chat.ID != "903" || e.Thread != "904" || e.Chat.Title != "questions" {
		t.Errorf("a message of a forum is in %+v, %q", e.Chat, e.Thread)
	}
}

// TestThreadsBegin with what the agent should know of them, given with the first message that it gets.
func TestThreadsBegin(t *testing.T) {
	t.Parallel()
	f := start(t, func(s *discordtest.Server) { s.Forum("900", "903", "questions") })
	s := f.server
	began := s.Say("901", "7", "shall we <#901>?")
	f.message(t, "shall we #general?")
	s.Thread("901", began, "plans")
	s.Say(began, "8", "yes")
	if _, m := f.message(t, "yes"); m.ThreadStarter != "plans\nshall we #general?" {
		t.Errorf("the thread began with %q", m.ThreadStarter)
	}
	s.Say(began, "8", "soon")
	if _, m := f.message(t, "soon"); m.ThreadStarter != "" {
		t.Errorf("the next message tells %q", m.ThreadStarter)
	}
	s.Thread("903", "1904", "How to?")
	s.Say("1904", "7", "and why?")
	if e, m := f.message(t, "and why?"); m.ThreadStarter != "How to?" || e.Chat.ID != "903" {
		t.Errorf("the post began with %q", m.ThreadStarter)
	}
}

// Behaviour: networks-foreign-text.
func TestAnswersAndForwards(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	s := f.server
	receipt, err := f.host.Send(chat.Outgoing{Key: "k", To: chat.Address{Chat: "901"}, Text: "ask me"})
	if err != nil {
		t.Fatal(err)
	}
	s.Say("901", "7", "why?", discordtest.ReplyingTo(string(receipt.IDs[0])))
	_, m := f.message(t, "why?")
	if diff := cmp.Diff(&chat.Quote{ID: receipt.IDs[0], SenderName: "claw", Text: "ask me", IsSelf: true}, m.ReplyTo); diff != "" || !m.MentionsSelf {
		t.Errorf("an answer to the bot, which is for it %t:\n%s", m.MentionsSelf, diff)
	}
	other := s.Say("901", "8", "well")
	f.message(t, "well")
	s.Say("901", "7", "indeed", discordtest.ReplyingTo(other))
	if _, m = f.message(t, "indeed"); m.MentionsSelf || m.ReplyTo.SenderName != "bob" || m.ReplyTo.IsSelf {
		t.Errorf("an answer to another: %+v", m)
	}
	s.Say("901", "7", "", discordtest.Forwarding("heard elsewhere"))
	if _, m = f.message(t, "heard elsewhere"); m.Forwarded == nil || m.Forwarded.At.IsZero() || m.ReplyTo != nil {
		t.Errorf("a forward: %+v", m)
	}
	s.Say("901", "8", "look", discordtest.WithEmbed("News"))
	_, m = f.message(t, "look\nNews\nabout News")
	if diff := cmp.Diff([]chat.Mention{{Offset: 5, Length: len("News\nabout News")}}, m.Mentions); diff != "" {
		t.Errorf("what is shown below a message is marked (-want +got):\n%s", diff)
	}
	s.Say("901", "8", strings.Repeat("<@7>", 300), discordtest.WithEmbed("<@"+discordtest.BotID+">"))
	_, m = f.message(t, strings.Repeat("@anna", 256)+strings.Repeat("<@7>", 44)+"\n<@"+discordtest.BotID+">\nabout <@"+discordtest.BotID+">")
	if last := m.Mentions[len(m.Mentions)-1]; len(m.Mentions) != 256 || last.Offset+last.Length != len(m.Text) || m.MentionsSelf {
		t.Errorf("of many mentions %d are told, at last %+v; for the bot: %t", len(m.Mentions), last, m.MentionsSelf)
	}
	picture := s.Say("901", "8", "", discordtest.WithFile("a.png", "image/png", []byte("pixels")))
	f.message(t, "")
	s.Say("901", "7", "nice", discordtest.ReplyingTo(picture))
	if _, m = f.message(t, "nice"); len(m.ReplyTo.Media) != 1 || m.ReplyTo.Media[0].FileName != "a.png" || m.ReplyTo.Text != "" {
		t.Errorf("an answer to a file: %+v", m.ReplyTo)
	}
}

func TestWhatElseAMessageSays(t *testing.T) {
	t.Parallel()
	got := below(&discordgo.Message{
		Embeds: []*discordgo.MessageEmbed{
			{
				Type: discordgo.EmbedTypeRich, Title: "Build 5", URL: "https://ci.example/5", Description: "failed",
				Author: &discordgo.MessageEmbedAuthor{Name: "CI"}, Fields: []*discordgo.MessageEmbedField{{Name: "branch", Value: "main"}},
				Image: &discordgo.MessageEmbedImage{URL: "https://ci.example/5.png"}, Footer: &discordgo.MessageEmbedFooter{Text: "2 minutes"},
			},
			{Type: discordgo.EmbedTypeVideo, Title: "a preview"},
			nil,
		},
		Poll: &discordgo.Poll{
			Question: discordgo.PollMedia{Text: "Lunch?"},
			Answers:  []discordgo.PollAnswer{{Media: &discordgo.PollMedia{Text: "yes"}}, {}, {Media: &discordgo.PollMedia{Text: "no"}}},
		},
		StickerItems: []*discordgo.StickerItem{{Name: "wave"}, nil},
	})
	want := "CI\nBuild 5\nhttps://ci.example/5\nfailed\nbranch: main\nhttps://ci.example/5.png\n2 minutes\n[poll] Lunch?\n- yes\n- no\n[sticker: wave]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChangesAndReactions(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	s := f.server
	id := s.Say("901", "7", "teh")
	f.message(t, "teh")
	s.Change(id, "the")
	e, edited := next[chat.Edited](t, f)
	if !cmp.Equal(edited, chat.Edited{ID: chat.MessageID(id), Text: "the"}) || !strings.HasPrefix(string(e.ID), "dc:"+id+":edit:") {
		t.Errorf("%s: %+v", e.ID, edited)
	}
	s.Change(id, "<@"+discordtest.BotID+"> The")
	again, edited := next[chat.Edited](t, f)
	if again.ID == e.ID {
		t.Error("two edits have one id")
	}
	if m := edited.Mentions; len(m) != 1 || !m[0].IsSelf || edited.Text[m[0].Length:] != " The" {
		t.Errorf("the edit that mentions the bot is %+v", edited)
	}
	s.React(id, "8", "👍", true)
	s.React(id, "8", "👍", false)
	s.React(id, "8", "👍", true)
	ids := map[chat.EventID]bool{}
	for _, want := range []string{"👍", "", "👍"} {
		e, r := next[chat.Reaction](t, f)
		if r != (chat.Reaction{MessageID: chat.MessageID(id), Emoji: want}) || e.Sender.ID != "8" || ids[e.ID] {
			t.Errorf("%s by %s: %+v", e.ID, e.Sender.ID, r)
		}
		ids[e.ID] = true
	}
	one, two := s.Say("901", "7", "one"), s.Say("901", "7", "two")
	f.message(t, "one")
	f.message(t, "two")
	s.Remove(one, two)
	for _, id := range []string{one, two} {
		if _, gone := next[chat.Deleted](t, f); gone.ID != chat.MessageID(id) {
			t.Errorf("of many deletions came %+v, want %s", gone, id)
		}
	}
	s.Remove(id)
	if e, gone := next[chat.Deleted](t, f); gone.ID != chat.MessageID(id) || e.ID != chat.EventID("dc:"+id+":delete") {
		t.Errorf("%s: %+v", e.ID, gone)
	}
}

// TestWithoutMessageContent the bot reads what names it, and what is direct.
func TestWithoutMessageContent(t *testing.T) {
	t.Parallel()
	s, states := discordtest.New(t), &ledgers{}
	s.User("7", "anna")
	s.Channel("900", "901", "general")
	f := fixture{server: s, states: states, seen: map[chat.EventID]bool{}, host: newHarness(t, states)}
	f.host.Configure(map[string]any{"token": s.Token(), "test_endpoint": s.URL(), "message_content": false})
	f.host.Run().WaitFor(chat.Connected)
	s.Say("901", "7", "not for the bot")
	s.Say("901", "7", "<@"+discordtest.BotID+"> hello")
	f.message(t, "@claw hello")
}

// Behaviour: file-fetch.
func TestFiles(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	picture := bytes.Repeat([]byte("png "), 50_000)
	f.server.Say("70", "7", "", discordtest.WithFile("../x.png", "image/png", picture))
	_, m := f.message(t, "")
	if len(m.Media) != 1 || m.Media[0].Kind != chat.Image || m.Media[0].FileName != "../x.png" || m.Media[0].Size != int64(len(picture)) {
		t.Errorf("the file is %+v", m.Media)
	}
	f.brings(t, m.Media[0], string(picture))
	f.server.Say("70", "7", "", discordtest.WithVoice([]byte("said")))
	if _, m = f.message(t, ""); len(m.Media) != 1 || m.Media[0].Kind != chat.Voice {
		t.Errorf("the voice message is %+v", m.Media)
	}
	f.brings(t, m.Media[0], "said")
	f.server.Say("70", "7", "song", discordtest.WithFile("song.ogg", "audio/ogg", []byte("sung")))
	if _, m = f.message(t, "song"); len(m.Media) != 1 || m.Media[0].Kind != chat.Audio {
		t.Errorf("the song is %+v", m.Media)
	}
	f.server.Say("70", "7", "large", discordtest.WithFile("large", "text/plain", make([]byte, maxFile+1)))
	if _, m = f.message(t, "large"); len(m.Media) != 1 || m.Media[0].Token != "" || m.Media[0].Problem != network.TooLarge(maxFile) {
		t.Errorf("the file is %+v", m.Media)
	}
	if n := f.server.Fetched(); n != 2 {
		t.Errorf("%d files were fetched, 2 were asked for", n)
	}
}

// brings wants the channel to bring a file.
func (f fixture) brings(t *testing.T, m chat.Media, want string) {
	t.Helper()
	if got, err := f.host.Content(m); err != nil || string(got) != want {
		t.Errorf("%s has %d bytes, %v; want %d", m.FileName, len(got), err, len(want))
	}
}

// TestFilesOfQuotedMessages have tokens, too, whoever is spoken to.
// Behaviour: file-quoted.
func TestFilesOfQuotedMessages(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	s := f.server
	quoted := s.Say("901", "8", "look", discordtest.WithFile("a.png", "image/png", []byte("pixels")), discordtest.WithFile("b.txt", "text/plain", make([]byte, maxFile+1)))
	f.message(t, "look")
	for text, said := range map[string]string{"nice": "nice", "<@" + discordtest.BotID + "> and this?": "@claw and this?"} {
		s.Say("901", "7", text, discordtest.ReplyingTo(quoted), discordtest.WithFile("c.png", "image/png", []byte("mine")))
		_, m := f.message(t, said)
		if len(m.Media) != 1 || m.ReplyTo == nil || m.ReplyTo.Text != "look" || len(m.ReplyTo.Media) != 2 {
			t.Fatalf("%q comes as %+v", text, m)
		}
		f.brings(t, m.Media[0], "mine")
		f.brings(t, m.ReplyTo.Media[0], "pixels")
		if problem := m.ReplyTo.Media[1].Problem; problem != network.TooLarge(maxFile) {
			t.Errorf("the large file has the problem %q", problem)
		}
	}
}

// TestAddressesOfFilesGoStale: the message has fresh ones, as long as it is there.
// Behaviour: file-retry.
func TestAddressesOfFilesGoStale(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	own := f.server.Say("70", "7", "look", discordtest.WithFile("a.png", "image/png", []byte("pixels")))
	_, m := f.message(t, "look")
	f.server.Say("70", "7", "and this?", discordtest.ReplyingTo(own))
	_, asked := f.message(t, "and this?")
	f.server.ExpireFiles()
	f.brings(t, m.Media[0], "pixels")
	f.brings(t, asked.ReplyTo.Media[0], "pixels")
	f.server.ExpireFiles()
	f.server.Remove(own)
	_, err := f.host.FetchFile(t.Context(), m.Media[0].Token)
	if failed, ok := errors.AsType[*chat.FileError](err); !ok || failed.Problem != network.Unfetched {
		t.Errorf("the file of a message that is gone: %v", err)
	}
}

// TestAFileIsTemporarilyUnavailable says so, and how long Discord asks to wait.
// Behaviour: file-retry.
func TestAFileIsTemporarilyUnavailable(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.server.Say("70", "7", "look", discordtest.WithFile("a.png", "image/png", []byte("pixels")))
	_, m := f.message(t, "look")
	for name, fault := range map[string]discordtest.Fault{
		"broken": discordtest.NotJSON(502), "cut": discordtest.CutAfter(), "too many": discordtest.TooManyRequests(7 * time.Second),
	} {
		f.server.Fail("GET", "/attachments/", 1, fault)
		_, err := f.host.FetchFile(t.Context(), m.Media[0].Token)
		if name == "cut" && err == nil {
			continue // net/http has tried again by itself, as it does on a connection that it had kept open
		}
		failed, ok := errors.AsType[*chat.FileError](err)
		if !ok || failed.Problem != "" || (failed.RetryAfter == 7*time.Second) != (name == "too many") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.brings(t, m.Media[0], "pixels")
	for _, token := range []chat.FileToken{"x", `{"url":"https://example.com/x"}`, `{"url":"https://cdn.discordapp.com/attachments/x","channel":"../7","message":"8"}`} {
		if _, err := f.host.FetchFile(t.Context(), token); err == nil {
			t.Errorf("%s brings a file", token)
		}
	}
}
