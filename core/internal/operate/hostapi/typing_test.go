package hostapi_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

const (
	direct = pluginv1.ChatKind_CHAT_KIND_DIRECT
	group  = pluginv1.ChatKind_CHAT_KIND_GROUP
)

// types is a hint that a person types.
func types(who, where string, kind pluginv1.ChatKind) *pluginv1.TypingRequest {
	return &pluginv1.TypingRequest{Chat: &pluginv1.Chat{Id: where, Kind: kind}, Sender: &pluginv1.Sender{Id: who}}
}

// meet gives the person anna a conversation in a channel.
func (b *bundle) meet(t *testing.T, client pluginv1.InboxClient) {
	t.Helper()
	response, err := client.Submit(t.Context(), &pluginv1.SubmitRequest{Event: event("1", "hello")})
	if err != nil || response.GetVerdict() != pluginv1.Verdict_VERDICT_ACCEPTED {
		t.Fatal(response, err)
	}
	b.claim(t)
	b.early.taken()
}

// Whatever a plugin makes up, nothing is started for who may not write, and nothing is stored.
// Behaviour: typing-strangers.
func TestForgedTyping(t *testing.T) {
	t.Parallel()
	b := setup(t)
	echo, granted := pluginv1.NewInboxClient(b.connect(t, "echo")), pluginv1.NewInboxClient(b.connect(t, "granted"))
	hook := pluginv1.NewInboxClient(b.connect(t, "hook"))
	b.meet(t, echo)
	disguised := types("eve", "anna", direct)
	disguised.Sender.Aliases, disguised.Sender.DisplayName = []string{"echo:anna", "Anna", " anna", "anna\x00"}, "anna"
	threaded := types("eve", "anna", direct)
	threaded.ThreadId = "anna"
	for name, test := range map[string]struct {
		client pluginv1.InboxClient
		hint   *pluginv1.TypingRequest
		want   string
	}{
		"an owner":                                  {echo, types("anna", "anna", direct), "echo:anna"},
		"an owner without a conversation":           {granted, types("anna", "anna", direct), "granted:anna"}, // a spare process
		"an owner of other channels":                {hook, types("anna", "anna", direct), ""},
		"a stranger":                                {echo, types("eve", "eve", direct), ""},
		"a stranger in an owner's chat":             {echo, types("eve", "anna", direct), ""},
		"one who looks like an owner":               {echo, disguised, ""},
		"one in a thread of an owner's chat":        {echo, threaded, ""},
		"an owner in a group that is not let in":    {echo, types("anna", "anna", group), ""},
		"an owner's session as a chat":              {echo, types("anna", "echo:anna", group), ""},
		"a pattern":                                 {echo, types("%", "%", direct), ""},
		"an id with another channel's name":         {granted, types("echo:anna", "anna", direct), ""},
		"an id that is longer than an owner's":      {echo, types("anna ", "anna", direct), ""},
		"an owner in a chat that does not exist":    {echo, types("anna", "nowhere", direct), "echo:anna"}, // the person's session, as of a message
		"an owner's id with an id of another chat":  {echo, types("anna", "eve", direct), "echo:anna"},
		"an owner of another instance in its chats": {granted, types("eve", "anna", direct), ""},
	} {
		if _, err := test.client.Typing(t.Context(), test.hint); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(b.early.taken(), " "); got != test.want {
			t.Errorf("%s: turns are expected in %q, want %q", name, got, test.want)
		}
	}
	b.idle(t)
	if pending, err := b.store.Pairings(t.Context()); err != nil || len(pending) > 0 {
		t.Errorf("asked to be let in: %v, %v", pending, err)
	}
	sessions, err := b.store.Sessions(t.Context(), "", 0)
	if err != nil || len(sessions) != 1 {
		t.Errorf("%d sessions, %v; want that of the message", len(sessions), err)
	}
	for _, channel := range []string{"echo", "granted", "hook"} {
		if got := b.posted(t, channel); len(got) > 0 {
			t.Errorf("posted to %s: %q", channel, got)
		}
	}
}

func TestTypingThatIsMalformed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := pluginv1.NewInboxClient(b.connect(t, "echo"))
	b.meet(t, client)
	for name, spoil := range map[string]func(*pluginv1.TypingRequest){
		"nothing":         func(r *pluginv1.TypingRequest) { r.Chat, r.Sender = nil, nil },
		"no chat":         func(r *pluginv1.TypingRequest) { r.Chat = nil },
		"an unknown kind": func(r *pluginv1.TypingRequest) { r.Chat.Kind = 99 },
		"no sender":       func(r *pluginv1.TypingRequest) { r.Sender = nil },
		"a long id":       func(r *pluginv1.TypingRequest) { r.ThreadId = strings.Repeat("x", 1<<20) },
		"many aliases":    func(r *pluginv1.TypingRequest) { r.Sender.Aliases = slices.Repeat([]string{"anna"}, 10_000) },
	} {
		r := types("anna", "anna", direct)
		spoil(r)
		_, err := client.Typing(t.Context(), r)
		if wantCode(t, err, codes.InvalidArgument); len(b.early.taken()) > 0 {
			t.Errorf("%s: a turn is expected", name)
		}
	}
	stopped := types("anna", "anna", direct)
	stopped.Stopped = true
	if _, err := client.Typing(t.Context(), stopped); err != nil || len(b.early.taken()) > 0 {
		t.Errorf("who has stopped: %v", err)
	}
	close(b.closing)
	_, err := client.Typing(t.Context(), types("anna", "anna", direct))
	if wantCode(t, err, codes.Unavailable); len(b.early.taken()) > 0 {
		t.Error("a turn is expected by a host that is going down")
	}
}

// A plugin that floods the host with hints has 20 a second looked at, and takes none from others.
// Behaviour: typing-flood.
func TestTypingThatFloods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		echo, granted := pluginv1.NewInboxClient(b.connect(t, "echo")), pluginv1.NewInboxClient(b.connect(t, "granted"))
		b.meet(t, echo)
		b.meet(t, granted)
		flood := func() {
			for range 1000 {
				if _, err := echo.Typing(t.Context(), types("anna", "anna", direct)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for second := range 3 {
			flood()
			if got := len(b.early.taken()); got != 20 {
				t.Errorf("in second %d the host looked at %d hints, want 20", second, got)
			}
			time.Sleep(time.Second)
		}
		flood()
		b.early.taken()
		if _, err := granted.Typing(t.Context(), types("anna", "anna", direct)); err != nil {
			t.Fatal(err)
		}
		if got := b.early.taken(); !slices.Equal(got, []string{"granted:anna"}) {
			t.Errorf("beside the flood the host looked at %q", got)
		}
	})
}
