package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// A message whose files take too long waits for a turn of its own, and nothing that came behind it overtakes it. What stands
// before it is told. All of them together hold the turn up for ten seconds at most.
// Behaviour: steer-order.
func TestASlowMessageIsNotOvertaken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		slow map[string]time.Duration
		took time.Duration
		told []agent.Line
	}{
		"none":           {nil, 0, []agent.Line{{UUID: "a", Text: "[host] one"}, {UUID: "b", Text: "[host] two"}, {UUID: "c", Text: "[host] three"}}},
		"the second":     {map[string]time.Duration{"b": time.Hour}, 10 * time.Second, []agent.Line{{UUID: "a", Text: "[host] one"}}},
		"each by itself": {map[string]time.Duration{"a": 6 * time.Second, "b": 6 * time.Second}, 10 * time.Second, []agent.Line{{UUID: "a", Text: "[host] one"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &fixture{results: []outcome{{result: agent.Result{Text: "hi"}}}, slow: test.slow}
				if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
					t.Fatal(err)
				}
				steer := r.turns[0].Steering.Lines
				r.joined = []domain.Queued{
					{UUID: "a", Message: domain.Message{Text: "one"}}, {UUID: "b", Message: domain.Message{Text: "two"}}, {UUID: "c", Message: domain.Message{Text: "three"}},
				}
				began := time.Now()
				told, err := steer(t.Context())
				if diff := cmp.Diff(test.told, told); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took != test.took || (err != nil) != (test.slow != nil) {
					t.Errorf("it took %v, error %v", took, err)
				}
				if test.slow != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				r.joined = []domain.Queued{{UUID: "d", Message: domain.Message{Text: "four"}}}
				told, err = steer(t.Context())
				if err != nil || (len(told) == 0) != (test.slow != nil) {
					t.Errorf("then it is told %+v, error %v", told, err)
				}
			})
		})
	}
}

// Behaviour: steer, file-inline.
func TestSteering(t *testing.T) {
	t.Parallel()
	r := &fixture{
		results:  []outcome{{result: agent.Result{Text: "both", Covered: []string{"v"}}}},
		joined:   []domain.Queued{{UUID: "v", Message: domain.Message{Text: "and this"}}},
		pictures: []agent.Picture{{Path: "/media/p", Type: "image/png"}},
	}
	nudged := make(chan struct{})
	run := message(1)
	if err := r.handler().Handle(t.Context(), run, nudged); err != nil {
		t.Fatal(err)
	}
	got := r.turns[0]
	if got.Steering == nil || got.Steering.Nudged() == nil {
		t.Fatal("a person's turn cannot be steered")
	}
	lines, err := got.Steering.Lines(t.Context())
	if diff := cmp.Diff([]agent.Line{{UUID: "v", Text: "[host] and this", Pictures: r.pictures}}, lines); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if c := r.completed[0]; len(c.Covered) != 1 || c.Covered[0] != "v" {
		t.Errorf("completed %+v", c)
	}
}

// A voice message that is not transcribed is answered with a notice under the conversation's key, which the store posts
// once, whether it begins a turn or is steered into one.
func TestUnheardVoiceMessages(t *testing.T) {
	t.Parallel()
	r := &fixture{
		results: []outcome{{result: agent.Result{Text: "hi"}}},
		joined:  []domain.Queued{{UUID: "v", Message: domain.Message{Text: "and this"}}},
		unheard: true,
	}
	if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.turns[0].Steering.Lines(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := "unheard:" + message(1).Head.ClaudeSession
	if diff := cmp.Diff([]string{key, key}, r.keys); diff != "" {
		t.Errorf("keys of the notices (-want +got):\n%s", diff)
	}
	for _, item := range r.posted {
		if !strings.Contains(item.Text, wording.VoiceUnheard) {
			t.Errorf("posted %q", item.Text)
		}
	}
}

// What was steered into a turn whose claude session is lost is unknown to the fresh one, so it must have a turn of its own.
// Behaviour: steer-once.
func TestSteeredMessagesOfALostSessionWait(t *testing.T) {
	t.Parallel()
	overflowed := failure(agent.ContextOverflow)
	overflowed.result.Covered = []string{"v"}
	r := &fixture{results: []outcome{overflowed, {result: agent.Result{Text: "hi", Covered: []string{"w"}}}}}
	if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"w"}, r.completed[0].Covered); diff != "" {
		t.Errorf("covered (-want +got):\n%s", diff)
	}
	if r.turns[0].Steering == nil || r.turns[1].Steering != nil {
		t.Error("the fresh session is told what came after that")
	}
}
