package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// hostFlags are CLI flags that the host sets itself, or that would break its control of the process.
var hostFlags = []string{
	"--print", "--input-format", "--output-format", "--verbose", "--include-partial-messages", "--replay-user-messages",
	"--session-id", "--resume", "--continue", "--fork-session", "--from-pr", "--no-session-persistence",
	"--resume-session-at", "--teleport", "--remote",
	"--permission-prompt-tool", "--permission-mode", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions",
	"--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools",
	"--model", "--fallback-model", "--effort",
	"--append-system-prompt", "--append-system-prompt-file", "--system-prompt", "--system-prompt-file",
	"--setting-sources", "--settings", "--strict-mcp-config", "--mcp-config",
	"--sdk-url", "--background", "--bg", "--help", "--version",
}

// hostLetters are the short forms of such flags. Short flags may be combined, such as -dp.
const hostLetters = "pcrhv"

// hostVariables are the CLI's environment variables that the host depends on.
var hostVariables = []string{
	"CLAUDE_CODE_DISABLE_ATTACHMENTS", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
	"CLAUDE_CODE_EXIT_AFTER_STOP_DELAY", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS",
}

// credentials are the CLI's environment variables with credentials.
var credentials = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

var shortFlags = lazyregexp.New(`^-[A-Za-z]+`)

// arguments stores arguments for the CLI and refuses the host's own.
func arguments(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		args := []string{}
		for _, e := range elements {
			s, ok := e.text()
			if !ok {
				continue
			}
			if flag := hostFlag(s); flag != "" {
				e.refuse("must not contain %s, because the host sets it", flag)
				continue
			}
			args = append(args, s)
		}
		*to = args
	}
}

// hostFlag returns the host flag that an argument is, or "".
func hostFlag(arg string) string {
	if arg == "--" {
		return arg
	}
	if flag, _, _ := strings.Cut(arg, "="); slices.Contains(hostFlags, flag) {
		return flag
	}
	letters := shortFlags().FindString(arg)
	if at := strings.IndexAny(letters, hostLetters); at >= 0 {
		return "-" + letters[at:at+1] // without the others, which may be a value
	}
	return ""
}

// keys stores keys, which must be valid in a request header. Errors contain no value.
func keys(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			s, ok := e.filled()
			switch {
			case !ok:
			case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
				e.refuse("must be keys of ASCII characters without spaces")
			default:
				list = append(list, s)
			}
		}
		*to = list
	}
}

// environment stores the CLI's variables. Except keys, which must have been read before, it allows no other credential, and
// the base URL must be one that the host can use.
func environment(to *map[string]string, keys *[]string) setter {
	return func(v value) {
		variables(to, hostVariables)(v)
		if len(*keys) == 0 {
			return
		}
		elements, _ := v.object()
		for _, e := range elements {
			set := (*to)[e.key()]
			switch name := e.key(); {
			case slices.Contains(credentials, name) && set != "":
				e.refuse("must not contain %s together with claude.api_keys", name)
			case name == "ANTHROPIC_BASE_URL" && set != "" && !webAddress(set):
				e.refuse("must contain an ANTHROPIC_BASE_URL that is an http or https address without a user")
			}
		}
	}
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}
