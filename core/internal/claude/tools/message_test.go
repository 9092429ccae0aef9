package tools_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/sdk/chat"
)

func address(channel string, id chat.ID, thread ...chat.ThreadID) chat.Address {
	a := chat.Address{Channel: channel, Chat: id}
	if len(thread) > 0 {
		a.Thread = thread[0]
	}
	return a
}

// chats are the sessions of a host whose owners are telegram:anna, webchat:anna, discord:anna and discord:77.
var chats = []domain.Session{
	direct("discord:77", address("discord", "900"), "77"),
	direct("discord:78", address("discord", "901"), "78"),
	direct("discord:79@lid", address("discord", "902"), "79@lid", "77"),
	{Key: "discord:group:listed", Kind: chat.Group, Title: "Family", Route: address("discord", "listed")},
	{Key: "discord:group:listed:thread:5", Kind: chat.Group, Route: address("discord", "listed", "5")},
	{Key: "discord:group:other", Kind: chat.Group, Route: address("discord", "other")},
	direct("main", address("webchat", "page"), "anna"),
	direct("peer:anna", address("matrix", "!kitchen:x.test"), "@anna:x.test"),
	direct("peer:bob", address("matrix", "!bobs"), "@bob:x.test"),
	direct("peer:telegram:carl", address("telegram", "carl"), "carl"),
	direct("telegram:anna", address("telegram", "anna"), "anna"),
	direct("telegram:bob", address("telegram", "bob"), "bob"),
	{Key: "telegram:zoe", Kind: chat.Direct},
	direct("webchat:odd:key:of:no:form", address("webchat", "odd"), "odd"),
}

func direct(key string, route chat.Address, person ...chat.UserID) domain.Session {
	return domain.Session{Key: key, Kind: chat.Direct, Route: route, Peer: person}
}

// Behaviour: session-direct, message-tool.
func TestWhoMayWriteWhere(t *testing.T) {
	t.Parallel()
	inGroup := anna
	inGroup.Session, inGroup.Address, inGroup.Kind = "discord:group:listed", address("discord", "listed"), chat.Group
	bob := chat.Caller{Session: "telegram:bob", Address: address("telegram", "bob"), Kind: chat.Direct, Sender: chat.Sender{ID: "bob"}, Authority: chat.Authorised}
	reachable := []string{"discord:900", "discord:902", "discord:listed", "discord:listed:5", "webchat:page", "matrix:!kitchen%3Ax.test", "telegram:anna"}
	for name, test := range map[string]struct {
		caller chat.Caller
		may    []string
	}{
		"an owner in a direct chat":   {anna, reachable},
		"an owner in a group":         {inGroup, reachable},
		"another person":              {bob, []string{"telegram:bob"}},
		"another person in the group": {chat.Caller{Address: inGroup.Address, Kind: chat.Group, Authority: chat.Other}, []string{"discord:listed"}},
		"nobody":                      {chat.Caller{Address: address("telegram", "bob")}, []string{"telegram:bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.sessions = chats
			var sent []string
			for _, to := range []string{
				"discord:900", "discord:901", "discord:902", "discord:listed", "discord:listed:5", "discord:listed:6", "discord:other", "webchat:page",
				"matrix:!kitchen%3Ax.test", "matrix:!kitchen:x.test", "matrix:!bobs", "telegram:carl", "telegram:anna", "telegram:bob", "telegram:zoe", "webchat:odd",
				":", "telegram:", "Family",
			} {
				got := use(t, r.Turn("1", test.caller), "message", `{"to":"`+to+`","text":"hi"}`)
				if !got.IsError {
					sent = append(sent, to)
				} else if !strings.Contains(got.text(), "You may write to no") {
					t.Errorf("%s is refused with %q", to, got.text())
				}
			}
			if diff := cmp.Diff(test.may, sent); diff != "" {
				t.Errorf("it may write to (-want +got):\n%s", diff)
			}
			if len(r.posts) != len(sent) {
				t.Errorf("%d messages were posted", len(r.posts))
			}
		})
	}
}

func TestARefusalNamesTheChats(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sessions = chats
	const want = `You may write to no chat "bob" from here, but to these: discord:900, discord:902, discord:listed (group "Family"), ` +
		`discord:listed:5, webchat:page, matrix:!kitchen%3Ax.test.`
	if got := use(t, r.Turn("1", anna), "message", `{"to":"bob","text":"hi"}`); got.text() != want {
		t.Errorf("the refusal is %q", got.text())
	}
	r.sessions = nil
	if got := use(t, r.Turn("1", anna), "message", `{"to":"bob","text":"hi"}`); !strings.Contains(got.text(), "no other chat") {
		t.Errorf("the refusal is %q", got.text())
	}
}

// A message is a reply in the turn's own chat only. Elsewhere the model learns that it is not one.
// Behaviour: message-tool-bounded.
func TestRepliesInMessages(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]struct {
		reply string
		none  bool // the model learns
	}{
		`{"text":"[[reply_to:7]] one"}`:                                             {reply: "7"},
		`{"text":"one [[reply_to_current]]"}`:                                       {reply: "current"},
		`{"to":"telegram:anna","text":"[[reply_to_current]] one"}`:                  {reply: "current"},
		`{"to":"telegram:anna","text":"one"}`:                                       {},
		`{"to":"discord:listed","text":"[[reply_to_current]] one"}`:                 {none: true},
		`{"to":"discord:listed","text":"one"}`:                                      {},
		`{"text":"[[reply_to:8]]","media":["a.png"],"to":"telegram:anna"}`:          {reply: "8"},
		"{\"text\":\"one\\n```\\n[[reply_to:7]]\\n```\",\"to\":\"discord:listed\"}": {},
	} {
		r := newRig(t)
		r.sessions = chats
		got := use(t, r.Turn("41", anna), "message", arguments)
		if got.IsError || strings.Contains(got.text(), "not shown as a reply") != want.none {
			t.Errorf("%s is answered %q", arguments, got.text())
		}
		if len(r.posts) != 1 || r.posts[0].Reply != want.reply {
			t.Errorf("%s: posted %+v", arguments, r.posts)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sessions = chats
	turn := r.Turn("41", anna)
	for arguments, want := range map[string]string{
		`{}`:                       "There is nothing to send",
		`{"text":" \n"}`:           "There is nothing to send",
		`{"text":7}`:               "text cannot be number",
		`{"txt":"hi"}`:             `unknown field "txt"`,
		`{"text":"hi","media":""}`: "media cannot be string",
		`{"text":"` + strings.Repeat("x", 64<<10+1) + `"}`:                     "at most 65536 are sent",
		`{"media":["a"` + strings.Repeat(`,"a"`, 10) + `]}`:                    "at most 10 are sent",
		`{"to":"` + strings.Repeat("x", 100_000) + `","text":"hi","media":[]}`: "You may write to no chat",
	} {
		if got := use(t, turn, "message", arguments); !got.IsError || !strings.Contains(got.text(), want) || len(got.text()) > 2000 {
			t.Errorf("%.40s is answered %.200q", arguments, got.text())
		}
	}
	for _, arguments := range []string{`{"text":"one"}`, `{"to":"telegram:anna","text":"one","media":["a.png"]}`, `{"to":"discord:listed","text":"two"}`} {
		if got := use(t, turn, "message", arguments); got.IsError {
			t.Errorf("%s is answered %q", arguments, got.text())
		}
	}
	group := address("discord", "listed")
	want := []tools.Post{
		{Caller: anna, To: anna.Address, Kind: chat.Direct, Text: "one"},
		{Caller: anna, To: anna.Address, Kind: chat.Direct, Text: "one", Media: []string{"a.png"}},
		{Caller: anna, To: group, Kind: chat.Group, Text: "two"},
	}
	for _, p := range r.posts {
		if p.Key == (domain.Key{}) || len(p.Key.String()) > 200 {
			t.Errorf("the key is %q", p.Key)
		}
	}
	if diff := cmp.Diff(want, r.posts, cmpopts.IgnoreFields(tools.Post{}, "Key")); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
}

// A poll's texts are on one line each; what is no poll, or more than one, is refused.
// Behaviour: message-tool-poll.
func TestPollsInMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	turn := r.Turn("41", anna)
	for arguments, want := range map[string]string{
		`{"poll":{"question":"a","options":["b","c"]},"text":"d"}`:                             "A poll is sent alone",
		`{"poll":{"question":"a","options":["b","c"]},"media":["d"]}`:                          "A poll is sent alone",
		`{"poll":{"question":"a","options":["b","c"]},"buttons":[["d"]]}`:                      "A poll is sent alone",
		`{"poll":{"question":"a","options":"b"}}`:                                              "options cannot be string",
		`{"poll":{"question":"a","options":["b"],"quiz":true}}`:                                `unknown field "quiz"`,
		`{"poll":{"question":"a","options":["b","c"]},"action":"edit","id":"m1","text":"x"}`:   `"poll" is for sending only.`,
		`{"poll":{"question":"a","options":["b","c"]},"action":"react","id":"m1","emoji":"x"}`: `"poll" is for sending only.`,
	} {
		if got := use(t, turn, "message", arguments); !got.IsError || !strings.Contains(got.text(), want) {
			t.Errorf("%s is answered %q", arguments, got.text())
		}
	}
	got := use(t, turn, "message", `{"poll":{"question":" Where\n to?","options":["a\tb","c"],"multiple":true,"anonymous":true}}`)
	want := &chat.Poll{Question: "Where to?", Options: []string{"a b", "c"}, Multiple: true, Anonymous: true}
	if got.IsError || len(r.posts) != 1 || !cmp.Equal(want, r.posts[0].Poll) || r.posts[0].Text != "" {
		t.Errorf("it is answered %q, posted %+v", got.text(), r.posts)
	}
	limits := chat.PollLimits{Options: 4, Question: chat.TextLimit{Max: 9}}
	for l, want := range map[chat.PollLimits]string{
		{}:     "The channel x has no polls. Use buttons, or list the choices in the text with numbers.",
		limits: "The channel x shows a poll with a question of at most 9 characters and 2 to 4 different options, never anonymous.",
	} {
		if got := tools.Polls("x", l); string(got) != want {
			t.Errorf("limits %+v are shown as %q", l, got)
		}
	}
}

// What is meant for the host does not reach a chat in a message either.
// Behaviour: message-tool-bounded.
func TestMarkersInMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	turn := r.Turn("41", anna)
	if got := use(t, turn, "message", `{"text":"[[reply_to_current]] one\nMEDIA:b.png\n[from: Anna]","media":["a.png"]}`); got.IsError {
		t.Error(got.text())
	}
	if got := use(t, turn, "message", `{"text":"NO_REPLY"}`); !got.IsError || !strings.HasPrefix(got.text(), "There is nothing to send") {
		t.Error(got.text())
	}
	want := tools.Post{Caller: anna, To: anna.Address, Kind: chat.Direct, Text: "one", Media: []string{"a.png", "b.png"}, Reply: "current"}
	if len(r.posts) != 1 {
		t.Fatalf("posted %+v", r.posts)
	}
	if diff := cmp.Diff(want, r.posts[0], cmpopts.IgnoreFields(tools.Post{}, "Key")); diff != "" {
		t.Error(diff)
	}
}

// An agent that was talked into it cannot flood a chat.
// Behaviour: message-tool-bounded.
func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	turn := r.Turn("41", anna)
	for i := range 100 {
		got := use(t, turn, "message", fmt.Sprintf(`{"text":"message %d"}`, i))
		if i >= 30 != got.IsError {
			t.Fatalf("message %d is answered %q", i, got.text())
		}
	}
	if len(r.posts) != 30 {
		t.Errorf("%d were posted", len(r.posts))
	}
}

func TestAMessageThatCannotBePosted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	turn := r.Turn("1", anna)
	for _, test := range []struct {
		err  error
		want string
	}{
		{tools.Refusal("The file a.png is not in the workspace."), "The file a.png is not in the workspace."},
		{errors.New("write /secret/clawhost.db: disk full"), "The host failed at this; its log says why. Go on without it."},
	} {
		r.postErr = test.err
		if got := use(t, turn, "message", `{"text":"hi"}`); !got.IsError || got.text() != test.want {
			t.Errorf("it is answered %+v", got)
		}
	}
	if !strings.Contains(r.log(), "disk full") || len(r.posts) != 0 {
		t.Errorf("posted %v; the log is\n%s", r.posts, r.log())
	}
}

// The same use of the tool has the same key in each attempt of a turn; any other has another one.
// Behaviour: message-tool.
func TestKeysOfMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := func(turn, use, arguments string) domain.Key {
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"message","arguments":` + arguments + `,"_meta":{"claudecode/toolUseId":"` + use + `"}}}`
		if got := read(t, handle(t, r.Turn(turn, anna), message).Result); got.IsError {
			t.Fatal(got.text())
		}
		return r.posts[len(r.posts)-1].Key
	}
	first := key("1", "toolu_1", `{"text":"hi"}`)
	if again := key("1", "toolu_1", `{"text":"hi"}`); again != first {
		t.Error("the same use has another key")
	}
	if nameless := key("1", "", `{"text":"hi"}`); nameless != key("1", "", `{"text":"hi"}`) {
		t.Error("the same message has another key")
	}
	seen := map[domain.Key]bool{first: true}
	for _, other := range []domain.Key{key("1", "toolu_2", `{"text":"hi"}`), key("2", "toolu_1", `{"text":"hi"}`), key("1", "", `{"text":"hi"}`), key("1", "", `{"text":"ho"}`), key("1", "", `{"text":"hi","media":["a"]}`), key("1", "", `{"poll":{"question":"a","options":["b","c"]}}`), key("1", "", `{"poll":{"question":"a","options":["b","d"]}}`)} {
		if seen[other] {
			t.Error("two uses have one key")
		}
		seen[other] = true
	}
}

// Only an owner reaches another chat, and an owner none but those of owners and listed groups, whatever sessions
// there are.
// Behaviour: message-tool.
func TestReachIsClosed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		user := rapid.SampledFrom([]chat.UserID{"anna", "bob", "77", "a", "group", "main", "x:y"})
		chats := rapid.SampledFrom([]chat.ID{"anna", "bob", "listed", "other", "77", "x:y"})
		channel := rapid.SampledFrom([]string{"telegram", "discord"})
		scope := rapid.SampledFrom([]session.Scope{session.Main, session.PerPeer, session.PerChannelPeer})
		want := map[string]bool{}
		keys := map[string]bool{}
		for range rapid.IntRange(0, 8).Draw(rt, "sessions") {
			kind := rapid.SampledFrom([]chat.Kind{chat.Direct, chat.Group, chat.Broadcast}).Draw(rt, "kind")
			on, who, where := channel.Draw(rt, "channel"), user.Draw(rt, "user"), chats.Draw(rt, "chat")
			key := session.Of(scope.Draw(rt, "scope"), on, chat.Chat{ID: where, Kind: kind}, "", chat.Sender{ID: who}, session.Links(r.options.Conversations.Config().Session.IdentityLinks)).Key()
			if keys[key] {
				continue
			}
			keys[key] = true
			one := domain.Session{Key: key, Kind: kind, Route: address(on, where)}
			if kind == chat.Direct {
				one.Peer = []chat.UserID{who}
			}
			r.sessions = append(r.sessions, one)
			mine := who == "anna" || on == "discord" && who == "77" || key == "peer:anna"
			if kind == chat.Direct && mine || kind != chat.Direct && where == "listed" {
				want[on+":"+strings.ReplaceAll(string(where), ":", "%3A")] = true
			}
		}
		caller := anna
		caller.Authority = rapid.SampledFrom([]chat.Authority{0, chat.Other, chat.Authorised, chat.Owner}).Draw(rt, "authority")
		for _, c := range []string{"telegram", "discord"} {
			for _, id := range []string{"anna", "bob", "listed", "other", "77", "x%3Ay"} {
				name := c + ":" + id
				may := name == "telegram:anna" || caller.Authority == chat.Owner && want[name]
				if got := use(t, r.Turn("1", caller), "message", `{"to":"`+name+`","text":"hi"}`); got.IsError == may {
					rt.Fatalf("to %s: %q; sessions %+v", name, got.text(), r.sessions)
				}
			}
		}
	})
}
