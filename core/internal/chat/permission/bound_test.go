package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/sdk/chat"
)

// So many questions may be open of one conversation, and fewer of one person who may not decide. What is more is refused,
// and the chat is notified.
// Behaviour: owner-first.
func TestOpenQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		authority chat.Authority
		apart     bool // each question in a conversation of its own
		open      int
		reply     string
	}{
		"of a conversation":        {chat.Owner, false, 16, "16 questions of this conversation are waiting"},
		"of a person":              {chat.Authorised, true, 4, "4 questions of yours are waiting"},
		"an owner has many":        {chat.Owner, true, 18, ""},
		"of a person in one place": {chat.Other, false, 4, "4 questions of yours are waiting"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newFixture()
				r.posted = make(chan string, 100)
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
				if len(r.posted) != tt.open || len(refused) != 18-tt.open {
					t.Errorf("%d questions are open, %d are refused; want %d open", len(r.posted), len(refused), tt.open)
				}
				for range len(refused) {
					if got := receive(t, refused); got.Allow || !strings.Contains(got.Message, "Nobody was asked") {
						t.Errorf("refused with %+v", got)
					}
				}
				if reply := slices.ContainsFunc(r.sent, func(s string) bool { return tt.reply != "" && strings.Contains(s, tt.reply) }); reply != (tt.reply != "") {
					t.Errorf("the chat got %q, want %q", r.sent, tt.reply)
				}
				cancel()
				synctest.Wait()
				go d.Ask(t.Context(), runOf("5", tt.authority), rm)
				synctest.Wait()
				if len(r.posted) != tt.open+1 {
					t.Error("questions that are over count")
				}
				_, _, _ = d.Answer(t.Context(), caller("owner", chat.Owner), r.questions[tt.open].ID, "no")
			})
		})
	}
}

// claims are the runs that a dispatcher gets.
type claims chan *domain.Run

func (c claims) Claim(ctx context.Context, lane domain.Lane, _ domain.Whose, take func(*domain.Run)) error {
	if lane != domain.TurnLane {
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case run := <-c:
		take(run)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (claims) Release(context.Context, int64, time.Time, string) error { return nil }

func (claims) Hold(context.Context, int64, domain.Hold) error { return nil }

func (claims) WatchTurn(string) (<-chan struct{}, func()) { return nil, func() {} }

func (claims) MessagesWait(context.Context, int64) (bool, error) { return false, nil }

// asking are turns that ask, and work on with the answers until they may end.
type asking struct {
	desk    *permission.Approvals
	decided chan agent.Decision
	end     chan struct{}
}

func (a asking) Handle(ctx context.Context, run *domain.Run, _ <-chan struct{}) error {
	a.decided <- a.desk.Ask(ctx, turnOf(run), ls)
	<-a.end
	return nil
}

// A turn that waits for people leaves its place to others until it has its answer, and none waits where too many do.
// Behaviour: owner-first.
func TestWaitingTurnsLeaveTheirPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture()
		runs := make(claims)
		turns := dispatch.New(runs, dispatch.Options{Turns: 1}, hclog.NewNullLogger())
		d := r.deskOf(t, turns)
		a := asking{d, make(chan agent.Decision, 10), make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			turns.Run(ctx, a)
		}()
		begin := func(n int64) {
			run := runOf(fmt.Sprint(n), chat.Authorised).Run
			run.ID, run.Lane, run.Session.Key = n, domain.TurnLane, fmt.Sprint("s", n)
			runs <- run
			synctest.Wait()
		}
		full := func(want bool) {
			t.Helper()
			if _, others := turns.Full(); others != want {
				t.Errorf("every place is taken: %t; want %t", others, want)
			}
		}
		begin(1)
		first := r.next(t)
		full(false)
		begin(2)
		r.next(t)
		begin(3) // Two wait already, which is as many as may.
		if got := receive(t, a.decided); got.Allow || !strings.Contains(got.Message, "Nobody was asked") {
			t.Errorf("the third gets %+v", got)
		}
		if !slices.ContainsFunc(r.sent, func(s string) bool {
			return strings.Contains(s, "too many questions of other conversations are waiting")
		}) {
			t.Errorf("its chat gets %q", r.sent)
		}
		full(true) // with the third
		if _, _, err := d.Answer(t.Context(), caller("owner", chat.Owner), first, "once"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(a.decided) != 0 {
			t.Error("the first goes on without a place")
		}
		a.end <- struct{}{} // the third ends
		if got := receive(t, a.decided); !got.Allow {
			t.Errorf("the first gets %+v", got)
		}
		full(true)
		close(a.end)
		cancel()
		for _, q := range r.questions[1:] {
			_, _, _ = d.Answer(t.Context(), caller("owner", chat.Owner), q.ID, "no")
		}
		<-ended
	})
}
