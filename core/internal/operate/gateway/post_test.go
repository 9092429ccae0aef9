package gateway_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
)

// small takes short texts and files.
var small = chat.Limits{Text: chat.TextLimit{Max: 10}, MediaOut: []chat.MediaLimit{{Kind: chat.File, MaxBytes: 4}}}

// sent delivers what waits for a chat of tg, and returns its texts and names of files.
func (r *rig) sent(t *testing.T) (all []string) {
	t.Helper()
	for {
		due, err := r.store.DeliveriesDue(t.Context(), "tg")
		if err != nil {
			t.Fatal(err)
		}
		if !due {
			return all
		}
		list, err := r.store.ClaimDeliveries(t.Context(), "tg", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			all = append(all, string(d.Item.To.Chat)+" "+string(d.Item.To.Thread)+": "+d.Item.Text)
			for _, file := range d.Item.Media {
				all = append(all, file.FileName)
			}
			if err := r.store.Delivered(t.Context(), d.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Behaviour: program-send.
func TestSend(t *testing.T) {
	t.Parallel()
	g := open(t, small)
	operator, to := gateway.Caller{}, chat.Address{Channel: "tg", Chat: "a:b", Thread: "7"}
	if _, err := g.store.Accept(t.Context(), domain.Inbound{EventID: "1", Session: "tg:a", Lane: domain.TurnLane, Message: domain.Message{
		Channel: "tg", Chat: chat.Chat{ID: "a:b", Kind: chat.Group}, Thread: "7",
	}}); err != nil {
		t.Fatal(err)
	}
	file, err := g.Keep(t.Context(), operator, to, chat.Media{FileName: "tea.txt"}, strings.NewReader("tea"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := g.Post(t.Context(), operator, "", gateway.Message{To: to, Text: "hello", Files: []chat.Media{file}})
	if diff := cmp.Diff([]string{"a:b 7: hello", "a:b 7: ", "tea.txt"}, g.sent(t)); err != nil || id == 0 || diff != "" {
		t.Errorf("sent as %d, %v (-want +got):\n%s", id, err, diff)
	}
	said, err := g.store.Transcript(t.Context(), "tg:a", 0, 0)
	if err != nil || len(said) != 1 || said[0].Text != "sent by a program: hello\n<file:tea.txt>" {
		t.Errorf("the conversation has %+v, %v", said, err)
	}
	if notes := g.claim(t).Notes; len(notes) != 1 || notes[0].Text != "A program of the operator has sent to this chat: hello\n<file:tea.txt>" {
		t.Errorf("the conversation gets %+v", notes)
	}
	post := func(c gateway.Caller, key string) int64 {
		t.Helper()
		id, err := g.Post(t.Context(), c, key, gateway.Message{To: to, Text: "again"})
		if err != nil || id == 0 {
			t.Fatal(id, err)
		}
		return id
	}
	plugin, other := gateway.Plugin("a", []string{"tg"}), gateway.Plugin("b", []string{"tg"})
	for name, c := range map[string]gateway.Caller{"the operator": operator, "a plugin": plugin, "another one": other} {
		if first := post(c, "nightly"); post(c, "nightly") != first {
			t.Errorf("%s sends the same again", name)
		}
	}
	if first := post(operator, ""); post(operator, "") == first {
		t.Error("what has no key is sent once")
	}
	if n := len(g.sent(t)); n != 5 {
		t.Errorf("%d messages were sent, want 5", n)
	}
}

func TestWhatCannotBeSentIsRefused(t *testing.T) {
	t.Parallel()
	g := open(t, small)
	to, mail := chat.Address{Channel: "tg", Chat: "a"}, chat.Address{Channel: "mail", Chat: "a"}
	for name, test := range map[string]struct {
		caller gateway.Caller
		m      gateway.Message
		want   gateway.Reason
	}{
		"nothing":           {gateway.Caller{}, gateway.Message{To: to, Text: " \n"}, gateway.Invalid},
		"nowhere to go":     {gateway.Caller{}, gateway.Message{To: mail, Text: "hello"}, gateway.Invalid},
		"nobody's chat":     {gateway.Caller{}, gateway.Message{Text: "hello"}, gateway.Invalid},
		"a file nowhere":    {gateway.Caller{}, gateway.Message{To: mail, Files: []chat.Media{{}}}, gateway.Invalid},
		"no grant":          {gateway.Plugin("mail", nil), gateway.Message{To: to, Text: "hello"}, gateway.Denied},
		"a plugin's itself": {gateway.Plugin("mail", nil), gateway.Message{To: mail, Text: "hello"}, gateway.Invalid},
	} {
		var refused gateway.Refusal
		if _, err := g.Post(t.Context(), test.caller, "", test.m); !errors.As(err, &refused) || refused.Reason != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sent := g.sent(t); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
	for name, test := range map[string]struct {
		limits  chat.Limits
		to      chat.Address
		content string
	}{
		"it is not connected": {chat.Limits{}, to, "tea"},
		"it is too large":     {small, to, "much tea"},
		"no such channel":     {small, mail, "tea"},
	} {
		if _, err := open(t, test.limits).Keep(t.Context(), gateway.Caller{}, test.to, chat.Media{FileName: "tea.txt"}, strings.NewReader(test.content)); !errors.As(err, new(gateway.Refusal)) {
			t.Errorf("a file, %s: %v", name, err)
		}
	}
	if _, err := g.Keep(t.Context(), gateway.Caller{}, to, chat.Media{FileName: "tea.txt"}, io.MultiReader(strings.NewReader("t"), broken{})); err == nil || errors.As(err, new(gateway.Refusal)) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// broken cannot be read.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("it is broken") }
