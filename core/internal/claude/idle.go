package claude

import (
	"cmp"
	"maps"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// idle are the processes without a turn, by session. The pool guards it.
type idle struct {
	sessions map[string]*worker
	keys     map[string]int // how many each of the host's sessions has
}

func newIdle() idle { return idle{map[string]*worker{}, map[string]int{}} }

func (i *idle) add(s *worker) {
	i.remove(s.session)
	i.sessions[s.session] = s
	i.keys[s.key]++
}

// remove removes and returns the process of a session; nil: it has none.
func (i *idle) remove(session string) *worker {
	s := i.sessions[session]
	if s == nil {
		return nil
	}
	delete(i.sessions, session)
	if i.keys[s.key]--; i.keys[s.key] == 0 {
		delete(i.keys, s.key)
	}
	return s
}

// leastValued are the idle processes, those worth the least first: each is worth its place until it would be parked if there were much
// memory, so those used last come last, and those used often later still. The caller holds the lock.
func (p *Pool) leastValued() []*worker {
	list := slices.Collect(maps.Values(p.idle.sessions))
	slices.SortFunc(list, func(a, b *worker) int {
		return cmp.Or(a.since.Add(a.keep()).Compare(b.since.Add(b.keep())), a.since.Compare(b.since))
	})
	return list
}

// supersede parks idle processes of the conversation's earlier claude sessions. The caller holds the lock.
func (p *Pool) supersede(t agent.Turn) {
	own := 0
	if s := p.idle.sessions[t.Session]; s != nil && s.key == t.Key {
		own = 1
	}
	if t.Key == "" || p.idle.keys[t.Key] == own {
		return
	}
	for _, s := range p.idle.sessions {
		if s.key == t.Key && s.session != t.Session {
			p.leave(s, Superseded)
		}
	}
}
