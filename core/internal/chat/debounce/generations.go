package debounce

// most bounds a generation.
const most = 2000

// generations hold the paces of the writers of late: a full generation takes the place of the one before.
type generations struct {
	young, old map[writer]*pace
}

func newGenerations() generations { return generations{young: map[writer]*pace{}} }

// find returns a writer's pace; nil: nothing is known.
func (g *generations) find(w writer) *pace {
	if p := g.young[w]; p != nil {
		return p
	}
	return g.old[w]
}

// pace returns a writer's pace, a new one if nothing is known.
func (g *generations) pace(w writer) *pace {
	p := g.find(w)
	if p == nil {
		p = &pace{}
	}
	if g.young[w] == nil {
		if len(g.young) >= most {
			g.young, g.old = map[writer]*pace{}, g.young
		}
		g.young[w] = p
	}
	return p
}
