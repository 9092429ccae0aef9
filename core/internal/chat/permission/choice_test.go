package permission_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The names within a choice count exactly as they are written, as claude reads them.
func TestChoiceFieldNamesAreCaseSensitive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Delete it?","Question":"Keep it?","multiSelect":false,
			"MULTISELECT":true,"options":[{"label":"Yes","Label":"No"},{"label":"Never"}],"Options":[]}]}`)}
		r := newFixture()
		got, _ := ask(t, r.desk(t), r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), "1")
		if shown := r.asked[0].Text; !strings.Contains(shown, "Delete it?") || strings.Contains(shown, "Keep it?") {
			t.Errorf("the question is:\n%s", shown)
		}
		var given struct{ Answers map[string]string }
		if err := json.Unmarshal(got.Input, &given); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"Delete it?": "Yes"}, given.Answers); diff != "" {
			t.Error(diff)
		}
	})
}

// A choice that could be read in more than one way, or not at all, is not asked.
func TestAChoiceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{
		"a question twice":    `{"questions":[{"question":"Delete it?","question":"Keep it?"}]}`,
		"a label twice":       `{"questions":[{"question":"Delete it?","options":[{"label":"Yes","label":"No"}]}]}`,
		"no text":             `{"questions":[{"question":["Delete it?"]}]}`,
		"no object":           `{"questions":["Delete it?"]}`,
		"no list":             `{"questions":{"question":"Delete it?"}}`,
		"options that are no": `{"questions":[{"question":"Delete it?","options":"Yes"}]}`,
		"none":                `{"questions":[]}`,
		"in another case":     `{"Questions":[{"question":"Delete it?"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			got := r.desk(t).Ask(t.Context(), runOf("owner", chat.Owner), agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(input)})
			if got.Allow || got.Message != "The questions could not be read." || len(r.asked) != 0 {
				t.Errorf("%+v; asked %+v", got, r.asked)
			}
		})
	}
}

// A text that is the label of two answers counts as the person's own words.
// Behaviour: ask-words.
func TestAmbiguousLabelIsFreeText(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"YES": "YES", "yes": "yes", "2": "yes", "never": "Never"} {
		r := newFixture()
		q := agent.Question{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[{"question":"Delete it?","options":[{"label":"Yes"},{"label":"yes"},{"label":"Never"}]}]}`)}
		got, _ := ask(t, r.desk(t), r, runOf("owner", chat.Owner), q, caller("owner", chat.Owner), typed)
		var given struct{ Answers map[string]string }
		if err := json.Unmarshal(got.Input, &given); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"Delete it?": want}, given.Answers); diff != "" {
			t.Errorf("%q: %s", typed, diff)
		}
	}
}
