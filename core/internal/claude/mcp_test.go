package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// toolbox is an MCP server with the tools "echo", which returns its text, "fail", "hang", which ends with its context, and
// "large".
type toolbox struct {
	mu      sync.Mutex
	methods []string
	hanging chan struct{} // receives when "hang" is called
	ended   chan struct{} // receives when that has ended
}

func newToolbox() *toolbox {
	return &toolbox{hanging: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
}

func (b *toolbox) Handle(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(message, &call); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.methods = append(b.methods, call.Method)
	b.mu.Unlock()
	reply := func(result string) (json.RawMessage, error) {
		return json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)), nil
	}
	switch {
	case call.Method == "initialize":
		return reply(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"clawhost","version":"1"}}`)
	case call.Method == "tools/list":
		return reply(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"fail"},{"name":"hang"},{"name":"large"}]}`)
	case call.Params.Name == "echo":
		return reply(`{"content":[{"type":"text","text":"` + call.Params.Arguments["text"] + `"}]}`)
	case call.Params.Name == "fail":
		return nil, errors.New("it failed with sk-ant-secret123")
	case call.Params.Name == "large":
		return reply(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 2<<20) + `"}]}`)
	case call.Params.Name == "hang":
		b.hanging <- struct{}{}
		<-ctx.Done()
		b.ended <- struct{}{}
		return nil, ctx.Err()
	default:
		return nil, nil
	}
}

func (b *toolbox) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.methods...)
}

// The agent calls the host's tools without a question and sees what they return.
// Behaviour: tools.
func TestHostTools(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		call, output string
		failed       bool
	}{
		"answers":    {`{"tool":"echo","input":{"text":"hello"}}`, "hello", false},
		"fails":      {`{"tool":"fail"}`, "MCP error -32603: it failed with [redacted]", true},
		"is unknown": {`{"tool":"nope"}`, "No such tool available: mcp__clawhost__nope", true},
		"too large":  {`{"tool":"large"}`, "MCP error -32603: the answer is too large: at most 1 MB is passed on", true},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, r *rig) {
				tools := newToolbox()
				turn := r.turn(`[[stub {"calls":[` + tc.call + `],"say":"$TOOLS"}]]`)
				turn.Tools = tools
				turn.Asker = askFunc(func(context.Context, agent.Question) agent.Decision {
					t.Error("somebody was asked about a tool of the host's")
					return agent.Decision{}
				})
				result := r.ask(r.pool(), turn)
				if result.Text != "echo\nfail\nhang\nlarge" {
					t.Errorf("the tools are %q", result.Text)
				}
				if len(result.Tools) != 1 || result.Tools[0].Output != tc.output || result.Tools[0].Failed != tc.failed {
					t.Errorf("the call brought %+v", result.Tools)
				}
				if got := strings.Join(tools.seen(), " "); !strings.Contains(got, "notifications/initialized") || !strings.HasPrefix(got, "initialize ") {
					t.Errorf("the server was sent %q", got)
				}
			})
		})
	}
}

// Other tools, or none, need another process; the same ones do not.
// Behaviour: tools-change.
func TestToolsBelongToTheProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	for i, step := range []struct {
		tools     string
		offered   bool
		processes int
		text      string
	}{
		{"v1", true, 1, "first"},
		{"v1", true, 1, "second"},
		{"v2", true, 2, "third"},
		{"", false, 3, "MCP"},
	} {
		turn := r.turn(`[[stub {"calls":[{"tool":"echo","input":{"text":"` + step.text + `"}}],"say":"$OUTPUT"}]]`)
		turn.Profile.Tools = step.tools
		if step.offered {
			turn.Tools = newToolbox() // each turn has its own
		}
		want := step.text
		if !step.offered {
			want = "mcp__clawhost__echo is not allowed here"
		}
		if result := r.ask(pool, turn); step.offered && result.Text != want || len(result.Tools) != 1 || !strings.HasPrefix(result.Tools[0].Output, want) {
			t.Errorf("turn %d brings %+v", i, result)
		}
		if n := r.processes.spawned(); n != step.processes {
			t.Errorf("turn %d: %d processes were started, want %d", i, n, step.processes)
		}
	}
}

// A call ends with its turn, and Run waits for it.
func TestCallsEndWithTheTurn(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		tools := newToolbox()
		pool := r.pool()
		ctx, stop := context.WithCancelCause(t.Context())
		turn := r.turn(`[[stub {"calls":[{"tool":"hang"}]}]]`)
		turn.Tools = tools
		running := r.begin(ctx, pool, turn)
		<-tools.hanging
		stop(agent.ErrStopped)
		<-running.done
		r.wantClass(running.err, agent.Aborted)
		select {
		case <-tools.ended:
		default:
			t.Error("Run did not wait for the call")
		}
		next := r.turn(`[[stub {"calls":[{"tool":"echo","input":{"text":"again"}}],"say":"$OUTPUT"}]]`)
		next.Tools = tools
		if result := r.ask(pool, next); result.Text != "again" {
			t.Errorf("the next answer is %q", result.Text)
		}
	})
}
