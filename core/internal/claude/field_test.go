package claude_test

import (
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// events are what the stub sends in addition to its own.
type events = []map[string]any

// system, result, speech and limit make them, as the CLI writes them.
func system(subtype string, fields map[string]any) map[string]any {
	event := map[string]any{"type": "system", "subtype": subtype}
	maps.Copy(event, fields)
	return event
}

func result(text string, fields map[string]any) map[string]any {
	event := map[string]any{"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": text, "stop_reason": "end_turn"}
	maps.Copy(event, fields)
	return event
}

func speech(text string, parent any) map[string]any {
	return map[string]any{"type": "assistant", "parent_tool_use_id": parent, "message": map[string]any{
		"id": "msg_late", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": []any{map[string]any{"type": "text", "text": text}},
	}}
}

func limit(info any) map[string]any {
	return map[string]any{"type": "rate_limit_event", "rate_limit_info": info}
}

// Events that belong to no turn, or say less than usual, change no answer. Users of other hosts have reported them.
// Behaviour: turn-end.
func TestOddEvents(t *testing.T) {
	t.Parallel()
	var (
		nothing   = map[string]any{"status": "rejected", "resetsAt": nil, "rateLimitType": nil, "overageResetsAt": nil, "unifiedWindows": map[string]any{"five_hour": map[string]any{"utilization": nil, "resetsAt": nil}}}
		late      = events{speech("CANARY", nil), result("CANARY", nil)}
		task      = map[string]any{"origin": map[string]any{"kind": "task-notification"}}
		subagents = events{
			speech("CANARY", "toolu_agent"), system("task_notification", map[string]any{"task_id": "a1", "status": "completed"}),
			system("init", nil), speech("CANARY", nil), result("CANARY", task), system("session_state_changed", map[string]any{"state": "idle"}),
		}
	)
	for name, sends := range map[string]map[string]events{
		"limits without times":             {"answer": {limit(nothing), limit(nil), limit(map[string]any{"status": nil, "resetsAt": "soon"}), limit(map[string]any{"status": "allowed", "resetsAt": 1.5})}},
		"a second init":                    {"answer": {system("init", nil), system("init", map[string]any{"mcp_servers": nil, "tools": nil})}},
		"a second result":                  {"after": {result("CANARY", nil)}},
		"a late answer":                    {"after": late},
		"an earlier result":                {"before": {result("CANARY", nil)}},
		"subagents after the result":       {"after": subagents},
		"subagents before the next answer": {"before": subagents},
		"an idle state too early":          {"answer": {system("session_state_changed", map[string]any{"state": "idle"})}},
		"unknown requests": {"answer": {
			{"type": "control_request", "request_id": "r1", "request": map[string]any{"subtype": "elicitation"}},
			{"type": "control_request", "request_id": "r2", "request": map[string]any{"subtype": "request_user_dialog"}},
			{"type": "control_request", "request_id": "r3"},
			{"type": "control_cancel_request", "request_id": "r9"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWays(t, func(t *testing.T, r *rig) {
				pool := r.pool()
				for _, answer := range []string{"one", "two", "three"} {
					turn := r.turn(directive(map[string]any{"sends": sends, "answer": answer}))
					var mu sync.Mutex
					var shown strings.Builder
					turn.Watcher = r.showing(func(p agent.Progress) {
						mu.Lock()
						defer mu.Unlock()
						shown.WriteString(p.Text)
					})
					if got := r.ask(pool, turn); got.Text != answer {
						t.Errorf("answer = %q, want %q", got.Text, answer)
					}
					mu.Lock()
					// Before its first line, and as an old CLI, claude has not reported what a turn answers.
					if strings.Contains(shown.String(), "CANARY") && answer != "one" && r.config.Env["CLAUDE_STUB_LEGACY"] == "" {
						t.Errorf("it was shown: %q", shown.String())
					}
					mu.Unlock()
				}
				r.wantSpawned(pool, 1)
			}, "new", "legacy")
		})
	}
}

// A limit whose end the CLI does not tell has none that is known.
func TestLimitWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]any{"null": nil, "a word": "soon", "the past": -1, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			_, err := r.pool().Run(r.Context(), r.turn(directive(map[string]any{
				"sends": map[string]events{"answer": {limit(map[string]any{"status": "rejected", "resetsAt": until})}}, "error": "429",
			})))
			if failure := r.wantClass(err, agent.RateLimit); !failure.ResetsAt.IsZero() {
				t.Errorf("it ends at %v", failure.ResetsAt)
			}
		})
	}
}

// A turn that ends without the model and says nothing, as happens after some resumptions, is run by another process. If it
// ends so there, too, that is its answer.
// Behaviour: turn-void.
func TestTurnThatDoesNothing(t *testing.T) {
	for void, want := range map[string]string{"once": "the answer", "always": ""} {
		t.Run(void, func(t *testing.T) {
			everyWay(t, func(t *testing.T, r *rig) {
				pool := r.pool()
				r.ask(pool, r.turn("hello"))
				if got := r.ask(pool, r.turn(directive(map[string]any{"void": void, "answer": "the answer"}))).Text; got != want {
					t.Errorf("answer = %q, want %q", got, want)
				}
				if got := r.ask(pool, r.turn("and now?")).Text; got != "echo: [Bob] and now?" {
					t.Errorf("the next answer is %q", got)
				}
				r.wantSpawned(pool, 2)
			})
		})
	}
}

// A claude that leaves its session is ended, because its answers would be lost with it, and the message runs in its own session.
// Behaviour: session-left.
func TestProcessThatLeavesItsSession(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before", "answer"} {
		t.Run(moment, func(t *testing.T) {
			everyWay(t, func(t *testing.T, r *rig) {
				pool := r.pool()
				r.ask(pool, r.turn("my number is 4711"))
				other := system("init", map[string]any{"session_id": "11111111-2222-4333-8444-555555555555"})
				turn := r.turn(directive(map[string]any{"sends": map[string]events{moment: {other}}, "token_delay_ms": 200, "answer": "the answer"}))
				got, err := pool.Run(r.Context(), turn)
				if err != nil {
					if failure := r.wantClass(err, agent.Died); !strings.Contains(failure.Detail, "left its session") {
						t.Errorf("failure %q does not say why", failure)
					}
					got = r.ask(pool, r.again(turn))
				}
				if got.Text != "the answer" {
					t.Errorf("the message is answered by %q", got.Text)
				}
				if n := r.processes.spawned(); n < 2 {
					t.Error("the process that left its session has answered")
				}
				if got := r.ask(pool, r.turn(directive(map[string]any{"say": "$HISTORY"}))).Text; !strings.Contains(got, "my number is 4711") {
					t.Errorf("the conversation is %q", got)
				}
			})
		})
	}
}

// A claude that exits as if all were well, without a result, has not answered.
func TestExitWithoutAResult(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"consumed", "answer", "tool"} {
		t.Run(point, func(t *testing.T) {
			everyWay(t, func(t *testing.T, r *rig) {
				pool := r.pool()
				turn := r.turn(directive(map[string]any{"crash": point, "exit": 0, "tool": "true", "answer": "one two three"}))
				_, err := pool.Run(r.Context(), turn)
				r.wantClass(err, agent.Died)
				if got := r.ask(pool, r.again(turn)); got.Text != "one two three" || !got.Continued {
					t.Errorf("the second attempt brings %+v", got)
				}
			})
		})
	}
}
