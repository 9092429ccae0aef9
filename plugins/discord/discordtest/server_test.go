package discordtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
)

// toServer sends what is meant for Discord to a server.
type toServer struct{ host string }

func (t toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", t.host
	return http.DefaultTransport.RoundTrip(r)
}

// TestLibrary has the library's own gateway, which is written by others and used with Discord itself, use the server.
func TestLibrary(t *testing.T) {
	t.Parallel()
	s := New(t)
	s.User("7", "anna")
	s.Direct("7", "70")
	bot, err := discordgo.New("Bot " + s.Token())
	if err != nil {
		t.Fatal(err)
	}
	bot.Client = &http.Client{Transport: toServer{strings.TrimPrefix(s.URL(), "http://")}}
	bot.SyncEvents, bot.LogLevel = true, -1
	bot.Identify.Intents = discordgo.IntentsDirectMessages
	heard := make(chan string, 10)
	bot.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) {
		if m.Author.ID != BotID {
			heard <- m.Author.Username + ": " + m.Content
		}
	})
	if err := bot.Open(); err != nil {
		t.Fatal(err)
	}
	s.Say("70", "7", "hello")
	if got := <-heard; got != "anna: hello" {
		t.Errorf("heard %q", got)
	}
	s.Cut()
	s.Say("70", "7", "meanwhile")
	if got := <-heard; got != "anna: meanwhile" {
		t.Errorf("after a cut heard %q", got)
	}
	if s.Resumed() != 1 || s.Identified() != 1 {
		t.Errorf("%d sessions were begun and %d resumed", s.Identified(), s.Resumed())
	}
	sent, err := bot.ChannelMessageSendReply("70", "hi", &discordgo.MessageReference{MessageID: s.messagesOf("70")[0], ChannelID: "70"})
	if err != nil || s.Get(sent.ID).Text != "hi" || s.Get(sent.ID).ReplyTo == "" {
		t.Errorf("sent %+v, %v", sent, err)
	}
	if _, err := bot.ChannelMessageSend("70", strings.Repeat("x", 2001)); err == nil {
		t.Error("a message of 2001 characters is taken")
	}
	found, err := bot.ChannelMessages("70", 2, "", "0", "")
	if err != nil || len(found) != 2 || found[0].Content != "meanwhile" || found[1].Content != "hello" {
		t.Errorf("the first two messages, newest first, are %+v, %v", found, err)
	}
	bot.ShouldReconnectOnError = false
	if err := bot.Close(); err != nil { // By code 1000, with which the session ends.
		t.Error(err)
	}
	s.Await(t, "the session has ended", func() bool { return !s.Online() && s.sessionCount() == 0 })
}

// messagesOf are the ids of a channel's messages.
func (s *Server) messagesOf(channel string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, m := range s.messages {
		if m.Channel == channel {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (s *Server) sessionCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}
