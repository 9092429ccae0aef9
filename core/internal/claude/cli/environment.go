package cli

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/claude/transcript"
)

// marker is the variable in the environment of claude, and of everything that it starts, by which the host finds its
// processes. Each process of the host has its own value.
const marker = "CLAWHOST_RUN"

// serverMarker is the variable in the environment of MCP servers, and of everything that they start. Each claude process has its
// own value, by which the host finds what is left when that process has ended.
const serverMarker = "CLAWHOST_SERVERS"

// sessionMarker is the variable that the CLI gives to its tools.
const sessionMarker = "CLAUDE_CODE_SESSION_ID"

// switches are the CLI's own variables that the host sets. The configuration may override the first group.
var (
	tunable = map[string]string{
		"CLAUDE_CODE_MAX_RETRIES":                   "2", // the host retries; the CLI's ten would hide a 401 for three minutes
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC":  "1",
		"CLAUDE_CODE_DISABLE_BUNDLED_SKILLS":        "1",
		"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1", // otherwise rewind_files restores nothing
		"DISABLE_TELEMETRY":                         "1",
		"DISABLE_ERROR_REPORTING":                   "1",
		"DISABLE_AUTOUPDATER":                       "1",
		// The CLI joins the pieces of a text that come within this time, after the first one. Each line that it writes wakes the
		// host. No channel shows a text more often than that.
		"CLAUDE_CODE_STREAM_EVENT_HOLD_MS": "100",
	}
	fixed = map[string]string{
		"CLAUDE_CODE_DISABLE_ATTACHMENTS":       "1", // otherwise "@/any/file" in a chat reads that file without a question
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS":  "1",
		"CLAUDE_CODE_DISABLE_CRON":              "1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY":       "1", // otherwise a turn writes, without a question, what all sessions of the workspace read
	}
	// inherited are the variables of the host's environment that claude gets, in addition to LC_*.
	inherited = []string{"HOME", "PATH", "USER", "LANG", "TZ", "TERM", "TMPDIR", "CLAUDE_CONFIG_DIR"}
)

// managed keeps the API's credentials out of the environment of the shell, of hooks and of MCP servers. With it the CLI
// uses only the credentials of its environment: neither a login nor an apiKeyHelper nor a cloud's credentials.
const managed = "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST"

// credentialed reports whether claude gets its credentials for Anthropic's API from its environment.
func credentialed(cfg Options) bool {
	return !OtherProvider(cfg.Env) && (cfg.Credentials != nil || cfg.Env["ANTHROPIC_API_KEY"] != "" || cfg.Env["ANTHROPIC_AUTH_TOKEN"] != "")
}

// OtherProvider reports whether variables have the CLI use another API than Anthropic's, such as a cloud's.
func OtherProvider(env map[string]string) bool {
	for name, value := range env {
		if strings.HasPrefix(name, "CLAUDE_CODE_USE_") && value != "" {
			return true
		}
	}
	return false
}

// environment is claude's environment, sorted.
func environment(lookup func(string) (string, bool), all []string, cfg Options) []string {
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
	for _, more := range []map[string]string{tunable, cfg.Env, fixed, {marker: cfg.Family.Mark()}} {
		maps.Copy(vars, more)
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// credentials returns the variables with which one process uses an API without having its key; none if requests do not
// go through the proxy. Call revoke when the process has ended.
func credentials(cfg Options) (env []string, revoke func()) {
	if cfg.Credentials == nil {
		return nil, func() {}
	}
	token, revoke := cfg.Credentials.Issue()
	direct := strings.TrimLeft(cmp.Or(cfg.Env["no_proxy"], cfg.Env["NO_PROXY"])+",127.0.0.1", ",")
	return []string{
		"ANTHROPIC_BASE_URL=" + cfg.Credentials.URL(), "ANTHROPIC_API_KEY=" + token, "NO_PROXY=" + direct, "no_proxy=" + direct,
	}, revoke
}

// Transcripts returns where the CLI, as it is run with these options, keeps the sessions of a folder.
func Transcripts(cfg Options, folder string) transcript.Folder {
	env := os.Environ()
	for name, value := range cfg.Env {
		env = append(env, name+"="+value)
	}
	return transcript.Of(configDir(env), folder)
}

// configDir is the CLI's configuration folder in an environment.
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
