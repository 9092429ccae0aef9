package wording

import "strings"

// What is wrong, in a few words, and that it is over. Where there is a %s, it is what the problem is about.
const (
	StoreFails         = "The database of the host takes nothing"
	StoreWorks         = "The database of the host works again."
	DiskFull           = "This machine has no space for files"
	SpaceAgain         = "This machine has space for files again."
	ClaudeUnusable     = "Claude cannot be started"
	ClaudeAvailable    = "Claude can be started again."
	ClaudeLoggedOut    = "Claude Code is not logged in"
	ClaudeLoggedIn     = "Claude Code is logged in again."
	TranscriptLost     = "Claude Code could not save all of a conversation"
	TranscriptKept     = "For an hour, Claude Code has lost nothing more of conversations."
	PluginFailed       = "The plugin %s does not run"
	PluginRuns         = "The plugin %s runs again."
	PluginDisconnected = "The plugin %s is not connected to its network"
	PluginConnected    = "The plugin %s is connected to its network again."
	DeliveriesWait     = "Messages to %s cannot be delivered"
	DeliveriesGo       = "Messages to %s are delivered again."
	DeadLetters        = "Messages could not be delivered, and were given up"
	ConfigRefusedTitle = "The changed config was not applied"
	ConfigWarning      = "The config may not be as meant"
)

// Advice for problems.
const (
	AdviceStore         = "If this goes on, look at the log and at the disk of the state folder. Messages are kept by their networks meanwhile."
	AdviceKept          = "Messages are kept, and I keep trying."
	AdviceLogin         = "Log in as the host's user: `claude auth login`."
	AdviceTranscript    = "Free space where Claude Code keeps its files, usually `~/.claude`. The conversation goes on, but Claude may not know its end any more, and what was cut off by a crash may be done again. The log names its session."
	AdviceWaits         = "The host starts it again by itself. `clawhost logs` shows what it said."
	AdviceDisconnected  = "It connects again by itself, as soon as its network lets it."
	AdviceDeliveries    = "The host keeps trying. `clawhost queue` shows what waits."
	AdviceDeadLetters   = "`clawhost queue dead` says why; `clawhost queue retry all` sends them again, `clawhost queue drop all` deletes them."
	AdviceCheckConfig   = "Correct the config, and reload it: `clawhost reload`."
	AdviceConfigRefused = "The host works with the config as it was before. Correct the file, and reload it: `clawhost reload`."
)

// Problem tells owners what is wrong, with the literal reason, which may be empty, and what to do.
func Problem(what, why, advice string) string {
	if why == "" {
		return what + ". " + advice
	}
	return quoted(what, why) + "\n\n" + advice
}

// ProblemLine says in a line what is wrong.
func ProblemLine(what, why string) string {
	return strings.TrimSuffix(what+": "+why, ": ")
}

// Unwritten says why a file could not be written, by the code of the error.
func Unwritten(code string) string {
	switch code {
	case "ENOSPC":
		return "the disk is full (ENOSPC)"
	case "EDQUOT":
		return "the disk quota is used up (EDQUOT)"
	default:
		return code
	}
}
