package conversation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// chats are the first ids of chats that have moved.
type chats map[chat.ID]chat.ID

func (c chats) Origin(_ string, id chat.ID) chat.ID {
	if first, ok := c[id]; ok {
		return first
	}
	return id
}

// The owner whom the config names by a telephone number is the one who writes under another id.
// Behaviour: session-direct.
func TestOwned(t *testing.T) {
	t.Parallel()
	r := conversation.NewResolver(&config.Config{Settings: config.Settings{Access: config.Access{Owners: []string{"whatsapp:+7"}}}}, plugins.New(nil), chats{})
	anna := chat.Sender{ID: "7@lid", Aliases: []chat.UserID{"+7"}}
	for name, test := range map[string]struct {
		message domain.Message
		want    bool
	}{
		"their own message":                 {domain.Message{Authority: chat.Owner}, true},
		"of the command line":               {domain.Message{Channel: "cli", Authority: chat.Owner, Origin: domain.OriginPlugin, Chat: chat.Chat{Kind: chat.Direct}}, true},
		"another person's":                  {domain.Message{Authority: chat.Authorised, Sender: anna}, false},
		"a job's of theirs in a group":      {domain.Message{Authority: chat.Owner, Origin: domain.OriginJob, Sender: anna, Chat: chat.Chat{Kind: chat.Group}}, true},
		"a job's of who is no owner now":    {domain.Message{Authority: chat.Owner, Origin: domain.OriginJob, Sender: chat.Sender{ID: "8"}, Chat: chat.Chat{Kind: chat.Direct}}, false},
		"a plugin's in their chat":          {domain.Message{Authority: chat.Owner, Origin: domain.OriginPlugin, Sender: anna, Chat: chat.Chat{Kind: chat.Direct}}, true},
		"a heartbeat in their chat":         {domain.Message{Authority: chat.Owner, Origin: domain.OriginHeartbeat, Sender: anna, Chat: chat.Chat{Kind: chat.Direct}}, true},
		"a plugin's in another's chat":      {domain.Message{Authority: chat.Owner, Origin: domain.OriginPlugin, Sender: chat.Sender{ID: "8"}, Chat: chat.Chat{Kind: chat.Direct}}, false},
		"an untrusted one in their chat":    {domain.Message{Authority: chat.Other, Origin: domain.OriginPlugin, Chat: chat.Chat{Kind: chat.Direct}}, false},
		"of the command line, untrusted":    {domain.Message{Channel: "cli", Authority: chat.Other, Origin: domain.OriginPlugin, Chat: chat.Chat{Kind: chat.Direct}}, false},
		"a plugin's in a group":             {domain.Message{Authority: chat.Owner, Origin: domain.OriginPlugin, Sender: anna, Chat: chat.Chat{Kind: chat.Group}}, false},
		"a plugin's on a different network": {domain.Message{Channel: "signal", Authority: chat.Owner, Origin: domain.OriginPlugin, Sender: anna, Chat: chat.Chat{Kind: chat.Direct}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.message.Channel == "" {
				test.message.Channel = "whatsapp"
			}
			if got := r.Message(test.message, domain.Session{}).Owned; got != test.want {
				t.Errorf("an owner is behind it: %t", got)
			}
		})
	}
}

// A message's directives go before the session's choices, these before the channel's block, and that before the rest of the config.
// A permission mode that a person chose holds for owners only.
func TestSettingsPrecedence(t *testing.T) {
	t.Parallel()
	c := &config.Config{
		Agent: config.Agent{
			Name: "Claw", Claude: config.Claude{Model: "sonnet", Effort: "low", PermissionMode: "default", Aliases: map[string]string{"big": "opus"}},
		},
		Send: config.Send{Default: "allow"},
		Settings: config.Settings{
			Reply:  config.Reply{Verbose: "off", Reasoning: "stream", Usage: "full"},
			Queue:  config.Queue{Mode: "steer", Cap: 20},
			Access: config.Access{RequireMention: true},
		},
	}
	r := conversation.NewResolver(c, plugintest.Channels(map[string]chat.Limits{"tg": {Text: chat.TextLimit{Max: 4096, Unit: chat.UTF16}}}), chats{})
	s := domain.Session{Key: "tg:1", Overrides: domain.Overrides{Model: "big", Verbose: "on", Permission: "plan", Queue: domain.QueueOverrides{Mode: domain.Collect}}}
	m := domain.Message{
		Channel: "tg", Chat: chat.Chat{ID: "1", Kind: chat.Direct}, Authority: chat.Owner,
		Overrides: domain.Overrides{Verbose: "full", Effort: "max", Queue: domain.QueueOverrides{Cap: 3}},
	}
	got := r.Message(m, s)
	if got.Model != "opus" || got.Effort != "max" || got.Verbose != "full" || got.Reasoning != "stream" || got.Usage != "full" || got.PermissionMode != "plan" {
		t.Errorf("resolved to %+v", got)
	}
	if got.Queue.Mode != domain.Collect || got.Queue.Cap != 3 || got.Text.Max != 4096 || got.Speech != "" || got.Activation != "" || got.Send != "allow" {
		t.Errorf("resolved to %+v", got)
	}
	m.Authority, m.Overrides.Model = chat.Authorised, conversation.DefaultModel
	if got := r.Message(m, s); got.PermissionMode != "default" || got.Model != "sonnet" || got.Caller.Authority != chat.Authorised {
		t.Errorf("of another person: resolved to %+v", got)
	}
	m.Channel = "silent"
	if got := r.Message(m, s); got.Text.Max != 2000 {
		t.Errorf("of a channel without known limits, a message holds %+v", got.Text)
	}
}

// Plugins are told the agent whose session it is, and never another one's workspace. What it writes is signed by it, where there are
// several.
// Behaviour: plugin-agent, agent-shown.
func TestCallersHaveTheAgentOfTheirSession(t *testing.T) {
	t.Parallel()
	r := conversation.NewResolver(&config.Config{
		Agent:  config.Agent{Label: session.MainAgent, Workspace: "/main"},
		Agents: []*config.Agent{{Label: "server", Workspace: "/server"}},
	}, plugins.New(nil), chats{})
	m := domain.Message{Channel: "tg", Chat: chat.Chat{ID: "1", Kind: chat.Direct}, Sender: chat.Sender{ID: "anna"}}
	for key, want := range map[string][2]string{
		"tg:1":              {"main", "/main"},
		"agent:server:tg:1": {"server", "/server"},
		"agent:gone:tg:1":   {"gone", ""},
	} {
		all := r.Message(m, domain.Session{Key: key})
		c := all.Caller
		if got := [2]string{c.Agent, c.Workspace}; got != want || c.Sender.ID != "anna" || all.Author != want[0] {
			t.Errorf("in %s the caller has %v, want %v: %+v, written by %q", key, got, want, c, all.Author)
		}
	}
	alone := conversation.NewResolver(&config.Config{Agent: config.Agent{Label: session.MainAgent}}, plugins.New(nil), chats{})
	if by := alone.Message(m, domain.Session{Key: "tg:1"}).Author; by != "" {
		t.Errorf("the only agent signs as %q", by)
	}
}

// Whether the agent may be silent, and what is sent of its answer, can differ by the kind of chat, and the channel's own word
// counts more than the top level's.
// Behaviour: silent, visible.
func TestSilenceByKindOfChat(t *testing.T) {
	t.Parallel()
	yes, no, tool, all := true, false, "tool", "answer"
	by := func(kinds map[string]config.ReplyIn) config.Reply {
		return config.Reply{Silent: "groups", Visible: "answer", Chat: kinds}
	}
	for name, test := range map[string]struct {
		reply  config.Reply
		direct [2]any
		group  [2]any
		cast   [2]any
	}{
		"as everywhere": {by(nil), [2]any{false, all}, [2]any{true, all}, [2]any{true, all}},
		"never":         {config.Reply{Silent: "never", Visible: tool}, [2]any{false, tool}, [2]any{false, tool}, [2]any{false, tool}},
		"the other way": {
			by(map[string]config.ReplyIn{"direct": {Silent: &yes, Visible: &tool}, "group": {Silent: &no}}),
			[2]any{true, tool},
			[2]any{false, all},
			[2]any{true, all},
		},
		"groups by the tool": {
			config.Reply{Silent: "never", Visible: tool, Chat: map[string]config.ReplyIn{"direct": {Visible: &all}, "channel": {Silent: &yes}}},
			[2]any{false, all},
			[2]any{false, tool},
			[2]any{true, tool},
		},
	} {
		r := conversation.NewResolver(&config.Config{Settings: config.Settings{Reply: test.reply, Access: config.Access{RequireMention: true}}}, plugins.New(nil), chats{})
		for kind, want := range map[chat.Kind][2]any{chat.Direct: test.direct, chat.Group: test.group, chat.Broadcast: test.cast} {
			c := r.Session(chat.Caller{Address: chat.Address{Channel: "tg", Chat: "1"}, Kind: kind}, domain.Session{})
			if got := [2]any{c.MayBeSilent, c.Visible}; got != want || c.Listening != (c.MayBeSilent && kind == chat.Direct) {
				t.Errorf("%s, %v: %v, want %v; listening %t", name, kind, got, want, c.Listening)
			}
		}
	}
}

// Whether a group is all heard or only where the agent is mentioned is said by the session, by the group's block under the id that
// it has or had first, or by the channel.
func TestActivation(t *testing.T) {
	t.Parallel()
	no := false
	c := &config.Config{Settings: config.Settings{
		Reply:  config.Reply{Silent: "groups"},
		Access: config.Access{RequireMention: true, Group: map[string]config.Group{"old": {RequireMention: &no}, "plain": {}}},
	}}
	r := conversation.NewResolver(c, plugins.New(nil), chats{"new": "old"})
	for name, test := range map[string]struct {
		group  chat.ID
		chosen string
		want   string
	}{
		"a group that is not listed":     {group: "other", want: "mention"},
		"a listed one that says nothing": {group: "plain", want: "mention"},
		"a listed one":                   {group: "old", want: "always"},
		"a listed one that has moved":    {group: "new", want: "always"},
		"chosen":                         {group: "old", chosen: "mention", want: "mention"},
		"chosen to hear all":             {group: "other", chosen: "always", want: "always"},
	} {
		got := r.Session(chat.Caller{Address: chat.Address{Channel: "tg", Chat: test.group}, Kind: chat.Group}, domain.Session{Overrides: domain.Overrides{Activation: test.chosen}})
		if got.Activation != test.want || got.Listening != (test.want == "always") {
			t.Errorf("%s: %s, listening %t", name, got.Activation, got.Listening)
		}
	}
}

// How the messages of an answer are made depends on what the channel can and what the config says.
// Behaviour: chunks.
func TestRule(t *testing.T) {
	t.Parallel()
	limit := chat.TextLimit{Max: 4096, Unit: chat.UTF16}
	for _, tt := range []struct {
		limit    chat.TextLimit
		settings config.Reply
		want     chunk.Rule
	}{
		{limit, config.Reply{ChunkMode: "length"}, chunk.Rule{Limit: limit}},
		{limit, config.Reply{TextLimit: 1000, MaxLines: 17, ChunkMode: "newline"}, chunk.Rule{Limit: chat.TextLimit{Max: 1000, Unit: chat.UTF16}, Lines: 17, Paragraphs: true}},
		{limit, config.Reply{TextLimit: 5000}, chunk.Rule{Limit: limit}},
		{chat.TextLimit{}, config.Reply{TextLimit: 5000}, chunk.Rule{Limit: chat.TextLimit{Max: 5000, Unit: chat.Runes}}},
	} {
		if diff := cmp.Diff(tt.want, (&conversation.Conversation{Text: tt.limit, Settings: config.Settings{Reply: tt.settings}}).Rule()); diff != "" {
			t.Error(diff)
		}
	}
}

// What the host says keeps to the limit of the chat's messages. The ways in which answers are cut else are not for it.
func TestANoticeIsCutAtTheLimit(t *testing.T) {
	t.Parallel()
	c := &conversation.Conversation{Settings: config.Settings{Reply: config.Reply{TextLimit: 8, MaxLines: 1, ChunkMode: "newline"}}}
	for text, want := range map[string][]string{"": nil, "one\n\ntwo": {"one\n\ntwo"}, "three four": {"three", "four"}} {
		var said []string
		for _, p := range c.Notice(text) {
			said = append(said, p.Text)
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// A message is edited for as long as its network does in the kind of chat where that is shortest, but for a margin.
func TestEditable(t *testing.T) {
	t.Parallel()
	limits := func(window time.Duration) chat.Limits { return chat.Limits{Edit: chat.EditLimits{Window: window}} }
	r := conversation.NewResolver(&config.Config{}, plugintest.Channels(map[string]chat.Limits{"short": limits(time.Minute), "long": limits(time.Hour), "endless": {}}), chats{})
	for _, test := range []struct {
		channel string
		age     time.Duration
		want    bool
	}{
		{"short", 50 * time.Second, true},
		{"short", 55 * time.Second, false},
		{"long", 59 * time.Minute, true},
		{"long", 59*time.Minute + 40*time.Second, false},
		{"endless", 1000 * time.Hour, true},
		{"unknown", 1000 * time.Hour, true},
	} {
		sentAt := time.Now().Add(-test.age)
		c := r.Message(domain.Message{Channel: test.channel}, domain.Session{})
		if now, resolved := r.Editable(test.channel, sentAt), c.Editable(sentAt); now != test.want || resolved != test.want {
			t.Errorf("%s after %v: editable %t, and %t by the conversation", test.channel, test.age, now, resolved)
		}
	}
}

// several has the agents main, backend and open, routes and groups.
func several() *conversation.Resolver {
	return conversation.NewResolver(&config.Config{
		Agent: config.Agent{Label: "main", OpenTo: config.OpenToOwners, Claude: config.Claude{Model: "sonnet", Effort: "high"}},
		Agents: []*config.Agent{
			{Label: "backend", OpenTo: config.OpenToOwners, Claude: config.Claude{Model: "opus"}},
			{Label: "allowed", OpenTo: config.OpenToAllowed},
			{Label: "open", OpenTo: config.OpenToEveryone},
		},
		Routes: []config.Route{
			{Chat: "-1", Thread: "7", Agent: "open"},
			{User: "telegram:bob", Kind: "direct", Agent: "backend"},
		},
		Settings: config.Settings{Access: config.Access{Group: map[string]config.Group{
			"-1": {Agent: "backend", Model: "haiku", Effort: "low", SystemPrompt: "Rhyme.", Tools: config.PatternsOf("Read")},
		}}},
	}, plugins.New(nil), chats{"-100": "-1"})
}

// Behaviour: agent-route.
func TestRouted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		to     chat.Address
		kind   chat.Kind
		sender chat.UserID
		want   string
	}{
		"nothing fits":             {chat.Address{Channel: "telegram", Chat: "anna"}, chat.Direct, "anna", "main"},
		"a person":                 {chat.Address{Channel: "telegram", Chat: "bob"}, chat.Direct, "bob", "backend"},
		"the person in a group":    {chat.Address{Channel: "telegram", Chat: "-2"}, chat.Group, "bob", "main"},
		"a group":                  {chat.Address{Channel: "telegram", Chat: "-1"}, chat.Group, "anna", "backend"},
		"a topic":                  {chat.Address{Channel: "telegram", Chat: "-1", Thread: "7"}, chat.Group, "anna", "open"},
		"another topic":            {chat.Address{Channel: "telegram", Chat: "-1", Thread: "8"}, chat.Group, "anna", "backend"},
		"a group that has moved":   {chat.Address{Channel: "telegram", Chat: "-100"}, chat.Group, "anna", "backend"},
		"its topic":                {chat.Address{Channel: "telegram", Chat: "-100", Thread: "7"}, chat.Group, "anna", "open"},
		"a direct chat of that id": {chat.Address{Channel: "telegram", Chat: "-1"}, chat.Direct, "-1", "main"},
	} {
		if got := several().Routed(test.to, test.kind, chat.Sender{ID: test.sender}); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// Behaviour: agent-open.
func TestMayChoose(t *testing.T) {
	t.Parallel()
	r := several()
	for authority, want := range map[chat.Authority]string{
		chat.Owner: "main backend allowed open ", chat.Authorised: "backend allowed open ", chat.Other: "open ",
	} {
		caller := chat.Caller{Address: chat.Address{Channel: "telegram", Chat: "-1"}, Kind: chat.Group, Authority: authority}
		got := ""
		for _, a := range r.Agents() {
			if r.MayChoose(a, caller) {
				got += a.Label + " "
			}
		}
		if got != want { // the group is routed to backend
			t.Errorf("%v may choose %s, want %s", authority, got, want)
		}
		if _, ok := r.Chosen(" Backend ", caller); ok != (authority >= chat.Authorised) {
			t.Errorf("%v may choose backend: %v", authority, ok)
		}
		if a, ok := r.Chosen("default", caller); a != nil || ok != (authority >= chat.Authorised) {
			t.Errorf("%v may choose the default: %v", authority, ok)
		}
	}
}

// Behaviour: group-settings, agent-gone.
func TestTheSettingsOfAGroupAndItsAgent(t *testing.T) {
	t.Parallel()
	m := domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "-1", Kind: chat.Group}, Thread: "7"}
	c := several().Message(m, domain.Session{Key: "agent:backend:telegram:group:-1:thread:7"})
	if c.Agent.Label != "backend" || c.Model != "haiku" || c.Effort != "low" || c.SystemPrompt != "Rhyme." || c.Tools != config.PatternsOf("Read") || c.Missing != "" {
		t.Errorf("in the group: %+v", c)
	}
	c = several().Message(m, domain.Session{Key: "agent:backend:telegram:group:-1", Overrides: domain.Overrides{Model: "sonnet", Effort: "max"}})
	if c.Model != "sonnet" || c.Effort != "max" {
		t.Errorf("people have chosen sonnet and max, and get %s, %s", c.Model, c.Effort)
	}
	m.Overrides.Model = conversation.DefaultModel
	if c = several().Message(m, domain.Session{Key: "agent:backend:telegram:group:-1"}); c.Model != "haiku" {
		t.Errorf("the default in the group is %s", c.Model)
	}
	direct := domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "anna", Kind: chat.Direct}}
	if c = several().Message(direct, domain.Session{Key: "agent:backend:telegram:anna"}); c.Model != "opus" || c.Effort != "" || c.SystemPrompt != "" {
		t.Errorf("in a direct chat: %+v", c)
	}
	if c = several().Message(direct, domain.Session{Key: "telegram:anna"}); c.Agent.Label != "main" || c.Model != "sonnet" || c.Effort != "high" {
		t.Errorf("main: %+v", c)
	}
	if c = several().Message(direct, domain.Session{Key: "agent:gone:telegram:anna"}); c.Missing != "gone" || c.Agent == nil {
		t.Errorf("an agent that the config does not have: %+v", c)
	}
}
