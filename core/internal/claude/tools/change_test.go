package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/claude/tools"
)

// Behaviour: message-tool-change.
func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.number = 3
	turn := r.Turn("41", anna)
	if got := use(t, turn, "message", `{"text":"hi"}`); got.text() != "The message is on its way to telegram:anna. Its id is m3." {
		t.Errorf("it is answered %q", got.text())
	}
	for arguments, want := range map[string]string{
		`{"action":"edit","text":"x"}`:                                 `Which message? Give its "id".`,
		`{"action":"delete"}`:                                          `Which message? Give its "id".`,
		`{"action":"edit","id":"m3"}`:                                  "There is no text",
		`{"action":"edit","id":"m3","text":"NO_REPLY"}`:                "There is no text",
		`{"action":"delete","id":"m3","text":"x"}`:                     `"text" is for sending`,
		`{"action":"delete","id":"m3","to":"telegram:bob"}`:            `"to" and "media" are for sending`,
		`{"action":"edit","id":"m3","text":"x","media":["a"]}`:         `"to" and "media" are for sending`,
		`{"action":"edit","id":"m3","text":"x","emoji":"x"}`:           `"emoji" is for reactions`,
		`{"action":"react","emoji":"very good"}`:                       "A reaction is one emoji.",
		`{"action":"react","emoji":"` + strings.Repeat("👍", 20) + `"}`: "A reaction is one emoji.",
		`{"text":"x","emoji":"👍"}`:                                     `"id" and "emoji" are not for sending`,
		`{"action":"pin","id":"m3"}`:                                   `The action is "send", "edit"`,
	} {
		if got := use(t, turn, "message", arguments); !got.IsError || !strings.Contains(got.text(), want) {
			t.Errorf("%s is answered %q", arguments, got.text())
		}
	}
	for _, arguments := range []string{
		`{"action":"edit","id":"m3","text":"[[reply_to_current]]It is **done**."}`,
		`{"action":"edit","id":"m3","text":"Go on?","buttons":[["Yes"," No\n"],["Later"]]}`,
		`{"action":"delete","id":" m4 "}`,
		`{"action":"react","emoji":"👍"}`,
		`{"action":"react","id":"m0","emoji":""}`,
		`{"action":"react","id":"mine","emoji":"👀"}`,
	} {
		if got := use(t, turn, "message", arguments); got.IsError {
			t.Errorf("%s is answered %q", arguments, got.text())
		}
	}
	if diff := cmp.Diff([]tools.Change{
		{Do: tools.Edit, Number: 3, ID: "m3", Text: "It is **done**."},
		{Do: tools.Edit, Number: 3, ID: "m3", Text: "Go on?", Buttons: [][]string{{"Yes", "No"}, {"Later"}}},
		{Do: tools.Delete, Number: 4, ID: "m4"},
		{Do: tools.React, Emoji: "👍"},
		{Do: tools.React, ID: "m0"},
		{Do: tools.React, ID: "mine", Emoji: "👀"},
	}, r.changes, cmpopts.IgnoreFields(tools.Change{}, "Key")); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// Changes count as messages do.
// Behaviour: message-tool-bounded.
func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	turn := r.Turn("41", anna)
	for i := range 40 {
		if got := use(t, turn, "message", `{"action":"react","emoji":"👍"}`); i >= 30 != got.IsError {
			t.Fatalf("reaction %d is answered %q", i, got.text())
		}
	}
}

// Behaviour: button-agent.
func TestButtonsElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sessions = chats
	if got := use(t, r.Turn("41", anna), "message", `{"to":"discord:listed","text":"hi","buttons":[["x"]]}`); !got.IsError || !strings.Contains(got.text(), "Buttons are possible only in the chat") {
		t.Errorf("it is answered %q", got.text())
	}
}
