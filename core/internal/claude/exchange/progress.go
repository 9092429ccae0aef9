package exchange

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// progress is the progress of an exchange while it runs. Returned values never change: texts are snapshots of buffers
// that only grow, so that a text of n pieces takes no more memory than its own.
type progress struct {
	text    draft
	thought thought
	done    []agent.Step
	running []agent.ToolUse // replaced when it changes
	steered int
	todos   todos
	planned bool // the list of todos has changed
	changed bool // since the last take
}

// take returns the progress if it has changed.
func (p *progress) take() (agent.Progress, bool) {
	p.changed = p.changed || p.text.changed || p.thought.changed
	if !p.changed {
		return agent.Progress{}, false
	}
	p.changed, p.text.changed, p.thought.changed = false, false, false
	text := p.text.String()
	now := agent.Progress{
		Done: p.done[:len(p.done):len(p.done)], Text: text, Complete: p.text.whole && text != "",
		Running: p.running, Thinking: p.thought.String(), Steered: p.steered,
	}
	if p.planned {
		now.Todos = p.todos.list
	}
	return now, true
}

// plan handles a message of the user's side, with what its tool reports.
func (p *progress) plan(m *protocol.Message, reported json.RawMessage) {
	if p.todos.user(m, reported) {
		p.planned, p.changed = true, true
	}
}

// finish adds a finished step.
func (p *progress) finish(s agent.Step) {
	p.done = append(p.done, s)
	p.changed = true
}

// runs sets the running tools.
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

// took sets how many lines were steered into the exchange.
func (p *progress) took(lines int) {
	if p.steered != lines {
		p.steered, p.changed = lines, true
	}
}

// draft is the growing text of an exchange: that of the ended turns, then that of the running turn, whose last block
// may be incomplete. Only the turn's answer counts in the end: the draft is ahead of it by what was streamed, and is
// set to it when a block is complete, or when what was streamed is void.
type draft struct {
	buffer  strings.Builder // empty, or past and the turn's own text
	past    string          // the ended turns and a paragraph break; or empty
	spoke   bool            // the streamed message has had text since its last tool call
	opening bool            // the next piece is the first of a block
	whole   bool            // the text ends with a complete block
	changed bool
}

// String returns the text without surrounding space.
func (d *draft) String() string {
	if d.buffer.Len() == 0 {
		return strings.TrimSuffix(d.past, paragraph)
	}
	return strings.TrimRightFunc(d.buffer.String(), unicode.IsSpace)
}

// own is the text of the running turn, without leading space.
func (d *draft) own() string {
	if d.buffer.Len() == 0 {
		return ""
	}
	return d.buffer.String()[len(d.past):]
}

// begin starts a message whose text continues another one.
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

// settle sets the draft to the turn's answer, at the end of a block.
func (d *draft) settle(a *Answer) {
	d.set(a.text.String())
	d.spoke, d.opening = a.spoke, false
}

// set replaces the turn's own text by a complete one.
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

// over ends the running turn: text is the text of all turns so far.
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

// thought is the beginning of the current reasoning.
type thought struct {
	buffer  strings.Builder
	opening bool // the next piece is the first of a thought
	changed bool
}

// String returns the reasoning without surrounding space.
func (t *thought) String() string { return strings.TrimSpace(t.buffer.String()) }

// open starts a thought; the previous one stays until the first piece of the new one.
func (t *thought) open() { t.opening = true }

// stream adds a piece of a thought, up to the limit.
func (t *thought) stream(piece string) {
	if piece == "" {
		return
	}
	if t.opening {
		t.buffer.Reset()
		t.opening = false
	}
	space := agent.MaxReasoning - t.buffer.Len()
	if space <= 0 {
		return
	}
	if len(piece) > space {
		for space > 0 && !utf8.RuneStart(piece[space]) {
			space--
		}
		piece = piece[:space]
	}
	t.buffer.WriteString(piece)
	t.changed = true
}

// set replaces the thought, if it differs.
func (t *thought) set(whole string) {
	if len(whole) >= t.buffer.Len() && whole[:t.buffer.Len()] == t.buffer.String() && !t.opening {
		t.stream(whole[t.buffer.Len():])
		return
	}
	t.opening = true
	t.stream(whole)
}
