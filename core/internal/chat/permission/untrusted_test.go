package permission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// untrusted is the run of a program's text in a direct chat.
func untrusted(in chat.ID) *conversation.Run {
	return turnOf(&domain.Run{ID: 7, Session: domain.Session{Key: "s"}, Head: domain.Queued{ClaudeSession: "c1", Message: domain.Message{
		Channel: "tg", Chat: chat.Chat{ID: in, Kind: chat.Direct}, Sender: chat.Sender{DisplayName: "webhook", IsBot: true},
		Authority: chat.Other, Origin: domain.OriginPlugin,
	}}})
}

// What the turn of an untrusted text wants to do, an owner is asked: in the same chat if it is the owner's, and otherwise the chat
// learns of it. Neither permissions of owners nor those of people who may use commands count.
// Behaviour: turn-untrusted, ask-owner.
func TestAnUntrustedTurnAsksAnOwner(t *testing.T) {
	t.Parallel()
	owner := caller("owner", chat.Owner)
	for name, q := range map[string]agent.Question{"a tool": ls, "a plan": plan, "a choice": colour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture()
			d := r.desk(t)
			if name == "a tool" {
				for _, authority := range []chat.Authority{chat.Owner, chat.Authorised} {
					ask(t, d, r, runOf("owner", authority), q, owner, "always")
				}
			}
			for _, in := range []chat.ID{"owner", "bob"} {
				before := len(r.asked)
				decided := make(chan agent.Decision, 1)
				go func() { decided <- d.Ask(t.Context(), untrusted(in), q) }()
				id := r.next(t)
				asked := r.asked[before:]
				var to []chat.ID
				for _, item := range asked {
					to = append(to, item.To.Chat)
				}
				want := []chat.ID{"owner"}
				if in != "owner" {
					want = []chat.ID{in, "owner"}
				}
				if diff := cmp.Diff(want, to); diff != "" {
					t.Errorf("in the chat of %s it is asked in (-want +got)\n%s", in, diff)
				}
				for _, person := range []chat.Caller{caller(string(in), chat.Authorised), {Address: chat.Address{Channel: "tg", Chat: in}, Kind: chat.Direct}} {
					if said, _, err := d.Answer(t.Context(), person, id, "1"); said != "Only an owner, or somebody named in the config for it, can answer this." || err != nil {
						t.Errorf("in the chat of %s, others may answer: %q, %v", in, said, err)
					}
				}
				open, err := d.Open(t.Context())
				if err != nil || len(open) != 1 || open[0].Asker != "" {
					t.Errorf("open are %+v, %v", open, err)
				}
				if _, _, err := d.Answer(t.Context(), owner, id, "no thanks"); err != nil {
					t.Error(err)
				}
				if name == "a choice" { // of two questions
					if _, _, err := d.Answer(t.Context(), owner, r.next(t), "1"); err != nil {
						t.Error(err)
					}
				}
				receive(t, decided)
			}
		})
	}
}
