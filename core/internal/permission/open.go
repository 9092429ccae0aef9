package permission

import (
	"slices"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Open is a question that waits for its answer.
type Open struct {
	ID      string
	About   string // a tool's name, or what else it is about; nothing of what the tool was to do
	Session string
	To      chat.Address // where it was asked
	Since   time.Time
	// Asker is who may answer it beside those who may decide, as channel:user; empty: nobody.
	Asker string
}

// Open returns the questions that wait for their answers, the oldest first.
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
