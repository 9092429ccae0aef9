package claude

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// marker is the variable in the environment of claude, and so of everything that it starts, by which this host's
// processes are found. Its value is of one life of the host.
const marker = "CLAWHOST_RUN"

// sessionMarker is the variable that the CLI gives to its tools.
const sessionMarker = "CLAUDE_CODE_SESSION_ID"

// command is what the command line of every claude has.
type command struct {
	path        string
	args        []string
	allowed     []string // tools that nobody is asked about
	env         []string
	usual       string // the model where none is chosen
	workspace   string // as given
	family      *family
	real        string            // the same without links, as the CLI names it
	transcripts transcript.Folder // the workspace's
}

// newCommand finds the CLI, writes the files that its flags name, and builds the command line.
func newCommand(cfg Config, life string) (*command, error) {
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
	settings, err := writeSettings(cfg)
	if err != nil {
		return nil, err
	}
	c := &command{
		allowed: cfg.AllowedTools, family: newFamily(cfg.Children, life), path: path, usual: cmp.Or(cfg.Env["ANTHROPIC_MODEL"], "default"), workspace: workspace, real: real,
		env: environment(os.LookupEnv, os.Environ(), cfg, life),
	}
	c.transcripts = transcript.Of(configDir(c.env), real)
	c.args = append(c.args, cfg.Args...)
	c.args = append(c.args,
		"--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--setting-sources", "", "--settings", settings, "--strict-mcp-config",
		"--permission-prompt-tool", "stdio",
	)
	if len(cfg.FallbackModels) > 0 {
		c.args = append(c.args, "--fallback-model", strings.Join(cfg.FallbackModels, ","))
	}
	c.args = append(append(append(c.args, "--disallowedTools"), withheld...), cfg.DisallowedTools...)
	return c, nil
}

// withheld are the tools that no session gets, whatever the configuration allows. The first two find other sessions of the
// machine and write into them. The last begins a turn later, which nobody asked for and whose answer nobody would see.
var withheld = []string{"ListAgents", "SendMessage", "ScheduleWakeup"}

// ownFlags are the CLI's flags that the host sets or that would undo what it sets.
var ownFlags = []string{
	"-p", "--print", "--input-format", "--output-format", "--verbose", "--include-partial-messages", "--replay-user-messages",
	"--session-id", "--resume", "-r", "--continue", "-c", "--fork-session", "--no-session-persistence",
	"--setting-sources", "--settings", "--permission-prompt-tool", "--permission-mode", "--dangerously-skip-permissions",
	"--allow-dangerously-skip-permissions", "--model", "--fallback-model", "--effort", "--append-system-prompt",
	"--append-system-prompt-file", "--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools",
	"--strict-mcp-config", "--mcp-config", "--bg", "--background", "--managed-settings", "--system-prompt-snapshot",
	"--permission-prompts", "--inherit-permission-mode", "--channels", "--dangerously-load-development-channels", "--remote-control",
}

// switches are the CLI's own variables that the host sets. The first part may be overridden by the configuration.
var (
	tunable = map[string]string{
		"CLAUDE_CODE_MAX_RETRIES":                  "2", // the host retries; the CLI's ten would hide a 401 for three minutes
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_DISABLE_BUNDLED_SKILLS":       "1",
		"DISABLE_TELEMETRY":                        "1",
		"DISABLE_ERROR_REPORTING":                  "1",
		"DISABLE_AUTOUPDATER":                      "1",
	}
	fixed = map[string]string{
		"CLAUDE_CODE_DISABLE_ATTACHMENTS":       "1", // else "@/any/file" in a chat reads that file unasked
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS":  "1",
		"CLAUDE_CODE_DISABLE_CRON":              "1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY":       "1", // else a turn writes unasked what all sessions of the workspace read
	}
	// inherited are the variables of the host's environment that claude gets, beside LC_*.
	inherited = []string{"HOME", "PATH", "USER", "LANG", "TZ", "TERM", "TMPDIR", "CLAUDE_CONFIG_DIR"}
)

// managed is the variable that keeps the API's credentials out of the environment of the shell, of hooks and of MCP servers.
// With it the CLI works with no credentials but those of its environment: it reads neither a login nor an apiKeyHelper nor a
// cloud's credentials.
const managed = "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST"

// credentialed reports whether claude gets its credentials for Anthropic's API by its environment.
func credentialed(cfg Config) bool {
	for name, value := range cfg.Env {
		if strings.HasPrefix(name, "CLAUDE_CODE_USE_") && value != "" {
			return false // another provider's
		}
	}
	return cfg.Credentials != nil || cfg.Env["ANTHROPIC_API_KEY"] != "" || cfg.Env["ANTHROPIC_AUTH_TOKEN"] != ""
}

// environment is claude's environment, sorted.
func environment(lookup func(string) (string, bool), all []string, cfg Config, life string) []string {
	vars := map[string]string{}
	for _, name := range inherited {
		if value, ok := lookup(name); ok {
			vars[name] = value
		}
	}
	for _, pair := range all {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "LC_") {
			vars[name] = value
		}
	}
	if credentialed(cfg) {
		vars[managed] = "1"
	}
	for _, more := range []map[string]string{tunable, cfg.Env, fixed, {marker: life}} {
		for name, value := range more {
			vars[name] = value
		}
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// credentials are the variables of one process for an API whose key it does not get. Where requests go through a proxy, these
// do not. Revoke is called when the process has ended.
func credentials(cfg Config) (env []string, revoke func()) {
	if cfg.Credentials == nil {
		return nil, func() {}
	}
	token, revoke := cfg.Credentials.Issue()
	direct := strings.TrimLeft(cmp.Or(cfg.Env["no_proxy"], cfg.Env["NO_PROXY"])+",127.0.0.1", ",")
	return []string{
		"ANTHROPIC_BASE_URL=" + cfg.Credentials.URL(), "ANTHROPIC_API_KEY=" + token, "NO_PROXY=" + direct, "no_proxy=" + direct,
	}, revoke
}

// configDir is the CLI's configuration folder under an environment.
func configDir(env []string) string {
	dir, home := "", ""
	for _, pair := range env {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "CLAUDE_CONFIG_DIR":
			dir = value
		case "HOME":
			home = value
		}
	}
	if dir == "" {
		dir = filepath.Join(home, ".claude")
	}
	return dir
}

// writeSettings writes the settings file. The CLI deletes old transcripts; kept for a century they can be resumed. Any process
// of the user could write into a session, by the socket that the CLI opens for it; such messages are refused. The rules of
// denied paths bind the CLI's file tools; a shell command is bound by the operating system only.
func writeSettings(cfg Config) (string, error) {
	const days = 36500
	deny := []string{}
	for _, path := range cfg.DenyPaths {
		paths := []string{path}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			paths = append(paths, real)
		}
		for _, p := range paths {
			pattern, err := denyPattern(p)
			if err != nil {
				return "", err
			}
			for _, tool := range []string{"Read", "Edit"} {
				deny = append(deny, fmt.Sprintf("%s(%s)", tool, pattern), fmt.Sprintf("%s(%s/**)", tool, pattern))
			}
		}
	}
	data, err := json.MarshalIndent(map[string]any{
		"cleanupPeriodDays":   days,
		"crossSessionInbound": "refuse",
		"permissions":         map[string]any{"deny": deny},
	}, "", "  ")
	if err != nil {
		return "", err
	}
	file := filepath.Join(cfg.RunDir, "claude-settings.json")
	if err := writePrivate(file, data); err != nil {
		return "", fmt.Errorf("write claude's settings: %w", err)
	}
	return file, nil
}

// denyPattern writes an absolute path as the CLI's rules have it: with a slash before it, and brackets escaped. The other
// signs of a pattern match themselves at least. A backslash cannot be written at all, as was tried.
func denyPattern(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("denied path %s is not absolute", path)
	}
	if strings.ContainsAny(path, "\\\n") {
		return "", fmt.Errorf("claude cannot be kept from %q: its name has a backslash or a line break", path)
	}
	return "/" + strings.NewReplacer("[", `\[`, "]", `\]`).Replace(path), nil
}

// tooled are the flags that say which tools there are beside the CLI's, and which are allowed.
func (c *command) tooled(t agent.Turn) []string {
	allowed := c.allowed
	var args []string
	if t.Tools != nil {
		args, allowed = serverFlags(), append(slices.Clone(allowed), hostTools)
	}
	if len(allowed) > 0 {
		args = append(append(args, "--allowedTools"), allowed...)
	}
	return args
}

// profiled are the flags of a profile; prompt is the file of its system prompt, empty if it has none. A resumed session would
// go on with the model that it had last, be it that of one message, so one is always named.
func (c *command) profiled(p agent.Profile, prompt string) []string {
	args := []string{"--permission-mode", permissionMode(p), "--model", cmp.Or(p.Model, c.usual)}
	if p.Effort != "" {
		args = append(args, "--effort", p.Effort)
	}
	if prompt != "" {
		args = append(args, "--append-system-prompt-file", prompt)
	}
	return args
}

func permissionMode(p agent.Profile) string {
	if p.PermissionMode == "" {
		return "default"
	}
	return p.PermissionMode
}

// sameProcess tells whether a process that runs with one profile serves a turn with the other, or can be brought to it.
func sameProcess(a, b agent.Profile) bool {
	return permissionMode(a) == permissionMode(b) && a.Skills == b.Skills && a.Private == b.Private && a.Tools == b.Tools
}

// writePrivate replaces a file by one that only this user can read.
func writePrivate(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(next, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
