package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// hostFlags are the CLI's flags that the host sets itself, or that would take the process out of its hands.
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

// hostLetters are the short forms of such flags. Short flags may be written in one word, such as -dp.
const hostLetters = "pcrhv"

// hostVariables are the CLI's environment variables on which the host's promises rest.
var hostVariables = []string{
	"CLAUDE_CODE_DISABLE_ATTACHMENTS", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
	"CLAUDE_CODE_EXIT_AFTER_STOP_DELAY", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS",
}

// credentials are the CLI's environment variables that hold what it logs in with.
var credentials = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

var shortFlags = regexp.MustCompile(`^-[A-Za-z]+`)

// arguments takes arguments for the CLI, but for the host's own.
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
				e.refuse("cannot hold %s: the host sets it", flag)
				continue
			}
			args = append(args, s)
		}
		*to = args
	}
}

// hostFlag returns the flag of the host's own that an argument is, or nothing.
func hostFlag(arg string) string {
	if arg == "--" {
		return arg
	}
	if flag, _, _ := strings.Cut(arg, "="); slices.Contains(hostFlags, flag) {
		return flag
	}
	letters := shortFlags.FindString(arg)
	if at := strings.IndexAny(letters, hostLetters); at >= 0 {
		return "-" + letters[at:at+1] // without the others, which may be a value
	}
	return ""
}

// keys takes what can stand in a header of a request. No value is told.
func keys(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			s, ok := e.filled()
			switch {
			case !ok:
			case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
				e.refuse("must be keys: characters of ASCII, and no white space")
			default:
				list = append(list, s)
			}
		}
		*to = list
	}
}

// environment takes the CLI's variables. Beside keys, which must have been read before, it holds no other credential, and
// the address that they are sent to is one that the host can use.
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
				e.refuse("cannot hold %s beside claude.api_keys", name)
			case name == "ANTHROPIC_BASE_URL" && set != "" && !webAddress(set):
				e.refuse("must hold an ANTHROPIC_BASE_URL that is an http or https address, without a user")
			}
		}
	}
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}
