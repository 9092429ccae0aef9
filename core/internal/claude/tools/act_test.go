package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// An owner's agent acts on sessions of that owner and of groups that owners write in, and on no others.
// Behaviour: sessions-act.
func TestActsOnSessions(t *testing.T) {
	t.Parallel()
	bot := anna
	bot.Sender.IsBot = true
	group := anna
	group.Session, group.Address, group.Kind = "discord:group:listed", address("discord", "listed"), chat.Group
	bob := chat.Caller{Session: "telegram:bob", Address: address("telegram", "bob"), Kind: chat.Direct, Sender: chat.Sender{ID: "bob"}, Authority: chat.Authorised}
	own := append([]domain.Session{
		direct("discord:a", address("discord", "950"), "a"),
		{Key: "heartbeat:telegram:anna", Kind: chat.Direct},
		{Key: "heartbeat:telegram:bob", Kind: chat.Direct},
	}, chats...)
	for _, test := range []struct {
		name      string
		caller    chat.Caller
		arguments string
		want      string // empty: it is done
	}{
		{"a linked chat of the owner's", anna, `{"action":"send","session":"discord:a","text":" Clean up. "}`, ""},
		{"an identity of the owner's", anna, `{"action":"compact","session":"peer:anna","text":"the plan"}`, ""},
		{"a group", anna, `{"action":"reset","session":"discord:group:listed"}`, ""},
		{"a heartbeat that speaks to the owner", anna, `{"action":"compact","session":"heartbeat:telegram:anna"}`, ""},
		{"a heartbeat that speaks to another", anna, `{"action":"compact","session":"heartbeat:telegram:bob"}`, "somebody else's"},
		{"this conversation", anna, `{"action":"compact"}`, ""},
		{"reset of this conversation", anna, `{"action":"reset","session":"telegram:anna"}`, "This is that conversation."},
		{"another owner's", anna, `{"action":"send","session":"discord:77","text":"x"}`, `The session "discord:77" is somebody else's.`},
		{"no owner's", anna, `{"action":"reset","session":"telegram:bob"}`, `The session "telegram:bob" is somebody else's.`},
		{"a linked person who is another", anna, `{"action":"compact","session":"peer:bob"}`, `The session "peer:bob" is somebody else's.`},
		{"a group that nobody listed", anna, `{"action":"send","session":"discord:group:other","text":"x"}`, "somebody else's"},
		{"no session", anna, `{"action":"send","session":"telegram:nobody","text":"x"}`, `There is no session "telegram:nobody" that you may use`},
		{"nothing to send", anna, `{"action":"send","session":"discord:a"}`, "There is nothing to send"},
		{"no name", anna, `{"action":"reset"}`, "Which session?"},
		{"a text too many", anna, `{"action":"reset","session":"discord:a","text":"x"}`, `"text" is for`},
		{"a long text", anna, `{"action":"send","session":"discord:a","text":"` + strings.Repeat("x", 64<<10+1) + `"}`, "at most 65536"},
		{"in a group", group, `{"action":"send","session":"discord:a","text":"x"}`, "only in an owner's direct chat"},
		{"somebody else", bob, `{"action":"compact"}`, "only in an owner's direct chat"},
		{"a turn that no person began", bot, `{"action":"send","session":"discord:a","text":"x"}`, "A person must have asked"},
	} {
		r := newRig(t)
		r.sessions = own
		got := use(t, r.Turn("41", test.caller), "sessions", test.arguments)
		if got.IsError != (test.want != "") || !strings.Contains(got.text(), test.want) || len(r.acts) != 1 && test.want == "" || len(r.acts) != 0 && test.want != "" {
			t.Errorf("%s is answered %q, done %q", test.name, got.text(), r.acts)
		}
	}
	r := newRig(t)
	r.sessions = own
	turn := r.Turn("41", anna)
	for _, arguments := range []string{
		`{"action":"send","session":"discord:a","text":" Clean up. "}`, `{"action":"compact","text":"the plan"}`, `{"action":"reset","session":"discord:a"}`,
	} {
		use(t, turn, "sessions", arguments)
	}
	if diff := cmp.Diff([]string{`discord:a "Clean up." "" true false`, `telegram:anna "the plan" "compact" true false`, `discord:a "" "" true true`}, r.acts); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}
