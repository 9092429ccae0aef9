package inbox_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// open are settings with a group whose messages need not mention the agent, and with conversations that expire.
func open(string) config.Settings {
	s := talkative("")
	no := false
	s.Access.Group["lounge"] = config.Group{RequireMention: &no}
	return s
}

// types is a person who types in their direct chat.
func types(who chat.UserID) chat.Typing {
	return chat.Typing{Chat: chat.Chat{ID: chat.ID(who), Kind: chat.Direct}, Sender: chat.Sender{ID: who}}
}

func in(id chat.ID, t chat.Typing) chat.Typing {
	t.Chat = chat.Chat{ID: id, Kind: chat.Group}
	return t
}

func with(t chat.Typing, change func(*chat.Typing)) chat.Typing {
	change(&t)
	return t
}

// Only who may write, where an answer comes without a mention, has a process started. Nothing else happens.
// Behaviour: typing-early, typing-strangers.
func TestTyping(t *testing.T) {
	t.Parallel()
	alias := func(t *chat.Typing) { t.Sender.Aliases = []chat.UserID{"guest"} }
	for name, test := range map[string]struct {
		hint      chat.Typing
		chosen    map[string]domain.Overrides
		session   string // empty: nothing is started
		authority chat.Authority
	}{
		"an owner":                      {hint: types("owner"), session: "tg:owner", authority: chat.Owner},
		"a listed person":               {hint: types("friend"), session: "tg:friend", authority: chat.Other},
		"a person who was let in":       {hint: types("guest"), session: "tg:guest", authority: chat.Other},
		"one by another id":             {hint: with(types("4711"), alias), session: "tg:4711", authority: chat.Other},
		"in a thread":                   {hint: with(in("lounge", types("owner")), func(t *chat.Typing) { t.Thread = "7" }), session: "tg:group:lounge:thread:7", authority: chat.Owner},
		"a group without mentions":      {hint: in("lounge", types("friend")), session: "tg:group:lounge", authority: chat.Other},
		"a group that answers always":   {hint: in("g", types("owner")), chosen: map[string]domain.Overrides{"tg:group:g": {Activation: "always"}}, session: "tg:group:g", authority: chat.Owner},
		"a group that has moved":        {hint: in("moved", types("owner")), chosen: map[string]domain.Overrides{"tg:group:g": {Activation: "always"}}, session: "tg:group:g", authority: chat.Owner},
		"a group with mentions":         {hint: in("g", types("owner"))},
		"a group that wants mentions":   {hint: in("lounge", types("owner")), chosen: map[string]domain.Overrides{"tg:group:lounge": {Activation: "mention"}}},
		"a group that is not listed":    {hint: in("h", types("owner"))},
		"a stranger":                    {hint: types("stranger")},
		"a stranger in an owner's chat": {hint: with(types("stranger"), func(t *chat.Typing) { t.Chat.ID = "owner" })},
		"a stranger with an owner's name": {hint: with(types("stranger"), func(t *chat.Typing) {
			t.Sender.DisplayName, t.Sender.Username = "owner", "owner"
		})},
		"a person of another channel":  {hint: types("tg:owner")},
		"nobody":                       {hint: with(types("owner"), func(t *chat.Typing) { t.Sender.ID = "" })},
		"a bot":                        {hint: with(types("owner"), func(t *chat.Typing) { t.Sender.IsBot = true })},
		"the channel itself":           {hint: with(types("owner"), func(t *chat.Typing) { t.Sender.IsSelf = true })},
		"an unknown kind of chat":      {hint: with(types("owner"), func(t *chat.Typing) { t.Chat.Kind = 0 })},
		"who has stopped":              {hint: with(types("owner"), func(t *chat.Typing) { t.Stopped = true })},
		"a conversation that is muted": {hint: types("owner"), chosen: map[string]domain.Overrides{"tg:owner": {Send: "deny"}}},
		"a broadcast channel, which is not answered": {hint: with(in("lounge", types("owner")), func(t *chat.Typing) { t.Chat.Kind = chat.Broadcast })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{allowed: []chat.UserID{"guest"}, chosen: test.chosen}
			if err := boxOf(j, open).Typing(t.Context(), "tg", test.hint); err != nil {
				t.Fatal(err)
			}
			var want []string
			if test.session != "" {
				want = []string{test.session}
			}
			if diff := cmp.Diff(want, j.expected); diff != "" {
				t.Fatalf("turns are expected (-want +got):\n%s", diff)
			}
			if test.session != "" {
				m := domain.Message{
					Channel: "tg", Chat: test.hint.Chat, Thread: test.hint.Thread, Sender: test.hint.Sender, SentAt: now, Authority: test.authority,
				}
				if diff := cmp.Diff(m, j.awaited[0]); diff != "" {
					t.Errorf("the expected message (-want +got):\n%s", diff)
				}
			}
			if len(j.accepted)+len(j.passive)+len(j.paired)+len(j.posted)+len(j.changes)+len(j.received) > 0 {
				t.Errorf("the hint did more: %+v", j)
			}
		})
	}
}

// A conversation that begins with the message, or that it replaces because it has expired, gets no process before.
// Behaviour: typing-early.
func TestTypingBeginsNoConversation(t *testing.T) {
	t.Parallel()
	begun := func(ago time.Duration, used time.Duration) domain.Session {
		return domain.Session{ClaudeStarted: true, ResetAt: now.Add(-ago), InteractedAt: now.Add(-used)}
	}
	for name, test := range map[string]struct {
		known map[string]domain.Session
		want  bool
	}{
		"none yet":                           {known: map[string]domain.Session{}},
		"one in use":                         {known: map[string]domain.Session{"tg:owner": begun(3*time.Hour, time.Minute)}, want: true},
		"unused for longer than idle_reset":  {known: map[string]domain.Session{"tg:owner": begun(3*time.Hour, time.Hour)}},
		"begun before the time of the reset": {known: map[string]domain.Session{"tg:owner": begun(11*time.Hour, time.Minute)}},
		"one that is empty":                  {known: map[string]domain.Session{"tg:owner": {ResetAt: now.Add(-11 * time.Hour)}}, want: true},
	} {
		j := &journal{sessions: test.known}
		if err := boxOf(j, open).Typing(t.Context(), "tg", types("owner")); err != nil {
			t.Fatal(err)
		}
		if started := slices.Equal(j.expected, []string{"tg:owner"}); started != test.want || len(j.expected) > 1 {
			t.Errorf("%s: turns are expected in %q", name, j.expected)
		}
	}
}

// The hint is for the agent that answers there.
func TestTypingToAnotherAgent(t *testing.T) {
	t.Parallel()
	j := &journal{agents: map[string]string{"tg:owner": "server"}}
	if err := boxOf(j, open).Typing(t.Context(), "tg", types("owner")); err != nil {
		t.Fatal(err)
	}
	submit(t, j, open, says("owner", "hello"))
	if len(j.expected) != 2 || j.expected[0] != j.expected[1] || j.expected[0] == "tg:owner" {
		t.Errorf("turns are expected in %q, want them in the session of the message", j.expected)
	}
}

func TestTypingWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	j := &journal{fail: errors.New("no disk")}
	if err := boxOf(j, open).Typing(t.Context(), "tg", types("owner")); err == nil || len(j.expected) > 0 {
		t.Errorf("%v, and turns are expected in %q", err, j.expected)
	}
}
