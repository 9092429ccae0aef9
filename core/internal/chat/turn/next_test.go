package turn_test

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The memory is written once before a conversation is compacted: an owner's in an owner's direct chat, and where the conversation
// has a memory of its own, that. The turns of plugins have an owner's authority in whatever chat they are; that must not write to
// the owner's memory from another one.
// Behaviour: memory-flush, memory-flush-when.
func TestMemoryFlush(t *testing.T) {
	t.Parallel()
	full := agent.Result{Text: "hi", ContextTokens: 170_000, ContextWindow: 200_000}
	for name, test := range map[string]struct {
		user      chat.UserID
		kind      chat.Kind
		authority chat.Authority
		origin    domain.Origin
		result    agent.Result
		flushed   int64
		told      agent.Compaction
		own       []string
		want      bool
	}{
		"the owner":                        {user: "anna", kind: chat.Direct, authority: chat.Owner, result: full, want: true},
		"there is space left":              {user: "anna", kind: chat.Direct, authority: chat.Owner, result: agent.Result{Text: "hi", ContextTokens: 100_000, ContextWindow: 200_000}},
		"a smaller budget is full":         {user: "anna", kind: chat.Direct, authority: chat.Owner, result: agent.Result{Text: "hi", ContextTokens: 70_000, ContextWindow: 200_000}, told: agent.Compaction{Window: 100_000}, want: true},
		"a smaller share is full":          {user: "anna", kind: chat.Direct, authority: chat.Owner, result: agent.Result{Text: "hi", ContextTokens: 90_000, ContextWindow: 200_000}, told: agent.Compaction{Percent: 50}, want: true},
		"a smaller share has space left":   {user: "anna", kind: chat.Direct, authority: chat.Owner, result: agent.Result{Text: "hi", ContextTokens: 89_000, ContextWindow: 200_000}, told: agent.Compaction{Percent: 50}},
		"nothing is compacted":             {user: "anna", kind: chat.Direct, authority: chat.Owner, result: full, told: agent.Compaction{Window: 500_000, Percent: 50, Off: true}, want: true},
		"a group with a memory of its own": {user: "bob", kind: chat.Group, authority: chat.Other, result: full, own: []string{"mcp__clawhost__memory_note"}, want: true},
		"the owner in such a group":        {user: "anna", kind: chat.Group, authority: chat.Owner, result: full, own: []string{"mcp__clawhost__memory_note"}, want: true},
		"such a group was flushed":         {user: "bob", kind: chat.Group, authority: chat.Other, result: full, own: []string{"mcp__clawhost__memory_note"}, flushed: 1},
		"it was written":                   {user: "anna", kind: chat.Direct, authority: chat.Owner, result: full, flushed: 1},
		"a flush":                          {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginFlush, result: full},
		"the owner in a group":             {user: "anna", kind: chat.Group, authority: chat.Owner, result: full},
		"somebody else":                    {user: "bob", kind: chat.Direct, authority: chat.Authorised, result: full},
		"a plugin in the owner's chat":     {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin, result: full, want: true},
		"a plugin in somebody else's chat": {user: "bob", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin, result: full},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, run := &fixture{results: []outcome{{result: test.result}}, compaction: test.told, remembering: test.own}, message(1)
			run.Session.Flushed = test.flushed
			run.Head.Message = domain.Message{
				Channel: "telegram", Chat: chat.Chat{ID: "chat", Kind: test.kind}, Sender: chat.Sender{ID: test.user}, Authority: test.authority, Origin: test.origin,
			}
			if err := r.handler().Handle(t.Context(), run, nil); err != nil {
				t.Fatal(err)
			}
			then := r.completed[0].Then
			if (then != nil) != test.want {
				t.Fatalf("what comes next is %+v", then)
			}
			if then == nil {
				return
			}
			own := test.kind != chat.Direct // nobody there has asked for it, and nobody's authority is used for it
			if then.Message.Origin != domain.OriginFlush || then.Message.Silent != own || own && then.Message.Authority != chat.Other ||
				own != strings.Contains(then.Message.Text, "the tool mcp__clawhost__memory_note for that") || !own && then.Message.Text != "write it down" {
				t.Errorf("what comes next is %+v", then)
			}
		})
	}
}

// Owners see the cause of a failure in their direct chats, nobody else does. If nobody gets an answer, they learn why.
// Behaviour: failure-cause.
func TestWhoSeesTheCause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class      agent.Class
		owner      bool
		kind       chat.Kind
		seen, told bool
	}{
		{class: agent.Rejected, owner: true, kind: chat.Direct, seen: true},
		{class: agent.Rejected, owner: true, kind: chat.Group},
		{class: agent.Rejected, kind: chat.Direct},
		{class: agent.Auth, owner: true, kind: chat.Direct, seen: true},
		{class: agent.Auth, owner: true, kind: chat.Group, told: true},
		{class: agent.Auth, kind: chat.Direct, told: true},
		{class: agent.ContentFilter, owner: true, kind: chat.Direct},
	} {
		failed := outcome{err: &agent.Failure{Class: test.class, Detail: "boom"}}
		r, run := &fixture{results: []outcome{failed, failed}}, message(1)
		run.Head.Message.Chat.Kind = test.kind
		if test.owner {
			run.Head.Message.Authority = chat.Owner
		}
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		seen, told := strings.Contains(r.completed[0].Items[0].Text, "boom"), strings.Contains(strings.Join(r.owners, ""), "boom")
		if seen != test.seen || told != test.told {
			t.Errorf("%v, owner %t, kind %v: seen %t, told %t", test.class, test.owner, test.kind, seen, told)
		}
	}
}

// Why Claude refuses to run is told to an owner who asks, and to the owners where somebody else does.
func TestWhoIsToldOfTheCause(t *testing.T) {
	t.Parallel()
	for _, owner := range []bool{true, false} {
		r, run := &fixture{results: []outcome{{err: &agent.Failure{Class: agent.Refused, Detail: "no such flag: `--x`"}}}}, message(1)
		run.Head.Message.Chat.Kind = chat.Direct
		if owner {
			run.Head.Message.Authority = chat.Owner
		}
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		said, told := r.completed[0].Items[0].Text, strings.Join(r.owners, "")
		if owner {
			said, told = told, said
		}
		if !strings.Contains(told, "Claude refuses to run") || !strings.Contains(told, "no such flag: '--x'") {
			t.Errorf("an owner asks: %t: the cause is told as %q", owner, told)
		}
		if want := map[bool]string{true: "", false: trouble(agent.Refused)}[owner]; said != want {
			t.Errorf("an owner asks: %t: the others are told %q, want %q", owner, said, want)
		}
	}
}
