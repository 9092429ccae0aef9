package stream

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Outcome is what a stream has sent by its end. For a run whose answer was recovered without a stream it is the run's Said
// and Preview.
type Outcome struct {
	Said    string   // the part of the answer's text that was sent
	Preview int64    // the piece that shows how it goes on; zero: none
	Shown   string   // what was to be seen behind Said, of a text that is perhaps not over
	Restart bool     // what was sent of the answer is not its beginning
	Begun   bool     // something of the answer, or of a text before it, was sent
	Whole   []string // texts before the answer that were sent from beginning to end
	// Before is what must still be sent before the answer, as Markdown: the rests of texts, and the tools.
	Before []string
}

// Beside is what an answer comes with; each may be empty.
type Beside struct {
	Head, Tail string
	Files      []Placed // in order
}

// Placed are files that stand within an answer's text.
type Placed struct {
	At    int // as in [answer.Media]
	Media []chat.Media
}

// Rest returns what is left of an answer, as pieces for the chat: what was not said of it, with the head, the prefix and the
// line [wording.AnswerRestarted] before it where they are due, each file where it stands, or first where the text before it and more was said, and
// the tail behind it, even if nothing else is left. The first piece takes the preview's place; if there is none, the preview is
// deleted. An answer that repeats a text of the same turn is not sent again.
func (o Options) Rest(a answer.Answer, out Outcome, beside Beside) []domain.OutboxItem {
	head, tail, files := beside.Head, beside.Tail, beside.Files
	c := o.cutter(out.Begun)
	if head != "" {
		c.heads = append(c.heads, head)
	}
	said := out.Said
	switch {
	case said != "" && !strings.HasPrefix(a.Text, said):
		said, out.Restart = "", true
	case said == "" && slices.Contains(out.Whole, a.Text):
		said = a.Text
	}
	if out.Restart {
		c.heads = append(c.heads, wording.AnswerRestarted)
	}
	if tail != "" {
		// It belongs to what is said last.
		a.Media = slices.DeleteFunc(slices.Clone(a.Media), func(m answer.Media) bool { return m.At == len(a.Text) })
		a.Replies = slices.DeleteFunc(slices.Clone(a.Replies), func(r answer.Reply) bool { return r.At == len(a.Text) && r.At > 0 })
		a.Text = strings.TrimPrefix(a.Text+"\n\n"+tail, "\n\n")
	}
	var pieces []domain.OutboxItem
	for _, text := range out.Before {
		for _, part := range chunk.Split(text, o.Rule) {
			pieces = append(pieces, domain.OutboxItem{To: o.To, Text: part})
		}
	}
	for at := len(said); ; {
		for len(files) > 0 && (files[0].At <= at || chunk.Rest(a.Text[:files[0].At], at) == "") {
			pieces, files = append(pieces, domain.OutboxItem{To: o.To, Media: files[0].Media}), files[1:]
		}
		next, end := c.next(a, at, c.rule, chunk.Cut{Over: true})
		if len(next) == 0 {
			break
		}
		c.commit()
		pieces, at = append(pieces, next...), end
	}
	switch {
	case out.Preview == 0:
	case len(pieces) == 0:
		pieces = []domain.OutboxItem{{To: o.To, Edits: out.Preview}}
	default:
		pieces[0].Edits, pieces[0].OrSend = out.Preview, true
	}
	return pieces
}

// cutter makes pieces of an answer's text.
type cutter struct {
	options Options
	rule    chunk.Rule
	prefix  string   // of the next piece
	heads   []string // lines before the next piece
	first   bool     // no piece was made
}

func (o Options) cutter(begun bool) *cutter {
	c := &cutter{options: o, rule: o.Rule, first: !begun}
	if !begun {
		c.prefix = o.Prefix
	}
	return c
}

// head puts what is due before a piece.
func (c *cutter) head(text string) string {
	return answer.WithPrefix(c.prefix, strings.Join(append(slices.Clone(c.heads), text), "\n\n"))
}

// room returns how much text fits into a piece with what is due before it; false: that leaves too little.
func (c *cutter) room(r chunk.Rule) (chunk.Rule, bool) {
	if c.prefix == "" && len(c.heads) == 0 {
		return r, true
	}
	most := r.Limit.Max
	if most > 0 {
		r.Limit.Max -= r.Limit.Unit.Length(c.head("")) + len("\n\n")
	}
	return r, most <= 0 || r.Limit.Max > most/2
}

// next returns the next piece of a text of which the first bytes have been sent, and how many have been then. There is more
// than one where what stands before the text needs one of its own. It makes the same
// again until commit is called.
func (c *cutter) next(a answer.Answer, sent int, r chunk.Rule, cut chunk.Cut) (pieces []domain.OutboxItem, end int) {
	within, fits := c.room(r)
	if !fits {
		within = r
	}
	for {
		stop := a.NextStop(sent)
		now := cut
		now.Over = cut.Over || stop < len(a.Text)
		text, end := chunk.Next(a.Text[:stop], sent, within, now)
		if text == "" && stop < len(a.Text) {
			sent = stop // There are only blanks before.
			continue
		}
		if text == "" {
			return nil, sent
		}
		target := c.options.Quoting.Target(a.ReplyAt(sent), c.first)
		whole := []string{c.head(text)}
		if !fits {
			whole = append(chunk.Split(strings.TrimRight(c.head(""), " \n"), r), text)
		}
		for _, part := range whole {
			pieces = append(pieces, domain.OutboxItem{To: c.options.To, Text: part, ReplyTo: target})
		}
		return pieces, end
	}
}

// commit says that the piece is sent that next has made.
func (c *cutter) commit() { c.prefix, c.heads, c.first = "", nil, false }
