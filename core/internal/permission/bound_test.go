package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/sdk/chat"
)

// So many questions may be open of one conversation, fewer of one person who may not decide, and none where too many turns
// wait already. What is more is refused, and the chat is told.
// Behaviour: owner-first.
func TestOpenQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		authority chat.Authority
		apart     bool // each question in a conversation of its own
		crowded   bool
		open      int
		told      string
	}{
		"of a conversation":        {chat.Owner, false, false, 16, "16 questions of this conversation are waiting"},
		"of a person":              {chat.Authorised, true, false, 4, "4 questions of yours are waiting"},
		"an owner has many":        {chat.Owner, true, false, 18, ""},
		"too many turns wait":      {chat.Authorised, true, true, 0, "too many questions of other conversations are waiting"},
		"of a person in one place": {chat.Other, false, false, 4, "4 questions of yours are waiting"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				r.crowded, r.posted = tt.crowded, make(chan string, 100)
				d := r.desk(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				refused := make(chan agent.Decision, 100)
				for i := range 18 {
					run := runOf("5", tt.authority)
					if tt.apart {
						run.Session.Key = fmt.Sprint("s", i)
					}
					go func() {
						q := agent.Question{Tool: "Bash", Input: json.RawMessage(fmt.Sprintf(`{"command":"ls %d"}`, i))}
						if got := d.Ask(ctx, run, q); ctx.Err() == nil {
							refused <- got
						}
					}()
				}
				synctest.Wait()
				if len(r.posted) != tt.open || r.paused != tt.open || len(refused) != 18-tt.open {
					t.Errorf("%d questions are open, %d turns wait, %d are refused; want %d open", len(r.posted), r.paused, len(refused), tt.open)
				}
				for range len(refused) {
					if got := receive(t, refused); got.Allow || !strings.Contains(got.Message, "Nobody was asked") {
						t.Errorf("refused with %+v", got)
					}
				}
				if told := slices.ContainsFunc(r.told, func(s string) bool { return tt.told != "" && strings.Contains(s, tt.told) }); told != (tt.told != "") {
					t.Errorf("the chat was told %q, want %q", r.told, tt.told)
				}
				cancel()
				synctest.Wait()
				if r.paused != 0 {
					t.Errorf("%d turns wait for questions that are over", r.paused)
				}
			})
		})
	}
}
