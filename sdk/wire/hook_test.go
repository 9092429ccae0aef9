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
		Session string
		Entries []chat.TranscriptEntry
	}
	there(t, filled[appended](t),
		func(a appended) *pluginv1.TranscriptAppendedRequest {
			return wire.TranscriptAppendedToProto(a.Session, a.Entries)
		},
		func(p *pluginv1.TranscriptAppendedRequest) (appended, error) {
			session, entries, err := wire.TranscriptAppendedFromProto(p)
			return appended{session, entries}, err
		})
	commands := []chat.CommandSpec{filled[chat.CommandSpec](t), {Name: "other", Usage: "/other", Summary: "Another.", MinAuthority: chat.Other}}
	there(t, commands, wire.SetCommandsToProto, wire.SetCommandsFromProto)
}

func TestHooksAreBounded(t *testing.T) {
	t.Parallel()
	entry := &pluginv1.TranscriptEntry{Role: pluginv1.Role_ROLE_USER}
	for name, p := range map[string]*pluginv1.TranscriptAppendedRequest{
		"no session":       {Entries: []*pluginv1.TranscriptEntry{entry}},
		"a long session":   {SessionKey: strings.Repeat("s", wire.MaxSession+1)},
		"too many entries": {SessionKey: "s", Entries: slices.Repeat([]*pluginv1.TranscriptEntry{entry}, wire.MaxEntries+1)},
	} {
		if _, entries, err := wire.TranscriptAppendedFromProto(p); err == nil || entries != nil {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
	}
	if _, _, err := wire.MessageReceivedFromProto(&pluginv1.MessageReceivedRequest{Message: &pluginv1.Message{Text: "x"}}); err == nil {
		t.Error("a message without a caller is taken")
	}
	long := []chat.TranscriptEntry{{ID: 1, Role: chat.Assistant, Text: strings.Repeat("é", wire.MaxEntry)}}
	if p := wire.TranscriptAppendedToProto("s", long); len(p.GetEntries()[0].GetText()) != wire.MaxEntry || len(long[0].Text) != 2*wire.MaxEntry {
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
