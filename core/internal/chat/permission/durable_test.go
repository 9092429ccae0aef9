package permission_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// process is a process of the host with a store on the disk. The rest is that of a fixture.
type process struct {
	*permission.Approvals
	store *store.Store
}

// start opens the store of the process before.
func start(t *testing.T, path string) process {
	t.Helper()
	return startWith(t, path, nil)
}

// startWith is start with a config; nil: that of a fixture.
func startWith(t *testing.T, path string, c *config.Config) process {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, _, err := s.Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	return over(t, s, c)
}

// over is a process with a store, and with a config; nil: that of a fixture.
func over(t *testing.T, s *store.Store, c *config.Config) process {
	t.Helper()
	r := newFixture()
	r.config = c
	options := r.options(t, s, dispatch.New(s, dispatch.Options{}, hclog.NewNullLogger()))
	p := process{store: s, Approvals: permission.New(options, hclog.NewNullLogger())}
	if err := p.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// claim is the next run, of the owner in their direct chat.
func (p process) claim(t *testing.T) *conversation.Run {
	t.Helper()
	var run *domain.Run
	if err := p.store.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }); err != nil {
		t.Fatal(err)
	}
	return turnOf(run)
}

// begin has a run ask in the background until end is called.
func (p process) begin(
	t *testing.T, run *conversation.Run, q agent.Question,
) (decided <-chan agent.Decision, end context.CancelCauseFunc) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	t.Cleanup(func() { end(agent.ErrShutdown) })
	decisions := make(chan agent.Decision, 1)
	go func() { decisions <- p.Ask(ctx, run, q) }()
	return decisions, end
}

// open waits until as many questions are open, and returns them.
func (p process) open(t *testing.T, want int) []permission.Open {
	t.Helper()
	patient, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		open, err := p.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == want {
			return open
		}
		select {
		case <-tick.C:
		case <-patient.Done():
			t.Fatalf("open are %+v; want %d", open, want)
		}
	}
}

// The store is all that a process knows of questions: each of these happens in a process of its own, which has nothing
// but the file of the one before.
// Behaviour: ask-durable.
func TestEachStepSurvivesARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clawhost.db")
	owner := caller("owner", chat.Owner)
	owner.Session = "s"

	asks := start(t, path)
	message := runOf("owner", chat.Owner).Head.Message
	inbound := domain.Inbound{EventID: "1", Session: "s", Lane: domain.TurnLane, Message: message}
	if _, err := asks.store.Accept(t.Context(), inbound); err != nil {
		t.Fatal(err)
	}
	decided, end := asks.begin(t, asks.claim(t), ls)
	id := asks.open(t, 1)[0].ID
	end(agent.ErrShutdown)
	receive(t, decided)
	_ = asks.store.Close()

	announces := start(t, path)
	if reply, known, err := announces.Answer(t.Context(), owner, id, "why"); reply == "" || !known || err != nil {
		t.Fatal(reply, known, err)
	}
	_ = announces.store.Close()

	parses := start(t, path)
	got, answer, ok, err := answerOf(t.Context(), parses.Approvals, owner, domain.Message{Text: "too late today"}, true)
	if got != id || answer != "no too late today" || !ok || err != nil {
		t.Fatal(got, answer, ok, err)
	}
	if _, reply, ok, err := parses.OpenNotice(t.Context(), owner); reply == "" || !ok || err != nil {
		t.Error(reply, ok, err)
	}
	_ = parses.store.Close()

	hears := start(t, path)
	written := permission.Written{ID: "w", Text: "too late today", Caller: owner}
	if reply, err := hears.Hear(t.Context(), got, answer, written); reply != "" || err != nil {
		t.Fatal(reply, err)
	}
	hears.open(t, 0)
	_ = hears.store.Close()

	resumes := start(t, path)
	run := resumes.claim(t)
	if got := resumes.Ask(t.Context(), run, ls); got.Message != "It was not allowed, for this reason: too late today" {
		t.Errorf("the resumed turn gets %+v", got)
	}
	// The answer was for one use. An answer to the next question reaches the turn that waits.
	decided, _ = resumes.begin(t, run, ls)
	again := resumes.open(t, 1)[0].ID
	if reply, _, err := resumes.Answer(t.Context(), owner, again, "always"); reply != "" || err != nil {
		t.Fatal(reply, err)
	}
	if got := receive(t, decided); !got.Allow || again == id {
		t.Errorf("%s, after %s, is answered with %+v", again, id, got)
	}
	_, left := resumes.begin(t, run, rm)
	resumes.open(t, 1)
	if err := resumes.store.Complete(t.Context(), run.ID, domain.Completion{State: domain.RunDone}); err != nil {
		t.Fatal(err)
	}
	left(agent.ErrShutdown)
	_ = resumes.store.Close()

	ends := start(t, path) // Its turn is completed.
	ends.open(t, 0)
	if got := ends.Ask(t.Context(), run, ls); !got.Allow {
		t.Errorf("what is always allowed: %+v", got)
	}
}

// A turn gets the answer that a person gives on another host, and what that host does at its start leaves the question alone.
func TestAnswersOnAnotherHost(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Shared(t).Database(t)
	open := func() *store.Store {
		s, err := store.OpenServer(t.Context(), dsn, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	here := over(t, open(), nil)
	inbound := domain.Inbound{EventID: "1", Session: "s", Lane: domain.TurnLane, Message: runOf("owner", chat.Owner).Head.Message}
	if _, err := here.store.Accept(t.Context(), inbound); err != nil {
		t.Fatal(err)
	}
	run := here.claim(t)
	decided, _ := here.begin(t, run, ls)
	id := here.open(t, 1)[0].ID
	there := over(t, open(), nil)
	there.Expire(t.Context())
	if got := there.open(t, 1)[0].ID; got != id {
		t.Errorf("the turn has asked again: %s, after %s", got, id)
	}
	if _, _, err := there.Answer(t.Context(), caller("owner", chat.Owner), id, "once"); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, decided); !got.Allow {
		t.Errorf("the turn gets %+v", got)
	}
	storetest.Sent(t, there.store, "tg")
	decided, _ = here.begin(t, run, rm)
	here.open(t, 1)
	list, err := there.store.ClaimDeliveries(t.Context(), "tg", 1)
	if err == nil {
		err = there.store.DeadLetter(t.Context(), list[0].ID, "blocked")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := receive(t, decided); got.Allow || !strings.Contains(got.Message, "could not be delivered") {
		t.Errorf("the turn gets %+v", got)
	}
}

// Each person gets one message of a question, however often the host starts again. The last process has another config, which names one
// more.
// Behaviour: ask-others, ask-durable.
func TestNobodyIsAskedTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clawhost.db")
	first := startWith(t, path, people([]string{"owners"}, 0))
	inbound := domain.Inbound{EventID: "1", Session: "s", Lane: domain.TurnLane, Message: runOf("guest", chat.Authorised).Head.Message}
	if _, err := first.store.Accept(t.Context(), inbound); err != nil {
		t.Fatal(err)
	}
	_ = first.store.Close()

	asked := func(p process, want ...chat.ID) {
		t.Helper()
		patient, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		var got []chat.ID
		for len(got) < len(want) {
			select {
			case <-tick.C:
			case <-patient.Done():
				t.Fatalf("asked are %v, want %v", got, want)
			}
			got = nil
			list, err := p.store.Questions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range list {
				for _, m := range q.Messages {
					got = append(got, m.To.Chat)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	for range 2 {
		p := startWith(t, path, people([]string{"owners"}, 0))
		decided, end := p.begin(t, p.claim(t), ls)
		asked(p, "owner", "olga")
		end(agent.ErrShutdown)
		receive(t, decided)
		_ = p.store.Close()
	}
	last := startWith(t, path, people([]string{"approvers", "owners"}, 0))
	decided, _ := last.begin(t, last.claim(t), ls)
	asked(last, "owner", "olga", "ann")
	var sent []string
	for _, item := range storetest.Sent(t, last.store, "tg") {
		sent = append(sent, string(item.To.Chat))
	}
	slices.Sort(sent)
	if diff := cmp.Diff([]string{"ann", "guest", "olga", "owner"}, sent); diff != "" { // the guest is told that somebody is asked
		t.Error(diff)
	}
	olga := caller("olga", chat.Owner)
	if reply, _, err := last.Answer(t.Context(), olga, last.open(t, 1)[0].ID, "once"); reply != "" || err != nil {
		t.Fatal(reply, err)
	}
	if got := receive(t, decided); !got.Allow {
		t.Errorf("%+v", got)
	}
}
