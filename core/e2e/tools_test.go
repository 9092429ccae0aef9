//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// toolbox is an MCP server with one tool, "greet".
type toolbox struct {
	mu      sync.Mutex
	methods []string
	greet   func(ctx context.Context, name string) (string, error)
}

func (b *toolbox) Handle(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments struct {
				Name string `json:"name"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(message, &call); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.methods = append(b.methods, call.Method)
	b.mu.Unlock()
	reply := func(result any) (json.RawMessage, error) {
		return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result})
	}
	switch call.Method {
	case "initialize":
		return reply(map[string]any{
			"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "clawhost", "version": "1"},
		})
	case "tools/list":
		return reply(map[string]any{"tools": []any{map[string]any{
			"name": "greet", "description": "Greets somebody.", "inputSchema": map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
			},
		}}})
	case "tools/call":
		text, err := b.greet(ctx, call.Params.Arguments.Name)
		if err != nil {
			return nil, err
		}
		return reply(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
	default:
		return nil, nil
	}
}

// greets is an answer that calls the tool.
func greets(names ...string) messagesapi.Reply {
	var r messagesapi.Reply
	for _, name := range names {
		r.Tools = append(r.Tools, messagesapi.ToolUse{Name: "mcp__clawhost__greet", Input: map[string]any{"name": name}})
	}
	return r
}

// The model gets the host's tools from its first request on, calls them without approval and reads their results, also
// next to an allowed tool of the CLI and after a resume.
// Behaviour: tools.
func TestHostTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	box := &toolbox{greet: func(_ context.Context, name string) (string, error) {
		if name == "" || name == "Nobody" {
			return "", errors.New("there is nobody")
		}
		return fmt.Sprintf("hello %s, %s", name, strings.Repeat("x", 10<<10)), nil
	}}
	turn := func(text string) agent.Turn {
		turn := r.turn(text)
		turn.Tools, turn.Profile.Tools = box, "v1"
		turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
			t.Errorf("asked about %+v", q)
			return agent.Decision{}
		})
		return turn
	}
	pool := r.pool()
	for i := range 2 {
		mixed := greets("Bob", "Nobody")
		mixed.Tools = append(mixed.Tools, messagesapi.Bash("echo hi").Tools...)
		r.api.Enqueue(mixed, messagesapi.Reply{Text: "greeted"})
		got := r.run(pool, turn("greet them"))
		if got.Text != "greeted" || len(got.Tools) != 3 || got.Tools[0].Failed || !strings.HasPrefix(got.Tools[0].Output, "hello Bob") ||
			!got.Tools[1].Failed || !strings.Contains(got.Tools[1].Output, "there is nobody") || got.Tools[2].Output != "hi" {
			t.Errorf("turn %d brings %+v", i, got)
		}
		for _, request := range r.api.Messages() {
			if !slices.ContainsFunc(request.Prompt.Tools, func(tool messagesapi.Tool) bool { return tool.Name == "mcp__clawhost__greet" }) {
				t.Errorf("a request offers %v", request.Prompt.Tools)
			}
		}
		r.close(pool)
		pool = r.pool()
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.methods[0] != "initialize" || !slices.Contains(box.methods, "notifications/initialized") {
		t.Errorf("the server was sent %q", box.methods)
	}
}

// A call ends with its turn.
// Behaviour: tools-timeout.
func TestStopEndsACall(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	called, ended := make(chan struct{}), make(chan struct{}, 1)
	box := &toolbox{greet: func(ctx context.Context, _ string) (string, error) {
		close(called)
		<-ctx.Done()
		ended <- struct{}{}
		return "", ctx.Err()
	}}
	r.api.Enqueue(greets("Bob"))
	turn := r.turn("greet him")
	turn.Tools = box
	ctx, stop := context.WithCancelCause(r.ctx)
	running := r.begin(ctx, pool, turn)
	<-called
	stop(agent.ErrStopped)
	<-running.done
	r.wantClass(running.err, agent.Aborted)
	select {
	case <-ended:
	default:
		t.Error("Run did not wait for the call")
	}
	next := r.turn("still there?")
	next.Tools = box
	if got := r.run(pool, next).Text; !strings.HasSuffix(got, "still there?") {
		t.Errorf("answer after the stop = %q", got)
	}
}
