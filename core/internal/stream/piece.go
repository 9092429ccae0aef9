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

// Outcome is what a stream has sent when it ends. For a run whose answer was recovered without a stream it is the run's
// Said and Preview.
type Outcome struct {
	Said    string   // the part of the answer's text that was sent
	Preview int64    // the item that shows the text after Said; zero: none
	Shown   string   // what was visible after Said, of a text that may be incomplete
	Restart bool     // what was sent is not the beginning of the answer
	Begun   bool     // something of the answer, or of a text before it, was sent
	Whole   []string // texts before the answer that were sent completely
	// Before is what must be sent before the answer, as Markdown: the rest of earlier texts, and the tools.
	Before []string
}

// Beside is what accompanies an answer; each part may be empty.
type Beside struct {
	Head, Tail string
	Files      []Placed // in order
}

// Placed are files at a place within an answer's text.
type Placed struct {
	At    int // as in [answer.Media]
	Media []chat.Media
}

// Items returns the items for what is left of an answer: its unsent text, after the head, the prefix and the line
// [wording.AnswerRestarted] where needed. Each file is at its place, or first if the text before it was already sent.
// The tail follows even if nothing else is left. The first item replaces the preview; without an item the preview is
// deleted. An answer that repeats a text of the same turn is not sent again.
func (o Options) Items(a answer.Answer, out Outcome, beside Beside) []domain.OutboxItem {
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
		// It belongs to the last part.
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

// cutter divides an answer's text into items.
type cutter struct {
	options Options
	rule    chunk.Rule
	prefix  string   // of the next item
	heads   []string // lines before the next item
	first   bool     // no item was made
}

func (o Options) cutter(begun bool) *cutter {
	c := &cutter{options: o, rule: o.Rule, first: !begun}
	if !begun {
		c.prefix = o.Prefix
	}
	return c
}

// head puts the due lines before a text.
func (c *cutter) head(text string) string {
	return answer.WithPrefix(c.prefix, strings.Join(append(slices.Clone(c.heads), text), "\n\n"))
}

// fitting returns how much text fits into an item after its head; false: too little.
func (c *cutter) fitting(r chunk.Rule) (chunk.Rule, bool) {
	if c.prefix == "" && len(c.heads) == 0 {
		return r, true
	}
	most := r.Limit.Max
	if most > 0 {
		r.Limit.Max -= r.Limit.Unit.Length(c.head("")) + len("\n\n")
	}
	return r, most <= 0 || r.Limit.Max > most/2
}

// next returns the next items of a text of which the first sent bytes have been sent, and how many have been
// afterwards. There are several if what precedes the text needs an item of its own. It returns the same again until
// commit is called.
func (c *cutter) next(a answer.Answer, sent int, r chunk.Rule, cut chunk.Cut) (pieces []domain.OutboxItem, end int) {
	within, fits := c.fitting(r)
	if !fits {
		within = r
	}
	for {
		stop := a.NextStop(sent)
		now := cut
		now.Over = cut.Over || stop < len(a.Text)
		text, end := chunk.Next(a.Text[:stop], sent, within, now)
		if text == "" && stop < len(a.Text) {
			sent = stop // Only blanks precede it.
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

// commit records that the item made by next is sent.
func (c *cutter) commit() { c.prefix, c.heads, c.first = "", nil, false }
