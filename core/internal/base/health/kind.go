package health

import (
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// Code names a kind of problem. It is the same in each version.
type Code string

// The codes.
const (
	StoreFails         Code = "store_fails"
	DiskFull           Code = "disk_full"
	ClaudeUnusable     Code = "claude_unusable"
	ClaudeLoggedOut    Code = "claude_logged_out"
	PluginFailed       Code = "plugin_failed"
	PluginLacks        Code = "plugin_lacks"
	PluginWaits        Code = "plugin_waits"
	TranscriptLost     Code = "transcript_lost"
	PluginDisconnected Code = "plugin_disconnected"
	DeliveriesWait     Code = "deliveries_wait"
	DeadLetters        Code = "dead_letters"
	ConfigRefused      Code = "config_refused"
	ConfigWarning      Code = "config_warning"
)

// Severity is how bad a problem is.
type Severity string

// The severities. A host that has an error is not ready.
const (
	Warning Severity = "warning" // it works, and may not as meant
	Error   Severity = "error"   // something does not work
)

// Kind is what all problems of a code have in common.
type Kind struct {
	Code     Code
	Severity Severity
	Title    string // what is wrong; %s is the subject
	Over     string // what owners are told when it is over; empty: they are told neither that it is there
	// After is how long the problem must have lasted, in sum, before it is shown: what passes by itself is no news.
	After time.Duration
	// Until is how long it must be gone to count as solved. Each time that a problem which was solved returns within an hour, it must be
	// gone for twice as long.
	Until time.Duration
	// Causes are the codes of what brings this problem about. While one of them is shown for the same subject, or for the host, this one
	// is not. None is shown later than what it causes.
	Causes []Code
}

// kinds are all of them, the worst first.
var kinds = []Kind{
	{Code: DiskFull, Severity: Error, Title: wording.DiskFull, Over: wording.SpaceAgain, After: 5 * time.Second, Until: 5 * time.Second},
	{
		Code: StoreFails, Severity: Error, Title: wording.StoreFails, Over: wording.StoreWorks, After: 10 * time.Second, Until: 30 * time.Second,
		Causes: []Code{DiskFull},
	},
	{Code: ClaudeUnusable, Severity: Error, Title: wording.ClaudeUnusable, Over: wording.ClaudeAvailable, After: 5 * time.Second, Until: 5 * time.Second},
	{Code: ClaudeLoggedOut, Severity: Error, Title: wording.ClaudeLoggedOut, Over: wording.ClaudeLoggedIn, After: 5 * time.Second, Causes: []Code{ClaudeUnusable}},
	{Code: PluginFailed, Severity: Error, Title: wording.PluginFailed, Over: wording.PluginRuns, Until: time.Minute},
	{
		Code: PluginLacks, Severity: Error, Title: wording.PluginFailed, Over: wording.PluginRuns, After: 5 * time.Second, Until: time.Minute,
		Causes: []Code{DiskFull},
	},
	{
		Code: PluginWaits, Severity: Error, Title: wording.PluginFailed, Over: wording.PluginRuns, After: time.Minute, Until: time.Minute,
		Causes: []Code{PluginFailed, PluginLacks, PluginDisconnected},
	},
	{Code: TranscriptLost, Severity: Warning, Title: wording.TranscriptLost, Over: wording.TranscriptKept},
	{
		Code: PluginDisconnected, Severity: Warning, Title: wording.PluginDisconnected, Over: wording.PluginConnected, After: time.Minute,
		Until: time.Minute, Causes: []Code{PluginFailed, PluginLacks},
	},
	{
		Code: DeliveriesWait, Severity: Warning, Title: wording.DeliveriesWait, Over: wording.DeliveriesGo, After: 10 * time.Minute, Until: time.Minute,
		Causes: []Code{PluginFailed, PluginLacks, PluginWaits, PluginDisconnected, StoreFails},
	},
	{Code: DeadLetters, Severity: Warning, Title: wording.DeadLetters},
	{Code: ConfigRefused, Severity: Warning, Title: wording.ConfigRefusedTitle},
	{Code: ConfigWarning, Severity: Warning, Title: wording.ConfigWarning},
}

// Kinds returns all kinds, the worst first.
func Kinds() []Kind { return slices.Clone(kinds) }

// kindOf returns the kind of a code, and its rank, which is greater the less bad it is.
func kindOf(code Code) (kind Kind, rank int) {
	rank = slices.IndexFunc(kinds, func(k Kind) bool { return k.Code == code })
	if rank < 0 {
		return Kind{Code: code, Severity: Error, Title: string(code)}, len(kinds)
	}
	return kinds[rank], rank
}
