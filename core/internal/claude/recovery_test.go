package claude_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// transcript returns the session's transcript.
func (r *rig) transcript() string {
	r.Helper()
	paths, err := filepath.Glob(filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], "projects", "*", r.session+".jsonl"))
	if err != nil || len(paths) != 1 {
		r.Fatalf("transcripts = %v, %v", paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

// Wherever claude is killed, the next attempt brings the one answer, and claude has given it once.
// Behaviour: recovery-continue.
func TestKillAnywhere(t *testing.T) {
	t.Parallel()
	points := map[string]struct {
		recovered bool // the answer was in the transcript
		continued bool // claude was asked to go on
		alive     bool // the first attempt is answered
	}{
		"before":   {},
		"ack":      {},
		"consumed": {continued: true},
		"tool":     {continued: true},
		"answer":   {continued: true},
		"answered": {recovered: true},
		"result":   {alive: true, recovered: true},
	}
	for point, want := range points {
		for _, first := range []bool{true, false} {
			for _, life := range []string{"same", "next"} {
				name := strings.Join([]string{point, map[bool]string{true: "first", false: "later"}[first], life}, " ")
				t.Run(name, func(t *testing.T) {
					everyWay(t, func(t *testing.T, r *rig) {
						pool := r.pool()
						if !first {
							r.ask(pool, r.turn("earlier"))
						}
						script := map[string]any{"crash": point, "answer": "the one answer"}
						if point == "tool" {
							script["tool"] = "sleep 100"
						}
						turn := r.turn(directive(script))
						want := want
						if point == "before" && !first && !r.config.OneShot {
							// An idle process that dies before it takes the line is replaced unseen.
							want.alive, want.recovered = true, true
						}
						_, err := pool.Run(r.Context(), turn)
						if !want.alive {
							r.wantClass(err, agent.Died)
						} else if err != nil {
							t.Fatal(err)
						}
						if life == "next" {
							r.closeNow(pool)
							pool = r.pool()
						}
						result := r.ask(pool, r.again(turn))
						if result.Text != "the one answer" || result.Recovered != want.recovered {
							t.Errorf("the second attempt brought %q, recovered %t", result.Text, result.Recovered)
						}
						log := r.transcript()
						if n := strings.Count(log, `"stop_reason":"end_turn"`); n != map[bool]int{true: 1, false: 2}[first] {
							t.Errorf("claude has answered %d times:\n%s", n, log)
						}
						if got := strings.Contains(log, "was cut off"); got != want.continued {
							t.Errorf("asked to go on: %t, want %t", got, want.continued)
						}
						// A third attempt, after a crash before the answer was stored, brings the same.
						third := r.again(turn)
						if result := r.ask(pool, third); result.Text != "the one answer" || !result.Recovered {
							t.Errorf("the third attempt brought %+v", result)
						}
						if got := r.ask(pool, r.turn("go on")).Text; got != "echo: [Bob] go on" {
							t.Errorf("the next message is answered by %q", got)
						}
					})
				})
			}
		}
	}
}

// What was written before the tools is known in addition to the answer, also where an earlier attempt has written it.
// Behaviour: files-out.
func TestTextsBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for point, want := range map[string]struct{ recovered, continued bool }{"": {}, "tool": {continued: true}, "answered": {recovered: true}} {
		t.Run(point, func(t *testing.T) {
			modes(t, func(t *testing.T, r *rig) {
				pool := r.pool()
				turn := r.turn(directive(map[string]any{"before": "MEDIA:a.png", "tool": "echo hi", "crash": point, "answer": "the answer"}))
				if point != "" {
					_, err := pool.Run(r.Context(), turn)
					r.wantClass(err, agent.Died)
					turn = r.again(turn)
				}
				result := r.ask(pool, turn)
				if diff := cmp.Diff([]string{"MEDIA:a.png"}, result.Before); diff != "" || result.Recovered != want.recovered || result.Continued != want.continued {
					t.Errorf("%+v %s", result, diff)
				}
			})
		})
	}
}

// closeNow ends a process of the host in good order.
func (r *rig) closeNow(pool *claude.Pool) {
	r.Helper()
	if err := pool.Close(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// An id that claude has answered already is never answered again, even if the host has forgotten its attempts.
func TestRepeatedID(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		turn := r.turn("once")
		r.ask(pool, turn)
		for range 2 {
			result := r.ask(pool, turn)
			if result.Text != "echo: [Bob] once" || !result.Recovered {
				t.Errorf("the repetition brought %+v", result)
			}
		}
		if n := strings.Count(r.transcript(), `"stop_reason":"end_turn"`); n != 1 {
			t.Errorf("claude has answered %d times", n)
		}
	})
}

// A failed turn is tried again by asking claude to go on, as its id is spent: with what is true of why.
// Behaviour: turn-retry.
func TestRetryAfterFailure(t *testing.T) {
	const then = "\nSee what has been done already, do not do it twice, finish the rest, and answer that message."
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		for failed, want := range map[string]string{
			"500":   "[clawhost] The answer to the message before this one was cut off, as the service behind the model failed.",
			"529":   "[clawhost] The answer to the message before this one was cut off, as the model had no capacity.",
			"limit": "[clawhost] The answer to the message before this one was cut off, as the usage limit was reached.",
		} {
			turn := r.turn(directive(map[string]any{"error": failed}))
			if _, err := pool.Run(r.Context(), turn); err == nil {
				t.Fatalf("%s is no failure", failed)
			}
			result := r.ask(pool, r.again(turn))
			if asked := recorded(want + then); !strings.Contains(r.transcript(), asked) || result.Recovered {
				t.Errorf("the second attempt after %s, recovered %v, asks otherwise than by %s", failed, result.Recovered, asked)
			}
			// One that does not know it any more finds the answer that is there.
			if third := r.ask(pool, r.again(r.again(turn))); !third.Recovered || third.Text != result.Text {
				t.Errorf("the third attempt brought %+v", third)
			}
		}
	})
}

// A message whose tries all fail is continued however many there were, also where an earlier host did not count them.
// Behaviour: turn-retry.
func TestContinueManyTimes(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		limit := filepath.Join(t.TempDir(), "limit")
		r.config.Env["CLAUDE_STUB_LIMIT"] = limit
		if err := os.WriteFile(limit, []byte(fmt.Sprint(time.Now().Add(time.Hour).Unix())), 0o600); err != nil {
			t.Fatal(err)
		}
		pool, turn := r.pool(), r.turn("hello")
		for range 5 {
			_, err := pool.Run(r.Context(), turn)
			r.wantClass(err, agent.RateLimit)
			turn.Again, turn.Started = true, true
		}
		if err := os.Remove(limit); err != nil {
			t.Fatal(err)
		}
		if result := r.ask(pool, turn); !strings.HasSuffix(result.Text, "hello") || result.Continued {
			t.Errorf("it is answered by %+v", result)
		}
	})
}

// recorded returns a text as a transcript has it.
func recorded(text string) string {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return string(quoted[1 : len(quoted)-1])
}

// A new session's message is not counted as taken before it is on claude's disk.
func TestConsumedIsDurable(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		_, err := pool.Run(r.Context(), r.turn(directive(map[string]any{"crash": "ack"})))
		r.wantClass(err, agent.Died)
		if r.started {
			t.Error("the message is not in the transcript, but Consumed was called")
		}
	})
}

// Behaviour: oneshot.
func TestTranscriptIsGone(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		r.started = true
		_, err := pool.Run(r.Context(), r.turn("hello"))
		r.wantClass(err, agent.TranscriptMissing)
		if stats := pool.Stats(); stats.Running != 0 || stats.Idle != 0 {
			t.Errorf("slots are taken: %+v", stats)
		}
	})
}

// The host may not know that its session has begun: the transcript tells.
func TestSessionStartIsFoundInTheTranscript(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		first := r.pool()
		r.ask(first, r.turn("hello"))
		r.closeNow(first)
		r.started = false
		if got := r.ask(r.pool(), r.turn("again")).Text; got != "echo: [Bob] again" {
			t.Errorf("answer = %q", got)
		}
	})
}

// The CLI names the transcript's folder by the real path.
func TestWorkspaceBehindLink(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	link := filepath.Join(t.TempDir(), "ünïcode link")
	if err := os.Symlink(r.config.Workspace, link); err != nil {
		t.Fatal(err)
	}
	r.config.Workspace = link
	pool := r.pool()
	turn := r.turn(directive(map[string]any{"crash": "answered"}))
	_, err := pool.Run(r.Context(), turn)
	r.wantClass(err, agent.Died)
	if result := r.ask(pool, r.again(turn)); !result.Recovered {
		t.Errorf("the answer was not found: %+v", result)
	}
}
