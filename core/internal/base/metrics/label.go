package metrics

import (
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// set is a closed set of the values of a label.
type set map[string]bool

func setOf(list []string) set {
	s := set{}
	for _, label := range list {
		s[label] = true
	}
	return s
}

// label returns a value of the set.
func (s set) label(value string) string {
	if s[value] {
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
	known set
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
		n.known = set{}
	}
	n.known[value] = true
	return value
}
