package inbox_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestNamesAreForTheAgentAlone: what people call themselves neither calls the agent nor is a command, whoever mentions them.
// Behaviour: networks-names.
func TestNamesAreForTheAgentAlone(t *testing.T) {
	t.Parallel()
	patterns := func(string) config.Settings {
		s := settings("")
		s.Access.MentionPatterns = []*regexp.Regexp{regexp.MustCompile(`(?i)@?\bclaw\b`)}
		s.Access.HistoryLimit = 10
		return s
	}
	body := func(text, name string) chat.Message {
		return chat.Message{ID: "m", Text: text, Mentions: []chat.Mention{{Length: len("@700000"), User: "someone", Name: name}}}
	}
	for name, test := range map[string]struct {
		event   chat.Event
		want    string // what the agent reads; empty: nothing
		raw     string
		heard   string // what is kept of what was not for the agent
		command *domain.Command
	}{
		"to the agent":     {event: event("owner", body("@700000 says no", "Anna")), want: "@Anna (@700000) says no", raw: "@700000 says no"},
		"an abort":         {event: event("owner", body("@700000", "Claw stop!")), want: "@Claw stop! (@700000)", raw: "@700000"},
		"a command":        {event: event("owner", body("@700000 now", "Claw /status")), want: "@Claw /status (@700000) now", raw: "@700000 now"},
		"of the agent":     {event: inGroup("g", event("friend", body("@700000 lunch?", "Claw"))), heard: "@Claw (@700000) lunch?"},
		"with an argument": {event: event("owner", chat.Message{ID: "m", Text: "/status @700000", Mentions: []chat.Mention{{Offset: 8, Length: 7, User: "someone", Name: "Anna"}}}), want: "/status @700000", command: &domain.Command{Name: "status", Args: "@700000"}},
		"with a directive": {event: event("owner", chat.Message{ID: "m", Text: "/think high of @700000", Mentions: []chat.Mention{{Offset: 15, Length: 7, User: "someone", Name: "Anna"}}}), want: "of @Anna (@700000)", raw: "/think high of @700000"},
	} {
		j := &journal{}
		if outcome, err := boxOf(j, patterns).Submit(t.Context(), "tg", test.event); err != nil || outcome.Verdict != chat.Accepted {
			t.Errorf("%s: %+v, %v", name, outcome, err)
			continue
		}
		if test.heard != "" {
			if len(j.accepted) != 0 || len(j.passive) != 1 || j.passive[0].Note.Text != test.heard {
				t.Errorf("%s: accepted %d, passive %+v", name, len(j.accepted), j.passive)
			}
			continue
		}
		m := j.accepted[0].Message
		if diff := cmp.Diff([]any{test.want, test.raw, test.command}, []any{m.Text, m.Raw, m.Command}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNamesGiveNoCommands: what another person wrote, or calls themselves, is no command of the person who mentions it, in a new message
// as in an edited one.
// Behaviour: networks-foreign-text.
func TestNamesGiveNoCommands(t *testing.T) {
	t.Parallel()
	const text = "/think high about it"
	for name, test := range map[string]struct {
		text     string
		mentions []chat.Mention
		want     string
		effort   string
	}{
		"written":         {text, nil, "about it", "high"},
		"a name":          {text, []chat.Mention{{Length: 11, User: "x"}}, `\think high about it`, ""},
		"nobody's":        {text, []chat.Mention{{Length: len(text)}}, `\think high about it`, ""},
		"a name behind":   {text, []chat.Mention{{Offset: 12, Length: 5, User: "x"}}, "about it", "high"},
		"a whole command": {"/reset", []chat.Mention{{Length: 6}}, `\reset`, ""},
	} {
		j := &journal{}
		e := event("owner", chat.Message{ID: "m", Text: test.text, Mentions: test.mentions})
		if verdict := submit(t, j, settings, e); verdict != chat.Accepted || len(j.accepted) != 1 {
			t.Fatalf("%s: %v", name, verdict)
		}
		m := j.accepted[0].Message
		if m.Text != test.want || m.Overrides.Effort != test.effort || m.Command != nil || j.accepted[0].Reset {
			t.Errorf("%s: %q, effort %q, a command %v, reset %t", name, m.Text, m.Overrides.Effort, m.Command, j.accepted[0].Reset)
		}
		if m.Raw != test.text {
			t.Errorf("%s: what was written is kept as %q", name, m.Raw)
		}
	}
}

// TestNamesOfAnEdit are read as those of a message.
// Behaviour: networks-names.
func TestNamesOfAnEdit(t *testing.T) {
	t.Parallel()
	j := &journal{standing: domain.StandingWaiting, waiting: domain.Message{
		ID: "m", Channel: "tg", Text: "old", Chat: chat.Chat{ID: "owner", Kind: chat.Direct}, Sender: chat.Sender{ID: "owner"}, Authority: chat.Owner,
	}}
	edited := chat.Edited{ID: "m", Text: "ask @700000", Mentions: []chat.Mention{{Offset: 4, Length: 7, Name: "Anna"}}}
	if _, err := box(j).Submit(t.Context(), "tg", event("owner", edited)); err != nil || len(j.amended) != 1 {
		t.Fatalf("%v, %+v", err, j.amended)
	}
	if m := j.amended[0]; m.Text != "ask @Anna (@700000)" || m.Raw != "ask @700000" {
		t.Errorf("amended to %+v", m)
	}
}
