package permission

import (
	"slices"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Open is an open question.
type Open struct {
	ID      string
	About   string // a tool's name, or another subject; not the tool's input
	Session string
	To      chat.Address // where it was asked
	Since   time.Time
	// Asker may answer it in addition to those who may decide, as channel:user; empty: nobody.
	Asker string
}

// Open returns the open questions, oldest first.
func (d *Approvals) Open() []Open {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]Open, 0, len(d.open))
	for id, q := range d.open {
		o := Open{ID: id, About: q.subject(), Session: q.row.Session, To: q.row.To, Since: q.row.CreatedAt}
		if q.theirs() {
			o.Asker = q.row.Asker
		}
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Open) int { return a.Since.Compare(b.Since) })
	return list
}
