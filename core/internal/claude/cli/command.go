// Package cli runs the claude CLI as processes: command line, environment and settings, start, pipes and end, together
// with all processes that it has started. It passes lines on without reading them.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// Command is the part of the command line that every claude has in common.
type Command struct {
	options     Options
	hidden      []string // values that no error may contain
	Path        string
	settings    *settings
	args        []string
	allowed     []string // tools that are used without a question
	env         []string
	UsualModel  string // the model if none is chosen
	workspace   string // as given, or the folder of [Command.In]
	home        string // the workspace of the agent, if that is another folder; else empty
	family      *process.Family
	Folder      string            // the same without links, as the CLI names it
	Transcripts transcript.Folder // of the workspace
}

// NewCommand finds the CLI and builds the command line.
func NewCommand(cfg Options) (*Command, error) {
	if cfg.Command == "" {
		cfg.Command = "claude"
	}
	path, err := exec.LookPath(cfg.Command)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, &NotInstalledError{Command: cfg.Command, Err: err}
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	for _, arg := range cfg.Args {
		if name, _, _ := strings.Cut(arg, "="); slices.Contains(ownFlags, name) {
			return nil, fmt.Errorf("claude.args: %s is set by the host", name)
		}
	}
	workspace, err := filepath.Abs(cfg.Workspace)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	if info, err := os.Stat(real); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("workspace: %s is not a folder", workspace)
	}
	c := &Command{
		settings: newSettings(cfg),
		options:  cfg, hidden: hiddenValues(cfg.Env), allowed: cfg.AllowedTools, family: cfg.Family, Path: path,
		UsualModel: cmp.Or(cfg.Env["ANTHROPIC_MODEL"], "default"), workspace: workspace, Folder: real,
		env: environment(os.LookupEnv, os.Environ(), cfg),
	}
	c.Transcripts = transcript.Of(configDir(c.env), real)
	c.args = append(c.args, cfg.Args...)
	c.args = append(c.args,
		"--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--setting-sources", sources(cfg), "--settings", c.settings.path, "--strict-mcp-config",
		"--permission-prompt-tool", "stdio",
	)
	if len(cfg.FallbackModels) > 0 {
		c.args = append(c.args, "--fallback-model", strings.Join(cfg.FallbackModels, ","))
	}
	c.args = append(append(append(c.args, "--disallowedTools"), withheld...), cfg.DisallowedTools...)
	return c, nil
}

// In returns the command for another working directory; empty: the workspace. There, the workspace may be read without a question, too.
func (c *Command) In(folder string) (*Command, error) {
	if folder == "" || folder == c.workspace {
		return c, nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	in := *c
	in.workspace, in.Folder, in.home = folder, real, c.Folder
	in.Transcripts = transcript.Of(configDir(c.env), real)
	return &in, nil
}

// Folders returns the working directory and, if that is another folder, the workspace of the agent, both without links.
func (c *Command) Folders() []string {
	if c.home == "" {
		return []string{c.Folder}
	}
	return []string{c.Folder, c.home}
}

// withheld are the tools that no session gets, whatever the configuration allows. The first two find other sessions on
// the machine and write into them. The next three continue after the turn, although background tasks are switched
// off, and then begin turns without a request, whose answers are not shown. The others change the working folder.
var withheld = []string{"ListAgents", "SendMessage", "Monitor", "ScheduleWakeup", "Workflow", "EnterWorktree", "ExitWorktree"}

// ownFlags are the CLI's flags that the host sets, or that would conflict with them.
var ownFlags = []string{
	"-p", "--print", "--input-format", "--output-format", "--verbose", "--include-partial-messages", "--replay-user-messages",
	"--session-id", "--resume", "-r", "--continue", "-c", "--fork-session", "--no-session-persistence",
	"--setting-sources", "--settings", "--permission-prompt-tool", "--permission-mode", "--dangerously-skip-permissions",
	"--allow-dangerously-skip-permissions", "--model", "--fallback-model", "--effort", "--append-system-prompt",
	"--append-system-prompt-file", "--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools",
	"--strict-mcp-config", "--mcp-config", "--bg", "--background", "--managed-settings", "--system-prompt-snapshot",
	"--permission-prompts", "--inherit-permission-mode", "--channels", "--dangerously-load-development-channels", "--remote-control",
}

// tooled returns the flags for tools in addition to the CLI's, and for the permitted ones.
func (c *Command) tooled(t agent.Turn) []string {
	allowed := c.allowed
	var args []string
	if t.Tools != nil {
		args, allowed = serverFlags(), append(slices.Clone(allowed), hostTools)
	}
	if c.home != "" {
		args = append(args, "--add-dir", c.home)
	}
	if s := t.Profile.Setup; s != nil && s.Plugin != "" {
		args = append(args, "--plugin-dir", s.Plugin)
	}
	if len(allowed) > 0 {
		args = append(append(args, "--allowedTools"), allowed...)
	}
	return args
}

// profiled returns the flags of a profile, except its system prompt. The model is always named, because a resumed
// session would continue with its last one, even if that was for one message only.
func (c *Command) profiled(p agent.Profile) []string {
	args := []string{"--permission-mode", permissionMode(p), "--model", cmp.Or(p.Model, c.UsualModel)}
	if level := EffortLevel(p.Effort); level != "" {
		args = append(args, "--effort", level)
	}
	return args
}

// EffortLevel returns the CLI's level for an effort. For [agent.EffortOff] it is the lowest one, which models that always think
// use; thinking is switched off by a separate request.
func EffortLevel(effort string) string {
	if effort == agent.EffortOff {
		return "low"
	}
	return effort
}

func permissionMode(p agent.Profile) string {
	if p.PermissionMode == "" {
		return "default"
	}
	return p.PermissionMode
}

// SameProcess reports whether a process with one profile can run a turn with the other, perhaps after a change of model,
// effort and speed.
func SameProcess(a, b agent.Profile) bool {
	return permissionMode(a) == permissionMode(b) && a.Skills == b.Skills && a.Private == b.Private && a.Tools == b.Tools &&
		a.Setup == b.Setup && a.Only == b.Only && a.Apart == b.Apart
}

// The host's own tools are offered by an MCP server over the CLI's stdin and stdout: it needs no port, no secret and no
// other process. The host decides about their use itself, so they are permitted without a question.
const (
	ServerName = config.ReservedServer
	hostTools  = "mcp__" + ServerName + "__*"
)

// serverFlags declare the host's MCP server. Without them the model of newer CLIs must search for its tools before it
// can call them.
func serverFlags() []string {
	return []string{"--mcp-config", `{"mcpServers":{"` + ServerName + `":{"type":"sdk","name":"` + ServerName + `","alwaysLoad":true}}}`}
}
