package config

import "strings"

// Effect is what it takes for a changed value to apply to a running host.
type Effect string

// The effects.
const (
	EffectNow     Effect = "now"     // it applies to what begins after the reload
	EffectPlugin  Effect = "plugin"  // its plugin is restarted
	EffectRestart Effect = "restart" // the host must be restarted
)

// effects are those of the names that begin so; the longest beginning decides.
var effects = []struct {
	names  string
	effect Effect
}{
	{"", EffectRestart},
	{"reload", EffectNow},
	{"log.level", EffectNow},
	{"log.levels", EffectNow},
	{"agent.name", EffectNow},
	{"agent.description", EffectNow},
	{"agent.open_to", EffectNow},
	{"agent.folders", EffectNow},
	{"agent.system_prompt", EffectNow},
	{"agent.context_files", EffectNow},
	{"agent.skills", EffectNow},
	{"agent.worktree", EffectNow},
	{"agent.worktree_setup", EffectNow},
	{"agent.runs_on", EffectNow},
	{"claude.model", EffectNow},
	{"claude.aliases", EffectNow},
	{"claude.effort", EffectNow},
	{"claude.fast", EffectNow},
	{"claude.permission_mode", EffectNow},
	{"claude.timeout", EffectNow},
	{"claude.retries", EffectNow},
	{"claude.ask_timeout", EffectNow},
	{"claude.tool_timeout", EffectNow},
	{"session", EffectNow},
	{"inbound", EffectNow},
	{"queue", EffectNow},
	{"reply", EffectNow},
	{"access", EffectNow},
	{"outbox", EffectNow},
	{"delivery", EffectNow},
	{"limits", EffectNow},
	{"route", EffectNow},
	{"budget", EffectNow},
	{"send", EffectNow},
	{"memory_flush", EffectNow},
	{"heartbeat", EffectNow},
	{"media.tts", EffectNow},
	{"retention.transcripts", EffectNow},
	{"retention.exports", EffectNow},
	{"jobs", EffectNow},
	{"approvals", EffectNow},
	{"plugin", EffectPlugin},
}

// EffectOf returns the effect of a name as the documentation has it, such as "access.dm".
func EffectOf(name string) Effect {
	effect, longest := EffectRestart, -1
	for _, e := range effects {
		rest, is := strings.CutPrefix(name, e.names)
		if is && len(e.names) > longest && (e.names == "" || rest == "" || rest[0] == '.') {
			effect, longest = e.effect, len(e.names)
		}
	}
	return effect
}
