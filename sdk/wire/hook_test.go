package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

func TestRoundTripOfHooks(t *testing.T) {
	t.Parallel()
	type received struct {
		Caller  chat.Caller
		Message chat.Message
	}
	there(t, filled[received](t),
		func(r received) *pluginv1.MessageReceivedRequest {
			return wire.MessageReceivedToProto(r.Caller, r.Message)
		},
		func(p *pluginv1.MessageReceivedRequest) (received, error) {
			caller, message, err := wire.MessageReceivedFromProto(p)
			return received{caller, message}, err
		})
	type appended struct {
		Agent   string
		Session string
		Entries []chat.TranscriptEntry
	}
	there(t, filled[appended](t),
		func(a appended) *pluginv1.TranscriptAppendedRequest {
			return wire.TranscriptAppendedToProto(a.Agent, a.Session, a.Entries)
		},
		func(p *pluginv1.TranscriptAppendedRequest) (appended, error) {
			label, session, entries, err := wire.TranscriptAppendedFromProto(p)
			return appended{label, session, entries}, err
		})
	commands := []chat.CommandSpec{filled[chat.CommandSpec](t), {Name: "other", Usage: "/other", Summary: "Another.", MinAuthority: chat.Other}}
	there(t, commands, wire.SetCommandsToProto, wire.SetCommandsFromProto)
}

// The label of an agent may become the name of a folder.
// Behaviour: plugin-agent.
func TestBadAgentsAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*pluginv1.Caller){
		"a path":               func(c *pluginv1.Caller) { c.Agent = "../main" },
		"capitals":             func(c *pluginv1.Caller) { c.Agent = "Main" },
		"a long label":         func(c *pluginv1.Caller) { c.Agent = strings.Repeat("a", wire.MaxAgent+1) },
		"a relative workspace": func(c *pluginv1.Caller) { c.Workspace = "clawhost" },
		"a long workspace":     func(c *pluginv1.Caller) { c.Workspace = "/" + strings.Repeat("a", wire.MaxPath) },
		"a zero byte":          func(c *pluginv1.Caller) { c.Workspace = "/a\x00b" },
	} {
		p := wire.CallerToProto(filled[chat.Caller](t))
		change(p)
		if c, err := wire.CallerFromProto(p); err == nil {
			t.Errorf("%s is taken: %+v", name, c)
		}
	}
	if label, _, _, err := wire.SessionEntryFromProto(&pluginv1.SessionEntry{
		Agent: "a/b", Entry: &pluginv1.TranscriptEntry{Role: pluginv1.Role_ROLE_USER},
	}); err == nil {
		t.Errorf("an entry of %q is taken", label)
	}
	sent := wire.OutgoingToProto(filled[chat.Outgoing](t))
	sent.Agent = "a/b"
	if out, err := wire.OutgoingFromProto(sent); err == nil {
		t.Errorf("a message of %q is taken", out.Agent)
	}
	older := wire.CallerToProto(filled[chat.Caller](t))
	older.Agent, older.Workspace = "", ""
	if c, err := wire.CallerFromProto(older); err != nil || c.Agent != "" || c.Workspace != "" {
		t.Errorf("of an older host: %+v, %v", c, err)
	}
}

func TestHooksAreBounded(t *testing.T) {
	t.Parallel()
	entry := &pluginv1.TranscriptEntry{Role: pluginv1.Role_ROLE_USER}
	for name, p := range map[string]*pluginv1.TranscriptAppendedRequest{
		"no session":       {Entries: []*pluginv1.TranscriptEntry{entry}},
		"a long session":   {SessionKey: strings.Repeat("s", wire.MaxSession+1)},
		"no label":         {SessionKey: "s", Agent: "../main"},
		"too many entries": {SessionKey: "s", Entries: slices.Repeat([]*pluginv1.TranscriptEntry{entry}, wire.MaxEntries+1)},
	} {
		if _, _, entries, err := wire.TranscriptAppendedFromProto(p); err == nil || entries != nil {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
	}
	if _, _, err := wire.MessageReceivedFromProto(&pluginv1.MessageReceivedRequest{Message: &pluginv1.Message{Text: "x"}}); err == nil {
		t.Error("a message without a caller is taken")
	}
	long := []chat.TranscriptEntry{{ID: 1, Role: chat.Assistant, Text: strings.Repeat("é", wire.MaxEntry)}}
	if p := wire.TranscriptAppendedToProto("main", "s", long); len(p.GetEntries()[0].GetText()) != wire.MaxEntry || len(long[0].Text) != 2*wire.MaxEntry {
		t.Errorf("an entry goes out with %d bytes", len(p.GetEntries()[0].GetText()))
	}
	menu := make([]chat.CommandSpec, wire.MaxMenu+1)
	for i := range menu {
		menu[i].Name = fmt.Sprint("c", i)
	}
	p := wire.SetCommandsToProto(menu)
	if got, err := wire.SetCommandsFromProto(p); err != nil || !cmp.Equal(got, menu[:wire.MaxMenu]) {
		t.Errorf("of a long menu come %d commands, %v", len(got), err)
	}
	p.Commands = append(p.Commands, &pluginv1.CommandSpec{Name: "more"})
	if _, err := wire.SetCommandsFromProto(p); err == nil {
		t.Error("a menu of too many commands is taken")
	}
}
