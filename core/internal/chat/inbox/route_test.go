package inbox_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// talkative are settings with everything on.
func talkative(string) config.Settings {
	s := settings("")
	s.Inbound.Debounce = 300 * time.Millisecond
	s.Queue = config.Queue{Mode: "collect", Debounce: time.Second, Cap: 7, Drop: "old"}
	idle, off := 30*time.Minute, config.Off
	s.Session.IdleReset, s.Session.DailyReset = time.Hour, 4*60
	s.Session.Reset = map[string]config.Reset{"group": {Idle: &idle, Daily: &off}}
	s.Access.HistoryLimit = 20
	none := 0
	s.Access.Group["quiet"] = config.Group{HistoryLimit: &none}
	return s
}

func submit(t *testing.T, j *journal, settings func(string) config.Settings, e chat.Event) chat.Verdict {
	t.Helper()
	outcome, err := boxOf(j, settings).Submit(t.Context(), "tg", e)
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Verdict
}

// Behaviour: setting-precedence, burst-bounds, session-thread, session-thread-own, session-expiry-by.
func TestHowAMessageWaits(t *testing.T) {
	t.Parallel()
	quick := time.Duration(0)
	picture := event("owner", chat.Message{ID: "m", Text: "look", Media: []chat.Media{{Kind: chat.Image}}})
	thread := inGroup("g", event("owner", chat.Message{ID: "m", Text: "hi", MentionsSelf: true}))
	thread.Thread = "7"
	command := thread
	command.Body = chat.Message{ID: "m", Text: "/status", MentionsSelf: true}
	isolated := thread
	isolated.Isolated = true
	burst := domain.Burst{Gap: 300 * time.Millisecond, Pause: 300 * time.Millisecond, By: "owner", Messages: 12, Bytes: 50_000, Wait: 1500 * time.Millisecond}
	ended := burst
	ended.Now = true
	queue := domain.Queueing{Mode: domain.Collect, Quiet: time.Second, Cap: 7, Drop: domain.DropOld}
	today := time.Date(2026, 3, 15, 4, 0, 0, 0, time.UTC)
	own := domain.Overrides{Queue: domain.QueueOverrides{Mode: domain.Steer, Debounce: &quick, Cap: 3, Drop: domain.DropNew}}
	for name, test := range map[string]struct {
		event  chat.Event
		chosen domain.Overrides
		want   domain.Inbound
	}{
		"a message":    {event: says("owner", "hi"), want: domain.Inbound{Queue: queue, Burst: burst, Expiry: domain.Expiry{Idle: time.Hour, Since: today}}},
		"a file":       {event: picture, want: domain.Inbound{Queue: queue, Burst: ended, Expiry: domain.Expiry{Idle: time.Hour, Since: today}}},
		"a reset":      {event: says("owner", "/new opus hi"), want: domain.Inbound{Queue: queue, Model: new("opus"), Expiry: domain.Expiry{Idle: time.Hour, Since: today}}},
		"a session":    {event: says("owner", "hi"), chosen: own, want: domain.Inbound{Queue: domain.Queueing{Mode: domain.Steer, Cap: 3, Drop: domain.DropNew}, Burst: burst, Expiry: domain.Expiry{Idle: time.Hour, Since: today}}},
		"a group":      {event: inGroup("g", event("owner", chat.Message{Text: "hi", MentionsSelf: true})), want: domain.Inbound{Queue: queue, Burst: burst, Expiry: domain.Expiry{Idle: 30 * time.Minute}}},
		"a thread":     {event: thread, want: domain.Inbound{Queue: queue, Burst: burst, Expiry: domain.Expiry{Idle: time.Hour, Since: today}, Parent: "tg:group:g"}},
		"one isolated": {event: isolated, want: domain.Inbound{Queue: queue, Burst: burst, Expiry: domain.Expiry{Idle: time.Hour, Since: today}}},
		"a command":    {event: says("owner", "/status"), want: domain.Inbound{}},
		"commanded":    {event: command, want: domain.Inbound{Parent: "tg:group:g"}},
		"compaction":   {event: event("owner", chat.NativeCommand{Name: "compact", Args: "the plan"}), want: domain.Inbound{Queue: queue, Expiry: domain.Expiry{Idle: time.Hour, Since: today}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{chosen: map[string]domain.Overrides{"tg:owner": test.chosen}}
			if verdict := submit(t, j, talkative, test.event); verdict != chat.Accepted {
				t.Fatal(verdict)
			}
			got := j.accepted[0]
			if got.Lane == domain.TurnLane && (got.Hint == nil || got.Hint.Text != domain.HintStopped) {
				t.Errorf("the hint is %+v", got.Hint)
			}
			ignored := cmpopts.IgnoreFields(domain.Inbound{}, "EventID", "Session", "Lane", "Message", "MaxWaiting", "Hint")
			if diff := cmp.Diff(test.want, got, ignored); diff != "" {
				t.Error(diff)
			}
			if name == "compaction" && (got.Message.Origin != domain.OriginCompact || got.Message.Text != "the plan") {
				t.Errorf("compaction: %+v", got.Message)
			}
		})
	}
}

// Commands within a text are answered apart from it, as a message of their own.
// Behaviour: directive-shortcuts.
func TestCommandsBesideAMessage(t *testing.T) {
	t.Parallel()
	forwarded := event("owner", chat.Message{Text: "hello /help /status", Forwarded: &chat.Forward{From: "Eve"}})
	picture := []chat.Media{{Kind: chat.Image}}
	for name, test := range map[string]struct {
		event chat.Event
		text  string // for the agent
		fresh bool
		none  bool // nothing is answered apart from it
	}{
		"a text":                        {event: says("owner", "hello /help /status"), text: "hello"},
		"a file":                        {event: event("owner", chat.Message{Text: "this /help /status", Media: picture}), text: "this"},
		"a new conversation":            {event: says("owner", "/new hello /help /status"), text: "hello", fresh: true},
		"in a group":                    {event: inGroup("g", event("owner", chat.Message{Text: "hello /help /status", MentionsSelf: true})), text: "hello"},
		"of who may not use commands":   {event: says("friend", "hello /help /status"), text: "hello /help /status", none: true},
		"that another person has said":  {event: forwarded, text: "hello /help /status", none: true},
		"of a group, not for the agent": {event: inGroup("open", event("owner", chat.Message{Text: "hello /help /status"})), text: "", none: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{}
			b := box(j)
			for range 2 { // a network may deliver twice
				if _, err := b.Submit(t.Context(), "tg", test.event); err != nil {
					t.Fatal(err)
				}
			}
			var lanes []domain.Lane
			for _, in := range j.accepted {
				lanes = append(lanes, in.Lane)
				if m := in.Message; in.Lane == domain.TurnLane && (m.Text != test.text || m.Command != nil || m.Fresh != test.fresh) {
					t.Errorf("the agent gets %+v", m)
				} else if in.Lane == domain.ControlLane && (m.Command.Name != "help" || len(m.Command.And) != 1 || m.Text != "/help /status" || m.Media != nil || in.EventID == test.event.ID) {
					t.Errorf("beside it stands %+v", in)
				}
			}
			want := []domain.Lane{domain.ControlLane, domain.TurnLane}
			if test.none {
				want = want[1:]
			}
			if test.text == "" {
				want = nil
			}
			if diff := cmp.Diff(want, lanes); diff != "" {
				t.Error(diff)
			}
			j.fail = errors.New("the disk is full")
			other := test.event
			other.ID += "2"
			if _, err := b.Submit(t.Context(), "tg", other); err == nil && test.text != "" {
				t.Error("the host seems to have what it has not")
			}
		})
	}
}

// /new and /reset begin a conversation whatever the texts are that do so with them, and lose nothing of what is behind them.
// Behaviour: new.
func TestNewIsNoTrigger(t *testing.T) {
	t.Parallel()
	other := func(string) config.Settings {
		s := settings("")
		s.Session.ResetTriggers = []string{"/fresh"}
		return s
	}
	for name, test := range map[string]struct {
		event        chat.Event
		text         string
		fresh, reset bool
	}{
		"alone":                {says("owner", "/new"), "/new", false, true},
		"with a text":          {says("owner", "/new tell me"), "tell me", true, false},
		"the other one":        {says("owner", "/reset opus tell me"), "tell me", true, false},
		"from a menu":          {event("owner", chat.NativeCommand{Name: "reset", Args: "tell me"}), "tell me", true, false},
		"the configured one":   {says("owner", "/fresh tell me"), "tell me", true, false},
		"with a file":          {event("owner", chat.Message{Text: "/new", Media: []chat.Media{{Kind: chat.Image}}}), "", true, false},
		"who may not use them": {says("friend", "/new tell me"), "/new tell me", false, false},
	} {
		j := &journal{}
		submit(t, j, other, test.event)
		got := j.accepted[0]
		if got.Message.Text != test.text || got.Message.Fresh != test.fresh || got.Reset != test.reset || (got.Message.Command == nil) != test.fresh {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Where the agent reads all that a group says, a word that begins a conversation is one only if it is said to the agent.
// Behaviour: new.
func TestAWordThatBeginsAConversation(t *testing.T) {
	t.Parallel()
	words := func(string) config.Settings {
		s := settings("")
		s.Session.ResetTriggers = []string{"start over", "/fresh"}
		return s
	}
	for name, test := range map[string]struct {
		event chat.Event
		text  string
		fresh bool
	}{
		"alone with the agent":         {says("owner", "start over with tea"), "with tea", true},
		"said to the agent in a group": {inGroup("g", event("owner", chat.Message{Text: "start over with tea", MentionsSelf: true})), "with tea", true},
		"said among people":            {inGroup("g", says("owner", "start over with tea")), "start over with tea", false},
		"a command among people":       {inGroup("g", says("owner", "/fresh with tea")), "with tea", true},
	} {
		j := &journal{chosen: map[string]domain.Overrides{"tg:group:g": {Activation: "always"}}}
		submit(t, j, words, test.event)
		if got := j.accepted[0].Message; got.Text != test.text || got.Fresh != test.fresh {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Where a pattern is what calls the agent, a command may stand behind the name, and the name behind a word that stops.
// Behaviour: text-by-name.
func TestCommandsByName(t *testing.T) {
	t.Parallel()
	named := func(string) config.Settings {
		s := settings("")
		s.Access.MentionPatterns = []*regexp.Regexp{regexp.MustCompile(`(?i)\bclaw\b`), regexp.MustCompile(`(?i)hey bot`)}
		return s
	}
	for text, want := range map[string]struct {
		command string // with its arguments; "": none
		text    string // what claude reads
	}{
		"claw /status now":        {"status now", "claw /status now"},
		"Claw, /status":           {"status", "Claw, /status"},
		"CLAW:/status":            {"", "CLAW:/status"},
		"claw: /status":           {"status", "claw: /status"},
		"claw\n/status":           {"status", "claw\n/status"},
		"hey bot /status":         {"status", "hey bot /status"},
		"[17:35] claw /status":    {"status", "[17:35] claw /status"},
		"/status claw":            {"status", "/status claw"},
		"/status, claw?":          {"status", "/status, claw?"},
		"/status of claw":         {"status of claw", "/status of claw"},
		"claw stop!":              {"stop", "claw stop!"},
		"stop! claw":              {"stop", "stop! claw"},
		"claw, 2":                 {"", "claw, 2"},
		"claw /think high why":    {"", "why"},
		"claw /deploy it":         {"", deploy + "it"},
		"claw /new tell me":       {"", "tell me"},
		"/new of claw":            {"", "of claw"},
		"claw":                    {"", "claw"},
		"claw,":                   {"", "claw,"},
		"claws /roll":             {"", "claws /roll"},
		"claw what is /status?":   {"", "claw what is /status?"},
		"do not stop! claw":       {"", "do not stop! claw"},
		"hey bot and claw do it?": {"", "hey bot and claw do it?"},
	} {
		j := &journal{}
		submit(t, j, named, inGroup("g", event("owner", chat.Message{ID: "m", Text: text, MentionsSelf: true})))
		m := j.accepted[0].Message
		got := ""
		if m.Command != nil {
			got = strings.TrimSpace(m.Command.Name + " " + m.Command.Args)
		}
		if got != want.command || m.Text != want.text {
			t.Errorf("%q is the command %q and the text %q, want %q and %q", text, got, m.Text, want.command, want.text)
		}
	}
}

// A message that is not for the agent is kept for the next one that is; what a session must not answer is recorded.
// Behaviour: send-policy, prompt-thread.
func TestWhatStartsNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		chatter := inGroup("g", event("bob", chat.Message{ID: "m", Text: "lunch?", Media: []chat.Media{{Kind: chat.Image}}}))
		for _, want := range []chat.Verdict{chat.Accepted, chat.Duplicate} {
			if verdict := submit(t, j, talkative, chatter); verdict != want {
				t.Errorf("%v, want %v", verdict, want)
			}
		}
		want := domain.Passive{
			EventID: "e", Channel: "tg", Session: "tg:group:g", Limit: 20,
			Note: &domain.Note{Kind: domain.NoteHistory, MessageID: "m", At: now.Add(-time.Minute), Sender: "bob", Text: "lunch? <media:image>"},
		}
		if diff := cmp.Diff([]domain.Passive{want}, j.passive); diff != "" || len(j.accepted) != 0 {
			t.Error(diff, j.accepted)
		}
		if verdict := submit(t, &journal{}, talkative, inGroup("quiet", says("bob", "lunch?"))); verdict != chat.Rejected {
			t.Errorf("without a history: %v", verdict)
		}
		j = &journal{}
		begun := inGroup("quiet", event("bob", chat.Message{Text: "lunch?", ThreadStarter: "bread"}))
		if verdict := submit(t, j, talkative, begun); verdict != chat.Accepted || j.passive[0].Starter != "bread" || j.passive[0].Limit != 0 {
			t.Errorf("what a thread began with, without a history: %v, %+v", verdict, j.passive)
		}

		j = &journal{chosen: map[string]domain.Overrides{"tg:owner": {Send: "deny"}}}
		j.run(t)
		if verdict := submit(t, j, talkative, says("owner", "hi")); verdict != chat.Accepted || len(j.accepted) != 0 {
			t.Errorf("a denied session: %v, %v", verdict, j.accepted)
		}
		recorded := domain.Passive{EventID: "e", Channel: "tg", Session: "tg:owner", Transcript: []chat.TranscriptEntry{{Role: chat.User, Text: "hi", At: now}}}
		if diff := cmp.Diff([]domain.Passive{recorded}, j.passive); diff != "" {
			t.Error(diff)
		}
		synctest.Wait()
		if len(j.received) != 1 || j.received[0].Session != "tg:owner" {
			t.Errorf("observed of a denied session: %+v", j.received)
		}
		command := says("owner", "/status")
		command.ID = "f"
		if verdict := submit(t, j, talkative, command); verdict != chat.Accepted || len(j.accepted) != 1 {
			t.Errorf("a command in a denied session: %v", verdict)
		}
		compact := event("owner", chat.NativeCommand{Name: "compact"})
		compact.ID = "g"
		if verdict := submit(t, j, talkative, compact); verdict != chat.Accepted || len(j.accepted) != 2 {
			t.Errorf("a compaction in a denied session: %v", verdict)
		}
		reset := says("owner", "/new opus tell me")
		reset.ID = "i"
		if submit(t, j, talkative, reset); len(j.accepted) != 3 || !j.accepted[2].Reset || j.accepted[2].Model == nil || *j.accepted[2].Model != "opus" || j.accepted[2].Lane != domain.ControlLane {
			t.Errorf("a reset in a denied session: %+v", j.accepted[2:])
		}
		plugin := domain.Message{Channel: "tg", Chat: chat.Chat{ID: "owner", Kind: chat.Direct}, Sender: chat.Sender{ID: "owner", IsBot: true}, Text: "the weather"}
		if _, err := boxOf(j, talkative).Turn(t.Context(), domain.KeyPluginTurn.Of("h"), "", plugin); err != nil || len(j.accepted) != 4 || !j.accepted[3].Message.Silent {
			t.Errorf("a plugin's turn in a denied session speaks: %v", err)
		}
		plugin.Thread = "7"
		if _, err := boxOf(j, talkative).Turn(t.Context(), domain.KeyPluginTurn.Of("j"), "", plugin); err != nil || j.accepted[3].Parent != "" || j.accepted[4].Parent != "tg:owner" {
			t.Errorf("a plugin's turn in a thread: %+v, %v", j.accepted[4:], err)
		}
		broadcast := says("owner", "hi")
		broadcast.Chat = chat.Chat{ID: "g", Kind: chat.Broadcast}
		broadcast.Body = chat.Message{Text: "hi", MentionsSelf: true}
		j = &journal{}
		if submit(t, j, talkative, broadcast); len(j.accepted) != 0 || len(j.passive) != 1 {
			t.Error("the config's rule is not applied")
		}
	})
}

// A network's direct chat may have an id of its own, and its person several. What a plugin, or the host, has done there belongs
// to the person's session.
// Behaviour: session-direct.
func TestTurnsAreOfThePersonsSession(t *testing.T) {
	t.Parallel()
	anna := domain.DirectChat{Chat: "dm", Person: []chat.UserID{"7@lid", "+7"}}
	j := &journal{direct: map[string]domain.DirectChat{"tg:dm": anna, "tg:7@lid": anna, "tg:+7": anna}}
	in := boxOf(j, func(string) config.Settings { return config.Settings{} })
	for n, test := range []struct {
		chat   chat.Chat
		thread chat.ThreadID
		want   string
		sender chat.Sender
	}{
		{chat.Chat{ID: "dm", Kind: chat.Direct}, "", "tg:7@lid", chat.Sender{ID: "7@lid", Aliases: []chat.UserID{"+7"}}},
		{chat.Chat{ID: "+7", Kind: chat.Direct}, "", "tg:7@lid", chat.Sender{ID: "7@lid", Aliases: []chat.UserID{"+7"}}},
		{chat.Chat{ID: "dm", Kind: chat.Direct}, "t", "tg:7@lid:thread:t", chat.Sender{ID: "7@lid", Aliases: []chat.UserID{"+7"}}},
		{chat.Chat{ID: "new", Kind: chat.Direct}, "", "tg:new", chat.Sender{ID: "new"}},
		{chat.Chat{ID: "dm", Kind: chat.Group}, "", "tg:group:dm", chat.Sender{ID: "dm"}},
	} {
		key, err := in.Session(t.Context(), "", chat.Address{Channel: "tg", Chat: test.chat.ID, Thread: test.thread}, test.chat)
		if err != nil || key != test.want {
			t.Errorf("%d: the session is %q, %v; want %q", n, key, err, test.want)
		}
		m := domain.Message{Channel: "tg", Chat: test.chat, Thread: test.thread, Text: "the weather"}
		if _, err := in.Turn(t.Context(), domain.KeyPluginTurn.Of(n), "", m); err != nil {
			t.Fatal(err)
		}
		got := j.accepted[n]
		if got.Session != test.want {
			t.Errorf("%d: the turn is of %q, want %q", n, got.Session, test.want)
		}
		if diff := cmp.Diff(test.sender, got.Message.Sender); diff != "" {
			t.Errorf("%d: (-want +got)\n%s", n, diff)
		}
		if parent := map[bool]string{true: "tg:7@lid"}[test.thread != ""]; got.Parent != parent {
			t.Errorf("%d: the parent is %q, want %q", n, got.Parent, parent)
		}
		if got.Message.Authority != chat.Owner {
			t.Errorf("%d: the turn has the authority %v", n, got.Message.Authority)
		}
	}
}

// What a person says to a question of the heartbeat's own conversation, too late for it, is for their conversation.
// Behaviour: heartbeat-session.
func TestWordsForTheHeartbeatAreForThePersonsSession(t *testing.T) {
	t.Parallel()
	j := &journal{}
	in := boxOf(j, func(string) config.Settings { return config.Settings{} })
	caller := chat.Caller{Address: chat.Address{Channel: "tg", Chat: "7"}, Kind: chat.Direct, Sender: chat.Sender{ID: "7"}}
	if err := in.Tell(t.Context(), domain.KeyLateAnswer.Of(1), "heartbeat:tg:7", caller, "the blue one"); err != nil {
		t.Fatal(err)
	}
	if got := j.accepted[0]; got.Session != "tg:7" || got.Message.Apart {
		t.Errorf("accepted %+v", got)
	}
}

// A turn whose text is not trusted belongs to the same session as any other of the chat, but to no person.
// Behaviour: turn-untrusted.
func TestAnUntrustedTurnIsNobodys(t *testing.T) {
	t.Parallel()
	anna := domain.DirectChat{Chat: "dm", Person: []chat.UserID{"7@lid", "+7"}}
	j := &journal{direct: map[string]domain.DirectChat{"tg:dm": anna}}
	in := boxOf(j, func(string) config.Settings { return config.Settings{} })
	for n, test := range []struct {
		chat         chat.Chat
		thread       chat.ThreadID
		want, parent string
	}{
		{chat.Chat{ID: "dm", Kind: chat.Direct}, "", "tg:7@lid", ""},
		{chat.Chat{ID: "dm", Kind: chat.Direct}, "t", "tg:7@lid:thread:t", "tg:7@lid"},
		{chat.Chat{ID: "club", Kind: chat.Group}, "", "tg:group:club", ""},
	} {
		m := domain.Message{
			Channel: "tg", Chat: test.chat, Thread: test.thread, Text: "/new [owner] the weather", Authority: chat.Other,
			Sender: chat.Sender{DisplayName: "webhook", IsBot: true},
		}
		if _, err := in.Turn(t.Context(), domain.KeyPluginTurn.Of(n), "", m); err != nil {
			t.Fatal(err)
		}
		got := j.accepted[n]
		if got.Session != test.want || got.Parent != test.parent || got.Lane != domain.TurnLane || got.Reset {
			t.Errorf("%d: accepted %+v", n, got)
		}
		if diff := cmp.Diff(m.Sender, got.Message.Sender); diff != "" || got.Message.Authority != chat.Other || got.Message.Command != nil {
			t.Errorf("%d: accepted %+v (-want +got)\n%s", n, got.Message, diff)
		}
		if got.MaxWaiting != 1000 {
			t.Errorf("%d: it may wait behind %d", n, got.MaxWaiting)
		}
	}
}

// A message that claude awaits is its answer, also where it would have to address the agent. A command may be another bot's.
// Behaviour: ask-reason.
func TestWhatIsAwaitedNeedNotAddressTheAgent(t *testing.T) {
	t.Parallel()
	elsewhere := inGroup("g", says("owner", "lunch?"))
	elsewhere.Thread = "7"
	awaited := domain.Question{
		ID: "ABCDE", Session: "tg:owner", Messages: []domain.QuestionMessage{{To: chat.Address{Channel: "tg", Chat: "owner"}}}, State: domain.QuestionOpen,
		Body: []byte(`{"about": "tool", "tool": "Bash", "reasons": [{"who": "tg:owner", "at": {"Channel": "tg", "Chat": "g"}, "since": "2026-03-15T14:00:00Z"}]}`),
	}
	for name, test := range map[string]struct {
		event chat.Event
		taken bool
	}{
		"awaited":            {inGroup("g", says("owner", "there is no flour")), true},
		"not awaited":        {elsewhere, false},
		"of another person":  {inGroup("g", says("bob", "there is no flour")), false},
		"forwarded":          {inGroup("g", event("owner", chat.Message{Text: "no flour", Forwarded: &chat.Forward{From: "bob"}})), false},
		"with a file":        {inGroup("g", event("owner", chat.Message{Text: "no flour", Media: []chat.Media{{Kind: chat.Image}}})), false},
		"a command":          {inGroup("g", says("owner", "/roll 2d6")), false},
		"a new conversation": {inGroup("g", says("owner", "/new bread")), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := &journal{questions: []domain.Question{awaited}}
				j.run(t)
				if verdict := submit(t, j, talkative, test.event); verdict != chat.Accepted {
					t.Error(verdict)
				}
				synctest.Wait()
				if taken := len(j.accepted) == 1; taken != test.taken || taken == (len(j.passive) == 1) || taken != (len(j.received) == 1) {
					t.Fatalf("accepted %+v, passive %+v, received %+v", j.accepted, j.passive, j.received)
				}
				if test.taken && (j.accepted[0].Lane != domain.ControlLane || j.accepted[0].Message.Command.Name != "answer" || j.accepted[0].Message.Authority != chat.Owner) {
					t.Errorf("%+v", j.accepted[0])
				}
			})
		})
	}
}

// Behaviour: observe, ask-no-approval-by-words.
func TestMessagesWhileATurnRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{answer: domain.Acceptance{Running: true}, questions: []domain.Question{numbered}}
		j.run(t)
		submit(t, j, talkative, says("owner", "hi"))
		synctest.Wait()
		if len(j.received) != 1 || j.received[0].Authority != chat.Owner || j.received[0].Session != "tg:owner" {
			t.Errorf("observed %+v", j.received)
		}
		if diff := cmp.Diff([]string{"unread:ABCDE"}, j.posted); diff != "" {
			t.Error(diff)
		}
		j = &journal{questions: []domain.Question{numbered}} // the message has ended the turn
		j.run(t)
		submit(t, j, talkative, says("owner", "hi"))
		synctest.Wait()
		if len(j.posted) != 0 {
			t.Errorf("posted %v", j.posted)
		}
	})
}

// A session's own activation goes before the config's, and directives count only in messages to the agent.
// Behaviour: group-activation, stop-word, directive-authority.
func TestActivation(t *testing.T) {
	t.Parallel()
	always := map[string]domain.Overrides{"tg:group:g": {Activation: "always"}}
	j := &journal{chosen: always}
	if submit(t, j, talkative, inGroup("g", says("owner", "/think high about it"))); len(j.accepted) != 1 {
		t.Fatal("the message is not answered")
	}
	if m := j.accepted[0].Message; m.Overrides != (domain.Overrides{}) || m.Text != "/think high about it" {
		t.Errorf("a directive that is not for the agent: %+v", m)
	}
	j = &journal{chosen: always}
	submit(t, j, talkative, inGroup("g", event("owner", chat.Message{Text: "/think high about it", MentionsSelf: true})))
	if m := j.accepted[0].Message; m.Overrides.Effort != "high" || m.Raw != "/think high about it" {
		t.Errorf("a directive for the agent: %+v", m)
	}
	j = &journal{chosen: always}
	submit(t, j, talkative, inGroup("g", says("owner", "stop!")))
	if m := j.accepted[0].Message; m.Command != nil && m.Command.Name == "stop" {
		t.Errorf("a word to stop that is not for the agent: %+v", m)
	}
	j = &journal{chosen: always}
	submit(t, j, talkative, inGroup("g", event("owner", chat.Message{Text: "stop!", MentionsSelf: true})))
	if m := j.accepted[0].Message; m.Command == nil || m.Command.Name != "stop" {
		t.Errorf("a word to stop for the agent: %+v", m)
	}
}
