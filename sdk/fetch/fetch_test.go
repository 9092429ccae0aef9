package fetch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/fetch"
)

const (
	refused = "was not fetched, for what came from this chat before was refused"
	several = "is one of several files with more than the 50 MB that are fetched together"
)

func TestQuoted(t *testing.T) {
	t.Parallel()
	const mention, own = "is fetched only for a message that mentions you", "was sent by you"
	someones := &chat.Quote{}
	for _, tt := range []struct {
		name string
		kind chat.Kind
		m    chat.Message
		want string
	}{
		{"no answer", chat.Group, chat.Message{}, ""},
		{"alone", chat.Direct, chat.Message{ReplyTo: someones}, ""},
		{"among others", chat.Group, chat.Message{ReplyTo: someones}, mention},
		{"to all", chat.Broadcast, chat.Message{ReplyTo: someones}, mention},
		{"asked", chat.Group, chat.Message{ReplyTo: someones, MentionsSelf: true}, ""},
		{"named", chat.Group, chat.Message{ReplyTo: someones, Mentions: []chat.Mention{{}, {IsSelf: true}}}, ""},
		{"others named", chat.Group, chat.Message{ReplyTo: someones, Mentions: []chat.Mention{{User: "1"}}}, mention},
		{"the agent's", chat.Direct, chat.Message{ReplyTo: &chat.Quote{IsSelf: true}}, own},
		{"the agent's in a group", chat.Group, chat.Message{ReplyTo: &chat.Quote{IsSelf: true}, MentionsSelf: true}, own},
	} {
		if got := fetch.Quoted(tt.kind, tt.m); got != tt.want {
			t.Errorf("%s: it %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRoomWithinAMessage(t *testing.T) {
	t.Parallel()
	bounded, unbounded := fetch.NewRule(fetch.Limits{Together: 50 << 20, Refused: 20 << 20}), fetch.NewRule(fetch.Limits{Refused: 20 << 20})
	for _, tt := range []struct {
		stored, size int64
		want         string
	}{
		{0, 50 << 20, ""},
		{0, 50<<20 + 1, several},
		{40 << 20, 10 << 20, ""},
		{40 << 20, 10<<20 + 1, several},
		{49 << 20, 0, ""},
		{50 << 20, 0, several}, // Nobody knows how large it is.
		{60 << 20, 1, several},
	} {
		if got := bounded.Room("7", tt.stored).Problem(tt.size); got != tt.want {
			t.Errorf("beside %d bytes a file of %d %q, want %q", tt.stored, tt.size, got, tt.want)
		}
		if got := unbounded.Room("7", tt.stored).Problem(tt.size); got != "" {
			t.Errorf("without a limit, beside %d bytes, a file of %d %q", tt.stored, tt.size, got)
		}
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	files := func(sizes ...int64) (list []chat.Media) {
		for _, size := range sizes {
			list = append(list, chat.Media{Ref: "x", Size: size}, chat.Media{Size: 1000, Problem: "could not be fetched"})
		}
		return list
	}
	if got := fetch.Stored(chat.Message{Media: files(1, 2)}); got != 3 {
		t.Errorf("of its own files %d bytes, want 3", got)
	}
	if got := fetch.Stored(chat.Message{Media: files(1, 2), ReplyTo: &chat.Quote{Media: files(4)}}); got != 7 {
		t.Errorf("with the quoted one %d bytes, want 7", got)
	}
}

// TestNoStrangerFillsTheDisk: of a chat whose messages the host refuses little is fetched, until it takes one. The operator learns
// of the chat once.
func TestNoStrangerFillsTheDisk(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	logger := hclog.New(&hclog.LoggerOptions{Output: &log})
	rule := fetch.NewRule(fetch.Limits{Together: 50 << 20, Refused: 20 << 20})
	message := chat.Message{Media: []chat.Media{{Ref: "x", Size: 6 << 20}}, ReplyTo: &chat.Quote{Media: []chat.Media{{Ref: "y", Size: 6 << 20}}}}
	event := chat.Event{Chat: chat.Chat{ID: "stranger"}, Body: message}
	room := func() int64 { return rule.Room("stranger", 0).Bytes }

	rule.Note(logger, chat.Event{Chat: event.Chat, Body: chat.Deleted{}}, chat.Rejected)
	if got := room(); got != 50<<20 || log.Len() > 0 {
		t.Errorf("for an event of no use: room for %d bytes, log %s", got, &log)
	}
	rule.Note(logger, event, chat.Rejected)
	for size, want := range map[int64]string{8 << 20: "", 8<<20 + 1: refused} {
		if got := rule.Room("stranger", 0).Problem(size); got != want {
			t.Errorf("a file of %d bytes %q, want %q", size, got, want)
		}
	}
	if got := rule.Room("stranger", 8<<20).Problem(1); got != refused {
		t.Errorf("a file beside all that may be fetched %q", got)
	}
	if got := rule.Room("other", 0).Bytes; got != 50<<20 {
		t.Errorf("of another chat %d bytes may be fetched", got)
	}
	rule.Note(logger, event, chat.Duplicate)
	rule.Note(logger, event, chat.Rejected)
	if got := rule.Room("stranger", 0).Problem(0); got != refused || room() >= 0 {
		t.Errorf("a file, when too much was fetched, %q", got)
	}
	rule.Note(logger, event, chat.Accepted)
	if got := room(); got != 50<<20 {
		t.Errorf("of who was let in %d bytes may be fetched", got)
	}
	rule.Note(logger, event, chat.Rejected)
	if strings.Count(log.String(), "stranger") != 1 {
		t.Errorf("the log says %s", &log)
	}
}

// TestFewChatsAreRemembered: who makes new chats does not fill the memory.
func TestFewChatsAreRemembered(t *testing.T) {
	t.Parallel()
	rule := fetch.NewRule(fetch.Limits{Refused: 10})
	message := chat.Message{Media: []chat.Media{{Ref: "x", Size: 10}}}
	const chats = 2500
	for n := range chats {
		rule.Note(hclog.NewNullLogger(), chat.Event{Chat: chat.Chat{ID: chat.ID(fmt.Sprint(n))}, Body: message}, chat.Rejected)
	}
	remembered := 0
	for n := range chats {
		if rule.Room(chat.ID(fmt.Sprint(n)), 0).Problem(1) != "" {
			remembered++
		}
	}
	if remembered == 0 || remembered > 1000 {
		t.Errorf("%d chats are remembered", remembered)
	}
}
