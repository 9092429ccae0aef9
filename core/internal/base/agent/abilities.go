package agent

import "slices"

// Abilities describe what a model can do, as Claude Code reports it.
type Abilities struct {
	Names       [2]string // an alias or "default", and the full name
	ThinkingOff bool      // it can answer without thinking
	Fast        bool      // it has a fast mode
}

// AbilitiesOf finds a model, by name or alias, in a list; empty: Claude Code's default. False: the list does not have it.
func AbilitiesOf(model string, list []Abilities) (Abilities, bool) {
	if model == "" {
		model = "default"
	}
	i := slices.IndexFunc(list, func(a Abilities) bool { return slices.Contains(a.Names[:], model) })
	if i < 0 {
		return Abilities{}, false
	}
	return list[i], true
}
