package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// cliVariable names the claude CLI, as it does for the tests with the real one.
const cliVariable = "CLAWHOST_CLAUDE"

// findCLI returns the real claude CLI and its version: the one that is named, the one of the environment, that on PATH, or that
// of the tests. Empty: there is none, or the stub is named.
func findCLI(ctx context.Context, named string) (path, version string, err error) {
	candidates := []string{named}
	if named == "" {
		tests, err := filepath.Glob("core/e2e/node_modules/@anthropic-ai/claude-code-*/claude") // one for each C library
		if err != nil {
			return "", "", err
		}
		candidates = append([]string{os.Getenv(cliVariable), "claude"}, tests...)
	}
	for _, candidate := range candidates {
		if candidate == "" || candidate == "stub" {
			continue
		}
		found, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}
		says, err := exec.CommandContext(ctx, found, "--version").Output()
		if err != nil {
			continue
		}
		path, err := filepath.Abs(found)
		return path, strings.TrimSpace(string(says)), err
	}
	if named != "" && named != "stub" {
		return "", "", fmt.Errorf("-claude: %s is no claude that runs here", named)
	}
	return "", "", nil
}

// model is whom claude asks: a Messages API on this machine that answers at once, or the stub of claude itself.
type model struct {
	api *messagesapi.Server // nil: the stub
	cli string
}

// newModel returns the model of a real CLI, or that of the stub if cli is empty.
func newModel(cli string) model {
	if cli == "" {
		return model{}
	}
	return model{cli: cli, api: messagesapi.New(messagesapi.Options{Answer: func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
		number, ok := numberIn([]byte(p.LastUserText()))
		return messagesapi.Reply{Text: "echo: " + text(number)}, ok
	}})}
}

// stubStart is how long the stub takes to start: about as long as the CLI.
const stubStart = time.Second

// equip adds to a host's setup how it runs claude.
func (m model) equip(s setup) setup {
	s.env = maps.Clone(s.env)
	if s.env == nil {
		s.env = map[string]string{}
	}
	if m.api == nil {
		s.traced = true
		s.env["CLAUDE_STUB_START_MS"] = fmt.Sprint(stubStart.Milliseconds())
		return s
	}
	s.command = m.cli
	s.env["ANTHROPIC_BASE_URL"] = m.api.URL()
	s.env["ANTHROPIC_API_KEY"] = "sk-ant-bench"
	return s
}

// asked returns when the model was asked for the answer to a message that is visible already.
func (m model) asked(ctx context.Context, r *rig, number int) (time.Time, error) {
	if m.api == nil {
		trace, err := readTrace(r.path("trace"))
		if err == nil && trace.in[number].IsZero() {
			err = errors.New("the stub has not read it")
		}
		return trace.in[number], err
	}
	request, err := m.api.Await(ctx, func(r messagesapi.Request) bool {
		about, ok := numberIn([]byte(r.Prompt.LastUserText()))
		return ok && about == number && len(r.Prompt.Tools) > 0 // others are about a title and the like
	})
	return request.At, err
}

func (m model) close() {
	if m.api != nil {
		m.api.Close()
	}
}
