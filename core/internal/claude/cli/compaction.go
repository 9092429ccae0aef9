package cli

import (
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// smallestWindow is the smallest window that the CLI can be given, in tokens. It treats smaller ones as this.
const smallestWindow = 100_000

// Compaction returns when the CLI compacts conversations, according to its flags and environment variables. It reports its
// threshold only by get_context_usage, which costs 25 calls of the API, and by the event autocompact_state, which it sends
// only in Anthropic's own cloud.
func Compaction(args []string, env map[string]string) agent.Compaction {
	c := agent.Compaction{
		Window: tokens(flagValue(args, "--autocompact")),
		Off:    switchedOn(env["DISABLE_AUTO_COMPACT"]) || switchedOn(env["DISABLE_COMPACT"]),
	}
	if window, err := strconv.ParseInt(env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"], 10, 64); err == nil && window > 0 { // takes precedence
		c.Window = max(window, smallestWindow)
	}
	if percent, err := strconv.ParseFloat(env["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"], 64); err == nil && percent > 0 && percent <= 100 {
		c.Percent = percent
	}
	return c
}

// flagValue returns the last value of a flag that takes one.
func flagValue(args []string, flag string) (value string) {
	for i, arg := range args {
		if is, ok := strings.CutPrefix(arg, flag+"="); ok {
			value = is
		} else if arg == flag && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// tokens reads the CLI's forms of a number of tokens: 200000, 200k, 1m, or 200 for thousands; zero: none of them.
func tokens(text string) int64 {
	text = strings.ToLower(text)
	number, unit := strings.TrimRight(text, "km"), 1.0
	switch text[len(number):] {
	case "":
	case "k":
		unit = 1000
	case "m":
		unit = 1_000_000
	default:
		return 0
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= unit; err != nil || n <= 0 || n > 1e9 {
		return 0
	}
	if unit == 1 && n < smallestWindow {
		n *= 1000
	}
	return int64(n)
}

// switchedOn reports whether the CLI takes the value of a variable as true.
func switchedOn(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "true", "yes", "on":
		return true
	default:
		return false
	}
}
