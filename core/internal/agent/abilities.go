package agent

import "slices"

// Abilities are what Claude Code tells of a model.
type Abilities struct {
	Names       [2]string // an alias, or "default", and the full name
	ThinkingOff bool      // it can answer without thinking
	Fast        bool      // it has a fast mode
}

// AbilitiesOf finds a model in what Claude Code tells; empty: its default. False: it tells nothing of this model.
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
