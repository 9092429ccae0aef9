package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/sdk/chat"
)

// claudeRig is the real CLI, run by the host's own pool, with a home, a workspace and a Messages API of its own.
type claudeRig struct {
	dir     string
	api     *messagesapi.Server
	pool    *claude.Pool
	options cli.Options
}

// newClaudeRig prepares a CLI. Edit, if not nil, changes how it is run.
func newClaudeRig(command string, edit func(*cli.Options)) (*claudeRig, error) {
	dir, err := os.MkdirTemp("", "bench-claude")
	if err != nil {
		return nil, err
	}
	const key = "sk-ant-bench"
	r := &claudeRig{dir: dir, api: messagesapi.New(messagesapi.Options{Key: key})}
	r.options = cli.Options{
		Command: command, Workspace: filepath.Join(dir, "workspace"), RunDir: filepath.Join(dir, "run"), AllowedTools: []string{"Bash"},
		Env: map[string]string{
			"HOME": dir, "CLAUDE_CONFIG_DIR": filepath.Join(dir, "claude"), "ANTHROPIC_BASE_URL": r.api.URL(), "ANTHROPIC_API_KEY": key,
		},
	}
	if edit != nil {
		edit(&r.options)
	}
	if err := os.Mkdir(r.options.Workspace, 0o700); err != nil {
		return nil, errors.Join(err, r.remove())
	}
	return r, nil
}

// open starts a pool, which keeps its processes.
func (r *claudeRig) open() error {
	pool, err := claude.New(claude.Config{
		Agents: map[string]cli.Options{"": r.options}, ParkAfter: time.Hour, WeighEvery: time.Hour,
	}, hclog.NewNullLogger(), unrecorded{})
	r.pool = pool
	return err
}

// close ends the pool and its processes, if there is one.
func (r *claudeRig) close() error {
	if r.pool == nil {
		return nil
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience) // also after an interrupt
	defer cancel()
	err := r.pool.Close(ctx)
	r.pool = nil
	return err
}

// remove ends everything.
func (r *claudeRig) remove() error {
	err := r.close()
	r.api.Close()
	return errors.Join(err, os.RemoveAll(r.dir))
}

// turn is a message of a session, or without a text one that is about to come.
func (r *claudeRig) turn(session string, started bool, text string) agent.Turn {
	t := agent.Turn{Session: session, Started: started, Authority: chat.Owner, Tools: hostTools{}, Profile: agent.Profile{SystemPrompt: benchPrompt, Tools: "1"}}
	if text != "" {
		t.UUID, t.Prompt = uuid.NewString(), "[message]\n"+text
	}
	return t
}

// start starts or resumes the process of a session, and returns it with the time until it answers the first request.
func (r *claudeRig) start(ctx context.Context, session string, started bool) (pid int, took time.Duration, err error) {
	const step, patience = time.Millisecond, time.Minute
	began := time.Now()
	r.pool.Expect(r.turn(session, started, ""))
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for time.Since(began) < patience {
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-ticker.C:
		}
		if s := r.pool.Stats(); s.Idle == 1 {
			return s.PIDs[0], time.Since(began), nil
		}
	}
	return 0, 0, errors.New("claude does not start")
}

// say has a turn answered.
func (r *claudeRig) say(ctx context.Context, session string, started bool, text string) (time.Duration, error) {
	began := time.Now()
	_, err := r.pool.Run(ctx, r.turn(session, started, text))
	return time.Since(began), err
}

// transcript is where the CLI keeps a session.
func (r *claudeRig) transcript(session string) (string, error) {
	real, err := filepath.EvalSymlinks(r.options.Workspace)
	if err != nil {
		return "", err
	}
	folder := cli.Transcripts(r.options, real)
	if !folder.Has(session) {
		return "", fmt.Errorf("there is no transcript of %s", session)
	}
	return filepath.Join(string(folder), session+".jsonl"), nil
}

// unrecorded are processes that need no record.
type unrecorded struct{}

func (unrecorded) RecordProcess(context.Context, domain.Process) error { return nil }
func (unrecorded) DeleteProcess(context.Context, int, uint64) error    { return nil }

// hostTools is an MCP server with as many tools as the host has.
type hostTools struct{}

// Handle implements [agent.ToolServer].
func (hostTools) Handle(_ context.Context, message json.RawMessage) (json.RawMessage, error) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(message, &call); err != nil || call.ID == nil {
		return nil, err
	}
	result := `{}`
	switch call.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"clawhost","version":"1"}}`
	case "tools/list":
		const schema = `"inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}`
		result = `{"tools":[{"name":"message",` + schema + `},{"name":"sessions",` + schema + `},{"name":"members",` + schema + `}]}`
	}
	return json.RawMessage(`{"jsonrpc":"2.0","id":` + string(call.ID) + `,"result":` + result + `}`), nil
}

// benchPrompt is as long as the host's own system prompt.
var benchPrompt = strings.Repeat("You answer in a chat. Write short texts, as people do there. ", 100)
