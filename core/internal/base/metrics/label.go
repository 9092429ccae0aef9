package metrics

import (
	"slices"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Plugin returns the label of a plugin; [Other] for one that the config does not have.
func (m *Metrics) Plugin(label string) string {
	if label == Host {
		return label
	}
	return among(m.labels.Get().Plugins, label)
}

// agent returns a label that the config has for an agent.
func (m *Metrics) agent(label string) string { return among(m.labels.Get().Agents, label) }

// among returns a value of a closed set.
func among(set []string, value string) string {
	if slices.Contains(set, value) {
		return value
	}
	return Other
}

// modelName matches what names of models look like.
var modelName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,63}$`)

// names are values of a label that are not known before: the first ones that look like names.
type names struct {
	most int

	mu    sync.Mutex
	known map[string]bool
}

// label returns a value of the label for a name.
func (n *names) label(value string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.known[value]:
		return value
	case len(n.known) == n.most || !modelName().MatchString(value):
		return Other
	case n.known == nil:
		n.known = map[string]bool{}
	}
	n.known[value] = true
	return value
}
