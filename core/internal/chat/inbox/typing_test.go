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

// A conversation that the message replaces, because it has expired, gets no process before. One that nobody has begun yet is expected.
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
		"none yet":                           {known: map[string]domain.Session{}, want: true},
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

// A message that waits for more waits while its writer types. By the judge's clock it was written a while ago.
// Behaviour: burst-typing.
func TestTypingHoldsAMessage(t *testing.T) {
	t.Parallel()
	auto := func(string) config.Settings {
		s := open("")
		s.Inbound.Debounce = config.AutoDebounce
		return s
	}
	j := &journal{}
	at := now
	b := boxAt(j, auto, func() time.Time { return at })
	submit := func(who chat.UserID, text string) {
		t.Helper()
		if outcome, err := b.Submit(t.Context(), "tg", says(who, text)); err != nil || outcome.Verdict != chat.Accepted {
			t.Fatal(outcome, err)
		}
	}
	typing := func(hint chat.Typing) {
		t.Helper()
		if err := b.Typing(t.Context(), "tg", hint); err != nil {
			t.Fatal(err)
		}
	}
	stopped := types("owner")
	stopped.Stopped = true
	submit("owner", "what is the weather")
	at = now.Add(100 * time.Millisecond)
	typing(types("friend"))
	typing(types("stranger"))
	typing(with(types("stranger"), func(t *chat.Typing) { t.Chat.ID = "owner" }))
	typing(types("owner"))
	at = now.Add(time.Second)
	typing(stopped)
	at = now.Add(time.Minute)
	typing(types("owner"))
	if want := []string{"owner of tg:owner 10.1s", "owner of tg:owner 1.18s"}; !slices.Equal(j.lingers, want) {
		t.Errorf("what waits is %q, want %q", j.lingers, want)
	}
}

// After a restart, the conversations of the last ten minutes have their processes back, if they would still be let in.
// Behaviour: process-restart.
func TestResume(t *testing.T) {
	t.Parallel()
	begun := func(key string, kind chat.Kind, in chat.ID, peer ...chat.UserID) domain.Session {
		return domain.Session{
			Key: key, Kind: kind, Route: chat.Address{Channel: "tg", Chat: in}, Peer: peer,
			ClaudeStarted: true, ResetAt: now.Add(-time.Minute), InteractedAt: now.Add(-time.Minute),
		}
	}
	program := begun("cli:main", chat.Direct, "")
	program.Route.Channel = ""
	j := &journal{recent: []domain.Session{
		begun("tg:owner", chat.Direct, "owner", "owner"), begun("tg:stranger", chat.Direct, "stranger", "stranger"), begun("tg:group:g", chat.Group, "g"),
		begun("tg:group:h", chat.Group, "h"), program, begun("tg:other", chat.Direct, "owner", "owner"), begun("tg:friend", chat.Direct, "friend", "friend"),
	}}
	j.sessions = map[string]domain.Session{}
	for _, s := range j.recent {
		j.sessions[s.Key] = s
	}
	boxOf(j, open).Resume(t.Context())
	if want := []string{"tg:owner", "tg:group:g", "tg:friend"}; !slices.Equal(j.expected, want) {
		t.Errorf("turns are expected in %q, want %q", j.expected, want)
	}
	if len(j.accepted)+len(j.passive)+len(j.paired)+len(j.posted)+len(j.changes)+len(j.received) > 0 {
		t.Errorf("that did more: %+v", j)
	}
	j = &journal{fail: errors.New("the disk is full")}
	boxOf(j, open).Resume(t.Context())
	if len(j.expected) > 0 {
		t.Errorf("turns are expected in %q", j.expected)
	}
}
