package exchange

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// progress is what there is to be told of an exchange while it goes on. What it hands out is never changed afterwards: texts
// are snapshots of buffers that only grow, so that a text of n pieces costs no more than n of them.
type progress struct {
	text    draft
	thought thought
	done    []agent.Step
	running []agent.ToolUse // replaced when it changes
	steered int
	changed bool // since it was taken
}

// take returns the state if it has changed.
func (p *progress) take() (agent.Progress, bool) {
	p.changed = p.changed || p.text.changed || p.thought.changed
	if !p.changed {
		return agent.Progress{}, false
	}
	p.changed, p.text.changed, p.thought.changed = false, false, false
	text := p.text.String()
	return agent.Progress{
		Done: p.done[:len(p.done):len(p.done)], Text: text, Complete: p.text.whole && text != "",
		Running: p.running, Thinking: p.thought.String(), Steered: p.steered,
	}, true
}

// finish adds a finished step.
func (p *progress) finish(s agent.Step) {
	p.done = append(p.done, s)
	p.changed = true
}

// runs says which tools are at work.
func (p *progress) runs(open []openTool) {
	if len(p.running) == 0 && len(open) == 0 {
		return
	}
	p.running = nil
	for _, tool := range open {
		p.running = append(p.running, tool.use)
	}
	p.changed = true
}

// took says how many lines were steered into the exchange.
func (p *progress) took(lines int) {
	if p.steered != lines {
		p.steered, p.changed = lines, true
	}
}

// draft is the text of an exchange as it grows: that of the turns that are over, and behind it that of the turn that runs, of
// which the last block may be unfinished. The turn's answer is what counts in the end: the draft runs ahead of it by what
// the stream brings, and comes back to it when a block is whole, or when what was streamed is void.
type draft struct {
	buffer  strings.Builder // empty, or past and the turn's own text
	past    string          // the turns that are over, and a paragraph's end; or empty
	spoke   bool            // the message that is being streamed has brought text since its last tool call
	opening bool            // the next piece is a block's first
	whole   bool            // nothing is behind the end of a block
	changed bool
}

// String returns the text without the space around it.
func (d *draft) String() string {
	if d.buffer.Len() == 0 {
		return strings.TrimSuffix(d.past, paragraph)
	}
	return strings.TrimRightFunc(d.buffer.String(), unicode.IsSpace)
}

// own is the text of the turn that runs, without space before it.
func (d *draft) own() string {
	if d.buffer.Len() == 0 {
		return ""
	}
	return d.buffer.String()[len(d.past):]
}

// begin starts a message whose text goes on from another one's.
func (d *draft) begin(from string) {
	d.set(from)
	d.spoke, d.opening = false, false
}

// open starts a block.
func (d *draft) open() { d.opening = true }

// stream adds a piece of a block.
func (d *draft) stream(piece string) {
	if piece == "" {
		return
	}
	if d.opening && d.spoke && d.buffer.Len() > 0 {
		d.write(paragraph)
	}
	d.opening, d.spoke = false, true
	d.write(piece)
	d.whole = false
}

// write appends to the turn's own text, which does not begin with space.
func (d *draft) write(text string) {
	if d.buffer.Len() == 0 {
		if text = strings.TrimLeftFunc(text, unicode.IsSpace); text == "" {
			return
		}
		d.buffer.WriteString(d.past)
	}
	d.buffer.WriteString(text)
	d.changed = true
}

// settle comes back to what the turn's answer has, the end of a block.
func (d *draft) settle(a *Answer) {
	d.set(a.text.String())
	d.spoke, d.opening = a.spoke, false
}

// set makes the turn's own text another one, which is whole.
func (d *draft) set(text string) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if d.own() != text {
		d.buffer.Reset()
		d.write(text)
		d.changed = true
	}
	d.changed = d.changed || !d.whole && d.buffer.Len() > 0
	d.whole = true
}

// over ends the turn that runs: text is what all turns have brought so far.
func (d *draft) over(text string) {
	if before := d.String(); before != text {
		d.changed = true
	}
	d.buffer.Reset()
	if d.past = text; text != "" {
		d.past += paragraph
	}
	d.spoke, d.opening = false, false
}

// thought is the beginning of what is being thought.
type thought struct {
	buffer  strings.Builder
	opening bool // the next piece is a thought's first
	changed bool
}

// String returns the thought without the space around it.
func (t *thought) String() string { return strings.TrimSpace(t.buffer.String()) }

// open starts a thought; the one before stays until there is something of it.
func (t *thought) open() { t.opening = true }

// stream adds a piece of a thought, as far as there is room.
func (t *thought) stream(piece string) {
	if piece == "" {
		return
	}
	if t.opening {
		t.buffer.Reset()
		t.opening = false
	}
	room := agent.MaxReasoning - t.buffer.Len()
	if room <= 0 {
		return
	}
	if len(piece) > room {
		for room > 0 && !utf8.RuneStart(piece[room]) {
			room--
		}
		piece = piece[:room]
	}
	t.buffer.WriteString(piece)
	t.changed = true
}

// set makes the thought another one, if it is.
func (t *thought) set(whole string) {
	if len(whole) >= t.buffer.Len() && whole[:t.buffer.Len()] == t.buffer.String() && !t.opening {
		t.stream(whole[t.buffer.Len():])
		return
	}
	t.opening = true
	t.stream(whole)
}
