package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

var (
	direct = chat.Chat{ID: "c1", Kind: chat.Direct}
	group  = chat.Chat{ID: "-100:5", Kind: chat.Group}
	john   = chat.Sender{ID: "123", Aliases: []chat.UserID{"@john", "49%1"}}
)

// Behaviour: session-key, session-scope, session-identity.
func TestKey(t *testing.T) {
	t.Parallel()
	links := session.Links{
		"anna":   {"telegram:123", "discord:456"},
		"mo:re%": {"whatsapp:49%1"},
	}
	tests := []struct {
		name    string
		scope   session.Scope
		channel string
		chat    chat.Chat
		thread  chat.ThreadID
		sender  chat.Sender
		key     string
		typ     session.Type
	}{
		{"main", session.Main, "telegram", direct, "", john, "main", session.Direct},
		{"default scope", "", "telegram", direct, "", john, "telegram:123", session.Direct},
		{"unknown scope", "per-moon", "telegram", direct, "", john, "telegram:123", session.Direct},
		{"per channel and peer", session.PerChannelPeer, "telegram", direct, "", john, "telegram:123", session.Direct},
		{"per peer, linked", session.PerPeer, "telegram", direct, "", john, "peer:anna", session.Direct},
		{"per peer, linked by an alias", session.PerPeer, "whatsapp", direct, "", john, "peer:mo%3Are%25", session.Direct},
		{"per peer, not linked", session.PerPeer, "webchat", direct, "", john, "peer:webchat:123", session.Direct},
		{"per peer, linked on another channel only", session.PerPeer, "discord", direct, "", john, "peer:discord:123", session.Direct},
		{"command line under main", session.Main, "cli", direct, "", john, "cli:123", session.Direct},
		{"command line under per-peer", session.PerPeer, "cli", direct, "", john, "cli:123", session.Direct},
		{"encoded user", session.PerChannelPeer, "whatsapp", direct, "", chat.Sender{ID: "49:2%@s"}, "whatsapp:49%3A2%25@s", session.Direct},
		{"group", session.PerChannelPeer, "telegram", group, "", john, "telegram:group:-100%3A5", session.Group},
		{"group under main", session.Main, "telegram", group, "", john, "telegram:group:-100%3A5", session.Group},
		{"group under per-peer", session.PerPeer, "telegram", group, "", john, "telegram:group:-100%3A5", session.Group},
		{"broadcast channel", session.Main, "telegram", chat.Chat{ID: "7", Kind: chat.Broadcast}, "", john, "telegram:group:7", session.Group},
		{"kind not known", session.Main, "telegram", chat.Chat{ID: "7"}, "", john, "telegram:group:7", session.Group},
		{"thread of a group", session.Main, "discord", group, "t:1", john, "discord:group:-100%3A5:thread:t%3A1", session.Thread},
		{"thread of a direct chat", session.PerChannelPeer, "telegram", direct, "9", john, "telegram:123:thread:9", session.Thread},
		{"thread of a direct chat under main", session.Main, "telegram", direct, "9", john, "telegram:123:thread:9", session.Thread},
		{"thread of a direct chat under per-peer", session.PerPeer, "telegram", direct, "9", john, "telegram:123:thread:9", session.Thread},
		{"user called group", session.PerChannelPeer, "x", direct, "5", chat.Sender{ID: "group"}, "x:group:thread:5", session.Thread},
		{"group called thread", session.PerChannelPeer, "x", chat.Chat{ID: "thread", Kind: chat.Group}, "5", john, "x:group:thread:thread:5", session.Thread},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := session.Of(tt.scope, tt.channel, tt.chat, tt.thread, tt.sender, links)
			if got := want.Key(); got != tt.key {
				t.Errorf("Key = %q, want %q", got, tt.key)
			}
			name, err := session.Parse(tt.key)
			if err != nil {
				t.Fatal(err)
			}
			if name != want {
				t.Errorf("Parse = %+v, want %+v", name, want)
			}
			if got := name.Type(); got != tt.typ {
				t.Errorf("Type = %q, want %q", got, tt.typ)
			}
		})
	}
}

// Behaviour: agent-session.
func TestKeyOfAnotherAgent(t *testing.T) {
	t.Parallel()
	base := session.Of(session.PerChannelPeer, "telegram", group, "7", john, nil)
	tests := []struct {
		name session.Name
		key  string
	}{
		{base, "telegram:group:-100%3A5:thread:7"},
		{base.With("main"), "telegram:group:-100%3A5:thread:7"},
		{base.With("backend"), "agent:backend:telegram:group:-100%3A5:thread:7"},
		{base.With("backend").With("docs"), "agent:docs:telegram:group:-100%3A5:thread:7"},
		{base.With("backend").With("main"), "telegram:group:-100%3A5:thread:7"},
		{session.Name{}.With("backend"), "agent:backend:main"},
	}
	for _, tt := range tests {
		if got := tt.name.Key(); got != tt.key {
			t.Errorf("Key = %q, want %q", got, tt.key)
		}
		parsed, err := session.Parse(tt.key)
		if err != nil || parsed != tt.name {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.key, parsed, err, tt.name)
		}
		if got := session.AgentOf(tt.key); got != tt.name.Agent() {
			t.Errorf("AgentOf(%q) = %q, want %q", tt.key, got, tt.name.Agent())
		}
	}
	for _, key := range []string{"agent:main:telegram:1", "agent:backend", "agent:backend:agent:docs:main", "agent::main", "agent:x:agent"} {
		if name, err := session.Parse(key); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", key, name)
		}
	}
}

// The heartbeat's own conversation has a key that no person's has.
//
// Behaviour: heartbeat-session.
func TestKeyOfTheHeartbeat(t *testing.T) {
	t.Parallel()
	for peoples, own := range map[string]string{
		"main": "heartbeat:main", "telegram:7": "heartbeat:telegram:7", "peer:anna": "heartbeat:peer:anna",
		"agent:docs:telegram:7": "agent:docs:heartbeat:telegram:7",
	} {
		if got := session.HeartbeatOf(peoples); got != own {
			t.Errorf("HeartbeatOf(%q) = %q, want %q", peoples, got, own)
		}
		if session.HeartbeatOf(own) != own || session.PeoplesOf(own) != peoples || session.PeoplesOf(peoples) != peoples {
			t.Errorf("%q and %q lead to %q, %q and %q", peoples, own, session.HeartbeatOf(own), session.PeoplesOf(own), session.PeoplesOf(peoples))
		}
		if session.AgentOf(own) != session.AgentOf(peoples) {
			t.Errorf("AgentOf(%q) = %q", own, session.AgentOf(own))
		}
	}
	for _, key := range []string{"heartbeat", "heartbeat:heartbeat:main", "heartbeat:agent:docs:main", "heartbeat:telegram"} {
		if name, err := session.Parse(key); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", key, name)
		}
	}
}

// Behaviour: plugin-conversation.
func TestKeyOfAPluginsConversation(t *testing.T) {
	t.Parallel()
	of := session.OfPlugin("schedule", "standup-1")
	for peoples, own := range map[string]string{
		"main": "plugin:schedule/standup-1:main", "telegram:7": "plugin:schedule/standup-1:telegram:7",
		"telegram:group:7:thread:1": "plugin:schedule/standup-1:telegram:group:7:thread:1",
		"agent:docs:telegram:7":     "agent:docs:plugin:schedule/standup-1:telegram:7",
	} {
		if got := session.PluginsOf(peoples, of); got != own {
			t.Errorf("PluginsOf(%q) = %q, want %q", peoples, got, own)
		}
		heartbeat := session.HeartbeatOf(peoples)
		if session.PluginsOf(own, of) != own || session.PeoplesOf(own) != peoples || session.PluginsOf(heartbeat, of) != own || session.HeartbeatOf(own) != heartbeat {
			t.Errorf("%q and %q lead to %q, %q, %q and %q", peoples, own,
				session.PluginsOf(own, of), session.PeoplesOf(own), session.PluginsOf(heartbeat, of), session.HeartbeatOf(own))
		}
		if session.AgentOf(own) != session.AgentOf(peoples) {
			t.Errorf("AgentOf(%q) = %q", own, session.AgentOf(own))
		}
	}
	for _, key := range []string{"plugin", "plugin:a/b", "plugin:a/b:plugin:c/d:main", "plugin:a/b:heartbeat:main", "plugin:a/b:telegram"} {
		if name, err := session.Parse(key); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", key, name)
		}
	}
}

func TestKeyIsTheSameEachTimeForAUserLinkedTwice(t *testing.T) {
	t.Parallel()
	links := session.Links{"b": {"telegram:123"}, "a": {"telegram:@john"}, "c": {"telegram:123"}}
	for range 50 {
		if got := session.Of(session.PerPeer, "telegram", direct, "", john, links).Key(); got != "peer:a" {
			t.Fatalf("Key = %q, want the least name", got)
		}
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for _, label := range []string{"main", "peer", "plugin", "cron", "agent", "heartbeat"} {
		if !session.Reserved(label) {
			t.Errorf("%q is not reserved", label)
		}
	}
	for _, label := range []string{"telegram", "group", "thread", "Main", ""} {
		if session.Reserved(label) {
			t.Errorf("%q is reserved", label)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", ":", "telegram", "telegram:", ":123", "main:", "main:1", "peer", "peer:", "peer:a:b:c", "peer:main:1", "peer:anna:thread:9",
		"plugin:x", "cron:x", "plugin:x:thread:9", "telegram:group:1:thread", "telegram:topic:1", "telegram:1:topic:2", "telegram:group:1:topic:2",
		"telegram:group:1:thread:2:3", "telegram:1:thread:", "telegram:a%3ab", "telegram:a%41", "telegram:100%",
	} {
		if name, err := session.Parse(key); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", key, name)
		}
	}
}

// id generates ids that try to look like other parts of a key.
func id() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"main", "peer", "group", "thread", ":", "%", "%3A", "%25", "a:thread:b", "group:1", "1", "2"}),
		rapid.StringMatching(`[ab:%3A25]{1,6}`),
		rapid.StringN(1, 8, -1),
	)
}

type place struct {
	Channel string
	Kind    chat.Kind
	ID      string // the user's in a direct chat, the group's in a group
	Thread  string
}

func places() *rapid.Generator[place] {
	return rapid.Custom(func(t *rapid.T) place {
		return place{
			Channel: id().Filter(func(s string) bool { return !session.Reserved(s) }).Draw(t, "channel"),
			Kind:    rapid.SampledFrom([]chat.Kind{chat.Direct, chat.Group}).Draw(t, "kind"),
			ID:      id().Draw(t, "id"),
			Thread:  rapid.OneOf(rapid.Just(""), id()).Draw(t, "thread"),
		}
	})
}

func (p place) name(scope session.Scope) session.Name {
	c, sender := chat.Chat{ID: "any", Kind: chat.Direct}, chat.Sender{ID: chat.UserID(p.ID)}
	if p.Kind == chat.Group {
		c, sender = chat.Chat{ID: chat.ID(p.ID), Kind: chat.Group}, chat.Sender{ID: "any"}
	}
	return session.Of(scope, p.Channel, c, chat.ThreadID(p.Thread), sender, nil)
}

// Behaviour: session-key.
func TestDistinctPlacesHaveDistinctKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scope := rapid.SampledFrom([]session.Scope{session.PerPeer, session.PerChannelPeer}).Draw(t, "scope")
		a, b := places().Draw(t, "a"), places().Draw(t, "b")
		if ka, kb := a.name(scope).Key(), b.name(scope).Key(); (ka == kb) != (a == b) {
			t.Fatalf("%+v has key %q, %+v has key %q", a, ka, b, kb)
		}
	})
}

// Behaviour: session-key.
func TestParseInvertsKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scope := rapid.SampledFrom([]session.Scope{session.Main, session.PerPeer, session.PerChannelPeer}).Draw(t, "scope")
		want := places().Draw(t, "place").name(scope)
		got, err := session.Parse(want.Key())
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("Parse(%q) differs:\n%s", want.Key(), cmp.Diff(want, got))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, key := range []string{"main", "peer:anna", "peer:x:1", "telegram:1", "telegram:group:-1:thread:2", "a%3A:b%25", "x:%2525", "peer:%"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name, err := session.Parse(key)
		if err == nil && name.Key() != key {
			t.Errorf("Parse(%q).Key() = %q", key, name.Key())
		}
	})
}
