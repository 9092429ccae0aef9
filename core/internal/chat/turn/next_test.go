package turn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The memory is written once before a conversation is compacted: an owner's in an owner's direct chat, and where the conversation
// has a memory of its own, that. The turns of plugins have an owner's authority in whatever chat they are; that must not write to
// the owner's memory from another one.
// Behaviour: memory-flush, memory-flush-when.
func TestMemoryFlush(t *testing.T) {
	t.Parallel()
	const window, percent, off = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "DISABLE_AUTO_COMPACT"
	for name, test := range map[string]struct {
		user      chat.UserID
		kind      chat.Kind
		authority chat.Authority
		origin    domain.Origin
		tokens    int64 // of 200,000
		flushed   bool
		env       map[string]string // of claude
		own       bool              // groups have a memory of their own
		want      bool
	}{
		"the owner":                        {user: "anna", kind: chat.Direct, authority: chat.Owner, tokens: 170_000, want: true},
		"there is space left":              {user: "anna", kind: chat.Direct, authority: chat.Owner, tokens: 100_000},
		"a smaller budget is full":         {user: "anna", kind: chat.Direct, authority: chat.Owner, tokens: 70_000, env: map[string]string{window: "100000"}, want: true},
		"a smaller share is full":          {user: "anna", kind: chat.Direct, authority: chat.Owner, tokens: 90_000, env: map[string]string{percent: "50"}, want: true},
		"a smaller share has space left":   {user: "anna", kind: chat.Direct, authority: chat.Owner, tokens: 89_000, env: map[string]string{percent: "50"}},
		"nothing is compacted":             {user: "anna", kind: chat.Direct, authority: chat.Owner, tokens: 170_000, env: map[string]string{window: "500000", percent: "50", off: "1"}, want: true},
		"a group with a memory of its own": {user: "bob", kind: chat.Group, authority: chat.Other, tokens: 170_000, own: true, want: true},
		"the owner in such a group":        {user: "anna", kind: chat.Group, authority: chat.Owner, tokens: 170_000, own: true, want: true},
		"such a group was flushed":         {user: "bob", kind: chat.Group, authority: chat.Other, tokens: 170_000, own: true, flushed: true},
		"it was written":                   {user: "anna", kind: chat.Direct, authority: chat.Owner, tokens: 170_000, flushed: true},
		"a flush":                          {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginFlush, tokens: 170_000},
		"the owner in a group":             {user: "anna", kind: chat.Group, authority: chat.Owner, tokens: 170_000},
		"somebody else":                    {user: "bob", kind: chat.Direct, authority: chat.Authorised, tokens: 170_000},
		"a plugin in the owner's chat":     {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin, tokens: 170_000, want: true},
		"a plugin in somebody else's chat": {user: "bob", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin, tokens: 170_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, func(c *config.Config) { c.Agent.Claude.Env = test.env })
			if test.own {
				note := func(context.Context, sdk.ToolCall, struct{}) (sdk.ToolResult, error) { return sdk.ToolResult{}, nil }
				plugintest.Run(t, r.plugins, "notes", sdk.Tools(sdk.Tool("write", "Writes.", note).Remembers(chat.Group)))
			}
			m := message("hello")
			m.Sender.ID, m.Chat.Kind, m.Authority, m.Origin = test.user, test.kind, test.authority, test.origin
			r.plays(answers(agent.Result{Text: "hi", Model: "m", ContextTokens: test.tokens, ContextWindow: 200_000}))
			if test.flushed {
				flush := m
				flush.Origin = domain.OriginFlush
				r.do(t, flush)
			}
			r.do(t, m)
			if n := r.waiting(t); (n == 1) != test.want {
				t.Fatalf("%d turns come next", n)
			}
			if !test.want {
				return
			}
			then := r.claim(t).Head.Message
			own := test.kind != chat.Direct // nobody there has asked for it, and nobody's authority is used for it
			if then.Origin != domain.OriginFlush || then.Silent != own || own && then.Authority != chat.Other ||
				own != strings.Contains(then.Text, "the tool mcp__clawhost__notes_write for that") || !own && then.Text != "write it down" {
				t.Errorf("what comes next is %+v", then)
			}
		})
	}
}

// The memory of a heartbeat's own conversation is written by the model that has read it.
// Behaviour: heartbeat-session, memory-flush.
func TestMemoryFlushOfTheHeartbeat(t *testing.T) {
	t.Parallel()
	r := open(t)
	m := message("look")
	m.Sender.ID, m.Chat.Kind, m.Authority = "anna", chat.Direct, chat.Owner
	m.Origin, m.Apart, m.Overrides.Model = domain.OriginHeartbeat, true, "haiku"
	r.plays(answers(agent.Result{Text: "NO_REPLY", Model: "m", ContextTokens: 170_000, ContextWindow: 200_000}))
	r.do(t, m)
	if then := r.claim(t).Head.Message; then.Origin != domain.OriginFlush || !then.Apart || then.Overrides != m.Overrides {
		t.Errorf("what comes next is %+v", then)
	}
}

// Owners see the cause of a failure in their direct chats, nobody else does. If nobody gets an answer, they learn why.
// Behaviour: failure-cause.
func TestWhoSeesTheCause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class     agent.Class
		authority chat.Authority
		kind      chat.Kind
		seen      string // how the cause is told in the chat; empty: it is not
		told      string // and to the owners
	}{
		{class: agent.Rejected, authority: chat.Owner, kind: chat.Direct, seen: "flag: '--x'"},
		{class: agent.Rejected, authority: chat.Owner, kind: chat.Group},
		{class: agent.Rejected, authority: chat.Other, kind: chat.Direct},
		{class: agent.Auth, authority: chat.Owner, kind: chat.Direct, seen: "flag: '--x'"},
		{class: agent.Auth, authority: chat.Owner, kind: chat.Group, told: "flag: '--x'"},
		{class: agent.Auth, authority: chat.Other, kind: chat.Direct, told: "flag: '--x'"},
		{class: agent.ContentFilter, authority: chat.Owner, kind: chat.Direct},
		{class: agent.Refused, authority: chat.Owner, kind: chat.Direct, seen: "Claude refuses to run"},
		{class: agent.Refused, authority: chat.Other, kind: chat.Direct, told: "Claude refuses to run"},
	} {
		r := open(t)
		r.plays(costs(agent.Result{}, agent.Failure{Class: test.class, Detail: "no such flag: `--x`"}))
		m := message("hello")
		m.Authority, m.Chat.Kind = test.authority, test.kind
		r.do(t, m)
		said, owner := r.told(t)
		for told, want := range map[string]string{strings.Join(said, ""): test.seen, strings.Join(owner, ""): test.told} {
			if strings.Contains(told, "flag: '--x'") != (want != "") || !strings.Contains(told, want) {
				t.Errorf("%v, of an authority %v, in a %v: the chat is told %q, owners %q", test.class, test.authority, test.kind, said, owner)
			}
		}
		if len(said) != 1 || test.seen == "" && said[0] != notices[test.class] || (len(owner) > 0) != (test.told != "") {
			t.Errorf("%v, of an authority %v, in a %v: the chat is told %q, owners %q", test.class, test.authority, test.kind, said, owner)
		}
	}
}
