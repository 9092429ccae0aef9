package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/turn"
)

// What the chat was shown of an answer becomes the answer, and is left as it is where there is none.
// Behaviour: preview-tools, preview-left.
func TestWhatBecomesOfAPreview(t *testing.T) {
	t.Parallel()
	answered := outcome{result: agent.Result{Text: "hello there"}}
	for name, test := range map[string]struct {
		sent    turn.Sent
		said    string
		outcome outcome
		cause   error
		want    []domain.OutboxItem
		posted  []domain.OutboxItem
		state   domain.RunState
		history int
	}{
		"an answer":                    {sent: turn.Sent{Preview: 5, Shown: "hel"}, outcome: answered, want: []domain.OutboxItem{{Text: "hello there", Edits: 5, OrSend: true}}, state: domain.RunDone, history: 1},
		"no preview":                   {outcome: answered, want: []domain.OutboxItem{{Text: "hello there"}}, state: domain.RunDone, history: 1},
		"the rest of an answer":        {said: "hello ", sent: turn.Sent{Preview: 5, Begun: true}, outcome: answered, want: []domain.OutboxItem{{Text: "there", Edits: 5, OrSend: true}}, state: domain.RunDone, history: 1},
		"all was sent":                 {said: "hello there", sent: turn.Sent{Begun: true}, outcome: answered, state: domain.RunDone, history: 1},
		"a silent answer":              {sent: turn.Sent{Preview: 5}, outcome: outcome{result: agent.Result{Text: "NO_REPLY"}}, want: []domain.OutboxItem{{Edits: 5}}, state: domain.RunDone},
		"a failure":                    {sent: turn.Sent{Preview: 5, Shown: "hel"}, outcome: failure(agent.Server), want: []domain.OutboxItem{{Text: trouble(agent.Server), Edits: 5, OrSend: true}}, state: domain.RunFailed, history: 1},
		"stopped":                      {sent: turn.Sent{Preview: 5, Shown: "hel"}, outcome: outcome{err: errBlocks}, cause: agent.ErrStopped, want: []domain.OutboxItem{{Text: "hel", Edits: 5, OrSend: true}}, state: domain.RunCancelled, history: 1},
		"stopped before the word":      {sent: turn.Sent{Preview: 5}, outcome: outcome{err: errBlocks}, cause: agent.ErrStopped, want: []domain.OutboxItem{{Edits: 5}}, state: domain.RunCancelled, history: 1},
		"interrupted by a message":     {sent: turn.Sent{Preview: 5, Shown: "hel"}, outcome: outcome{err: errBlocks}, cause: domain.ErrFenced, posted: []domain.OutboxItem{{Text: "hel", Edits: 5, OrSend: true}}},
		"interrupted with nothing yet": {outcome: outcome{err: errBlocks}, cause: domain.ErrFenced},
		"the host's end":               {sent: turn.Sent{Preview: 5, Shown: "hel"}, outcome: outcome{err: errBlocks}, cause: agent.ErrShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &fixture{results: []outcome{test.outcome}, view: view{sent: test.sent, said: test.said}}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.cause != nil {
				cancel(test.cause)
			}
			if err := r.handler().Handle(ctx, message(1), nil); (err != nil) != (test.cause != nil) {
				t.Fatal(err)
			}
			if r.view.ended != 1 || r.view.closed != 1 {
				t.Errorf("the view ended %d times and was closed %d times", r.view.ended, r.view.closed)
			}
			if diff := cmp.Diff(test.posted, r.posted); diff != "" {
				t.Error(diff)
			}
			if test.state == "" {
				if len(r.completed) != 0 {
					t.Errorf("completed %+v", r.completed)
				}
				return
			}
			c := r.completed[0]
			if diff := cmp.Diff(test.want, c.Items); diff != "" || c.State != test.state || len(c.Transcript) != test.history {
				t.Error(diff, c.State, c.Transcript)
			}
			if diff := cmp.Diff([]bool{test.state == domain.RunCancelled}, r.stopped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The answer of a long turn is a new message, if the preview can be deleted.
// Behaviour: preview-notify.
func TestTheAnswerOfALongTurn(t *testing.T) {
	t.Parallel()
	const text = "hello there"
	edited := []domain.OutboxItem{{Text: text, Edits: 5, OrSend: true}}
	for name, test := range map[string]struct {
		after, took time.Duration
		sent        turn.Sent
		outcome     outcome
		want        []domain.OutboxItem
	}{
		"a long turn":             {after: time.Minute, took: time.Minute, want: []domain.OutboxItem{{Text: text}, {Edits: 5}}},
		"a short turn":            {after: time.Minute, took: 59 * time.Second, want: edited},
		"never":                   {took: time.Hour, want: edited},
		"it cannot be deleted":    {after: time.Minute, took: time.Minute, sent: turn.Sent{Preview: 5}, want: edited},
		"nothing is shown":        {after: time.Minute, took: time.Minute, sent: turn.Sent{Deletable: true}, want: []domain.OutboxItem{{Text: text}}},
		"there is nothing to say": {after: time.Minute, took: time.Minute, outcome: outcome{result: agent.Result{Text: "NO_REPLY"}}, want: []domain.OutboxItem{{Edits: 5}}},
		"a failure":               {after: time.Minute, took: time.Minute, outcome: failure(agent.Server), want: []domain.OutboxItem{{Text: trouble(agent.Server)}, {Edits: 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.sent == (turn.Sent{}) {
				test.sent = turn.Sent{Preview: 5, Deletable: true}
			}
			if test.outcome.result.Text == "" && test.outcome.err == nil {
				test.outcome.result.Text = text
			}
			r, run := &fixture{results: []outcome{test.outcome}, reply: config.Reply{NotifyAfter: test.after}, view: view{sent: test.sent}}, message(1)
			synctest.Test(t, func(t *testing.T) {
				run.StartedAt = time.Now().Add(-test.took)
				if err := r.handler().Handle(t.Context(), run, nil); err != nil {
					t.Fatal(err)
				}
			})
			if diff := cmp.Diff(test.want, r.completed[0].Items); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A run that is given up is offered to be continued, where somebody wrote its message and can be asked; what its attempts have
// shown goes.
// Behaviour: given-up, preview-left.
func TestARunThatIsGivenUp(t *testing.T) {
	t.Parallel()
	told := []domain.OutboxItem{{Text: trouble(agent.GivenUp), Edits: 9, OrSend: true}}
	gone := []domain.OutboxItem{{Edits: 9}}
	for name, test := range map[string]struct {
		change  func(*fixture, *domain.Message)
		want    []domain.OutboxItem
		offered int
	}{
		"a person's":          {func(*fixture, *domain.Message) {}, gone, 1},
		"nobody can be asked": {func(r *fixture, _ *domain.Message) { r.offerErr = errors.New("the disk is full") }, told, 1},
		"a plugin's":          {func(_ *fixture, m *domain.Message) { m.Origin = domain.OriginPlugin }, told, 0},
		"a heartbeat's":       {func(_ *fixture, m *domain.Message) { m.Origin = domain.OriginHeartbeat }, nil, 0},
		"a silent one":        {func(_ *fixture, m *domain.Message) { m.Silent = true }, gone, 0},
	} {
		r, run := &fixture{}, message(11)
		run.Preview = 9
		test.change(r, &run.Head.Message)
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, r.completed[0].Items); diff != "" || len(r.offered) != test.offered {
			t.Errorf("%s: offered %q %s", name, r.offered, diff)
		}
	}
}

// The files of an answer are noted with it, and told of only once that is durable.
// Behaviour: files-out-once.
func TestTheFilesOfAnAnswer(t *testing.T) {
	t.Parallel()
	files := []domain.OutgoingFile{{Folder: "outbound/1", Name: "a.txt", Version: "1", Sent: true}}
	answered := outcome{result: agent.Result{Text: "here it is"}}
	r := &fixture{results: []outcome{answered}, view: view{files: files}, refuse: domain.ErrFenced}
	if err := r.handler().Handle(t.Context(), message(1), nil); !errors.Is(err, domain.ErrFenced) || r.cleared != nil {
		t.Errorf("%v, told of %+v", err, r.cleared)
	}
	r.refuse, r.results = nil, []outcome{answered}
	if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, r.completed[1].Files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, r.cleared); diff != "" {
		t.Error(diff)
	}
}
