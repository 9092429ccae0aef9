package stream

import (
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Rest is what stands around the text of an answer; each part may be empty.
type Rest struct {
	Before     []string // Markdown, sent before the answer
	Head, Tail string
	Files      []Placed            // in order, in the text
	Behind     []domain.OutboxItem // sent after the answer
}

// Placed are files at a place within an answer's text.
type Placed struct {
	At    int // as in [answer.Media]
	Media []chat.Media
}

// Finish returns the items for what the chat does not have of an answer: what is left of the texts before it and the list of
// tools; its unsent text, after the head, the prefix and the line [wording.AnswerRestarted] where needed; the tail, even if
// nothing else is left; and the files, each at its place, or first if the text before it was sent. They replace the preview, as
// [Stream.Replace] does. An answer that repeats a text of the same turn is not sent again. It is called once, after End.
func (s *Stream) Finish(a answer.Answer, rest Rest) []domain.OutboxItem {
	var items []domain.OutboxItem
	for _, text := range append(s.before, rest.Before...) {
		for _, part := range chunk.Split(text, s.options.Rule) {
			items = append(items, domain.OutboxItem{To: s.options.To, Text: part})
		}
	}
	c, said := s.options.cutter(s.begun), s.said
	if rest.Head != "" {
		c.heads = append(c.heads, rest.Head)
	}
	switch {
	case said != "" && !strings.HasPrefix(a.Text, said):
		said, s.restarted = "", true
	case said == "" && slices.Contains(s.whole, a.Text):
		said = a.Text
	}
	if s.restarted {
		c.heads = append(c.heads, wording.AnswerRestarted)
	}
	if rest.Tail != "" {
		// It belongs to the last part.
		a.Media = slices.DeleteFunc(slices.Clone(a.Media), func(m answer.Media) bool { return m.At == len(a.Text) })
		a.Replies = slices.DeleteFunc(slices.Clone(a.Replies), func(r answer.Reply) bool { return r.At == len(a.Text) && r.At > 0 })
		a.Text = strings.TrimPrefix(a.Text+"\n\n"+rest.Tail, "\n\n")
	}
	files := rest.Files
	for at := len(said); ; {
		for len(files) > 0 && (files[0].At <= at || chunk.Rest(a.Text[:files[0].At], at) == "") {
			items, files = append(items, domain.OutboxItem{To: s.options.To, Media: files[0].Media}), files[1:]
		}
		next, end := c.next(a, at, c.rule, chunk.Cut{Over: true})
		if len(next) == 0 {
			break
		}
		c.commit()
		items, at = append(items, next...), end
	}
	return s.Replace(append(items, rest.Behind...))
}

// unsent returns what is left to send before the answer of an ended turn, as Markdown: the rest of earlier texts, and the tools.
func (s *Stream) unsent() (before []string) {
	p := s.Latest()
	tools := s.tools
	list := func() {
		if len(tools) > 0 {
			before = append(before, toolList(tools, s.options.Verbose))
			tools = nil
		}
	}
	for _, step := range p.Done[s.processed(p):] {
		if step.Tool.Name != "" {
			if s.options.listsTools() {
				tools = append(tools, step.Tool)
			}
			continue
		}
		t := textOf(step)
		if rest := s.left(t.Answer); s.sendsSteps(t) && rest != "" {
			list()
			before = append(before, rest)
			s.said, s.restarted, s.begun = t.Text, false, true
		}
		s.pass(t)
	}
	list()
	return before
}

// Replace returns items in place of the preview, after End. Without items it is deleted. After a long turn the items are new
// messages, because networks do not notify of an edit.
func (s *Stream) Replace(items []domain.OutboxItem) []domain.OutboxItem {
	after := s.options.NotifyAfter
	if s.preview == 0 || len(items) == 0 || after == 0 || time.Since(s.options.Began) < after || !s.surface.Deletes() {
		return s.replace(s.options.To, items)
	}
	return append(items, s.replace(s.options.To, nil)...)
}

// Shown returns the part of an unfinished text that the chat was shown beyond what was sent, after End.
func (s *Stream) Shown() string { return s.remains }

// ReplaceQuietly is Replace without new messages: the items edit the preview, of which nobody is notified.
func (s *Stream) ReplaceQuietly(items []domain.OutboxItem) []domain.OutboxItem {
	return s.replace(s.options.To, items)
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
