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
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// steers accepts messages during a turn, and calls look with what joins the turn of them, which it covers.
func (r *rig) steers(t *testing.T, look func(told []agent.Line, err error), messages ...domain.Message) step {
	return func(ctx context.Context, turn agent.Turn) (agent.Result, error) {
		turn.Watcher.Consumed(ctx)
		r.accept(t, messages...)
		told, err := turn.Steering.Lines(ctx)
		look(told, err)
		result := agent.Result{Text: "hi"}
		for _, line := range told {
			result.Covered = append(result.Covered, line.UUID)
		}
		return result, nil
	}
}

// A message whose files take too long waits for a turn of its own, and nothing that came behind it overtakes it. What stands
// before it is told. All of them together hold the turn up for ten seconds at most.
// Behaviour: steer-order.
func TestASlowMessageIsNotOvertaken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		slow map[chat.FileToken]time.Duration
		took time.Duration
		told int // of the three messages
	}{
		"none":           {nil, 0, 3},
		"the second":     {map[chat.FileToken]time.Duration{"two": time.Minute}, 10 * time.Second, 1},
		"each by itself": {map[chat.FileToken]time.Duration{"one": 6 * time.Second, "two": 6 * time.Second}, 10 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t)
				plugintest.Run(t, r.plugins, "telegram", plugintest.Channel(chat.Limits{}, network{fetch: func(ctx context.Context, token chat.FileToken) error {
					select {
					case <-time.After(test.slow[token]):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}}))
				var began time.Time
				look := func(told []agent.Line, err error) {
					if took := time.Since(began); len(told) != test.told || took != test.took || errors.Is(err, context.DeadlineExceeded) != (test.slow != nil) {
						t.Errorf("told %+v after %v, error %v", told, took, err)
					}
					for i, line := range told {
						if want := []string{"{one}", "{two}", "{three}"}[i]; !strings.Contains(line.Text, want) {
							t.Errorf("line %d is %q, want %s", i, line.Text, want)
						}
					}
				}
				first := r.steers(t, look, file("one", "{one}"), file("two", "{two}"), file("three", "{three}"))
				r.plays(func(ctx context.Context, turn agent.Turn) (agent.Result, error) {
					began = time.Now()
					result, _ := first(ctx, turn)
					r.accept(t, message("{four}"))
					if then, err := turn.Steering.Lines(ctx); err != nil || (len(then) == 0) != (test.slow != nil) {
						t.Errorf("then it is told %+v, error %v", then, err)
					}
					return result, nil
				})
				r.do(t, message("hello"))
				if n := r.waiting(t); n != 4-test.told {
					t.Errorf("%d messages wait for turns of their own", n)
				}
			})
		})
	}
}

// Behaviour: steer, file-inline.
func TestSteering(t *testing.T) {
	t.Parallel()
	r := open(t)
	m := message("and this")
	m.Media = r.stored(t, chat.Image, mediatest.Picture(t, "png"))
	nudged := make(chan struct{})
	steers := r.steers(t, func(told []agent.Line, err error) {
		if err != nil || len(told) != 1 || !strings.Contains(told[0].Text, "and this") || len(told[0].Pictures) != 1 {
			t.Errorf("told %+v, error %v", told, err)
		}
	}, m)
	r.plays(func(ctx context.Context, turn agent.Turn) (agent.Result, error) {
		if turn.Steering.Nudged() != (<-chan struct{})(nudged) {
			t.Error("nobody wakes it")
		}
		return steers(ctx, turn)
	})
	r.accept(t, message("hello"))
	must(t, r.Handle(t.Context(), r.claim(t), nudged))
	if o := r.outcome(t); o.State != domain.RunDone || r.waiting(t) != 0 {
		t.Errorf("what was steered ends as %+v", o)
	}
}

// A voice message that is not transcribed is answered with a notice, once in a conversation, whether it begins a turn or is steered
// into one.
func TestUnheardVoiceMessages(t *testing.T) {
	t.Parallel()
	r := open(t)
	m := message("")
	m.Media = r.stored(t, chat.Voice, []byte(mediatest.Opus))
	told := func(lines []agent.Line, err error) {
		if err != nil || len(lines) != 1 {
			t.Errorf("told %+v, error %v", lines, err)
		}
	}
	r.plays(r.steers(t, told, m))
	fresh := message("fresh")
	fresh.Fresh = true
	for _, first := range []domain.Message{m, fresh} {
		for _, want := range [][]string{{wording.VoiceUnheard, "hi"}, {"hi"}} {
			r.do(t, first)
			if got, _ := r.told(t); !cmp.Equal(got, want) {
				t.Errorf("after %q the chat is told %q, want %q", first.Text, got, want)
			}
			first = m
		}
	}
}

// What was steered into a turn whose claude session is lost is unknown to the fresh one, so it must have a turn of its own.
// Behaviour: steer-once.
func TestSteeredMessagesOfALostSessionWait(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.begin(t, agent.Result{})
	steers := r.steers(t, func(told []agent.Line, err error) {
		if err != nil || len(told) != 1 {
			t.Errorf("told %+v, error %v", told, err)
		}
	}, message("and this"))
	r.plays(func(ctx context.Context, turn agent.Turn) (agent.Result, error) {
		result, _ := steers(ctx, turn)
		return result, &agent.Failure{Class: agent.ContextOverflow}
	}, says("hi"))
	r.do(t, message("hello"))
	if n := r.waiting(t); n != 1 || r.outcome(t).State != "" || len(r.asked()) != 2 || r.asked()[1].Steering != nil {
		t.Errorf("%d messages wait, or the fresh session is told what came after that", n)
	}
}
