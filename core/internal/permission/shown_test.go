package permission_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Whoever decides sees what they decide on, whatever the model writes.
func TestNothingIsHidden(t *testing.T) {
	t.Parallel()
	ask := func(tool string, input map[string]any) string {
		encoded, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		r := newRoom()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan agent.Decision, 1)
		go func() {
			done <- r.desk(t).Ask(ctx, runOf("owner", chat.Owner), agent.Question{Tool: tool, Input: encoded, Description: "Say hello"})
		}()
		<-r.posted
		cancel()
		<-done
		return r.asked[0].Text
	}
	bash := func(command string) string { return ask("Bash", map[string]any{"command": command}) }

	long := bash("echo " + strings.Repeat("hello ", 2000) + "; rm -rf ~")
	for _, want := range []string{"echo hello", "; rm -rf ~\n```", "characters in the middle of it are not shown here.**"} {
		if !strings.Contains(long, want) {
			t.Errorf("a long command does not show %q:\n%s", want, long)
		}
	}
	if text := bash("ls"); strings.Contains(text, "not shown") || strings.Contains(text, "With") {
		t.Error(text)
	}
	if text := ask("Bash", map[string]any{"command": "ls", "timeout": 5, "dangerouslyDisableSandbox": true}); !strings.Contains(text, "With `dangerouslyDisableSandbox: true`.") {
		t.Error(text)
	}
	for _, hidden := range []string{"\u00ad", "\u061c", "\u180e", "\u200b", "\u202e", "\u2066", "\u2800", "\u3164", "\u115f", "\U000e0041", "\u0085", "\u2028", "\x1b", "\r"} {
		if text := bash("ls " + hidden + "; id"); strings.Contains(text, hidden) || !strings.Contains(text, "�") {
			t.Errorf("%+q is shown as %q", hidden, text)
		}
	}
	if text := bash("echo Grüße 👩‍👩‍👧 日本語　x"); !strings.Contains(text, "Grüße 👩‍👩‍👧 日本語　x") {
		t.Error(text)
	}
	if text := ask("ExitPlanMode", map[string]any{}); !strings.Contains(text, "It does not say what the plan is.") {
		t.Error(text)
	}
	if text := ask("ExitPlanMode", map[string]any{"plan": "```\nrm -rf ~"}); strings.Count(text, "```") != 2 {
		t.Error(text)
	}
	choice := ask("AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": "Which?", "options": []any{map[string]any{"label": "**A**"}}}}})
	if !strings.Contains(choice, "**Which?**") {
		t.Error(choice)
	}
}

// What is said once a question is over fits into a message of any network, or its buttons would stay.
func TestTheEndFitsIntoAMessage(t *testing.T) {
	t.Parallel()
	r := newRoom()
	d := r.desk(t)
	who := caller("owner", chat.Owner)
	long := strings.Repeat("_", 5000)
	input, _ := json.Marshal(map[string]any{"questions": []any{map[string]any{"question": long, "options": []any{map[string]any{"label": long}}}}})
	ask(t, d, r, runOf("owner", chat.Owner), agent.Question{Tool: "AskUserQuestion", Input: input}, who, long)
	ask(t, d, r, runOf("owner", chat.Owner), agent.Question{Tool: long, Input: json.RawMessage(`{"url":"` + long + `"}`)}, who, "no "+long)
	for _, said := range r.edits {
		if n := len(said); n > 2000 {
			t.Errorf("%d bytes: %.60s", n, said)
		}
	}
	if len(r.edits) != 2 {
		t.Error(r.edits)
	}
}
