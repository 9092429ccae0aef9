package turn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// What earlier attempts have sent of an answer is not sent again, and the preview becomes the answer.
// Behaviour: preview-tools, preview-left.
func TestWhatBecomesOfAPreview(t *testing.T) {
	t.Parallel()
	answered := outcome{result: agent.Result{Text: "hello there"}}
	for name, test := range map[string]struct {
		said    string
		preview int64
		outcome outcome
		cause   error
		want    []domain.OutboxItem
		posted  []domain.OutboxItem
		state   domain.RunState
		history int
	}{
		"an answer":             {preview: 5, outcome: answered, want: []domain.OutboxItem{{Text: "hello there", Edits: 5, OrSend: true}}, state: domain.RunDone, history: 1},
		"no preview":            {outcome: answered, want: []domain.OutboxItem{{Text: "hello there"}}, state: domain.RunDone, history: 1},
		"the rest of an answer": {said: "hello", preview: 5, outcome: answered, want: []domain.OutboxItem{{Text: "there", Edits: 5, OrSend: true}}, state: domain.RunDone, history: 1},
		"all was sent":          {said: "hello there", outcome: answered, state: domain.RunDone, history: 1},
		"a silent answer":       {preview: 5, outcome: outcome{result: agent.Result{Text: "NO_REPLY"}}, want: []domain.OutboxItem{{Edits: 5}}, state: domain.RunDone},
		"a failure":             {preview: 5, outcome: failure(agent.Server), want: []domain.OutboxItem{{Text: trouble(agent.Server), Edits: 5, OrSend: true}}, state: domain.RunFailed, history: 1},
		"stopped":               {preview: 5, outcome: outcome{err: errBlocks}, cause: agent.ErrStopped, want: []domain.OutboxItem{{Edits: 5}}, state: domain.RunCancelled, history: 1},
		"interrupted":           {preview: 5, outcome: outcome{err: errBlocks}, cause: domain.ErrFenced, posted: []domain.OutboxItem{{Edits: 5}}},
		"nothing is shown":      {outcome: outcome{err: errBlocks}, cause: domain.ErrFenced},
		"the host's end":        {preview: 5, outcome: outcome{err: errBlocks}, cause: agent.ErrShutdown},
		"a lost conversation":   {said: "hello", preview: 5, outcome: failure(agent.TranscriptMissing), want: []domain.OutboxItem{{Text: "hello there"}}, state: domain.RunDone, history: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, run := &fixture{results: []outcome{test.outcome, answered}}, message(1)
			run.Said, run.Preview = test.said, test.preview
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.cause != nil {
				cancel(test.cause)
			}
			if err := r.handler().Handle(ctx, run, nil); (err != nil) != (test.cause != nil) {
				t.Fatal(err)
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
	answered := outcome{result: agent.Result{Text: "here it is\nMEDIA:/a.txt"}}
	r := &fixture{results: []outcome{answered}, files: files, refuse: domain.ErrFenced}
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
