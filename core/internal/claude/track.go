package claude

import (
	"strings"
	"time"
)

// track follows one line that was written, through the events of its process, to the end of its turn. It does no I/O.
type track struct {
	uuid string // the line's

	acked    bool // the CLI took the line up
	echoed   bool // by the replay echo
	began    bool // a turn has begun since the line was written
	settled  bool // the CLI says that it is done with the line
	finished bool
	outcome  *event // the result; nil with finished: the line was acknowledged, but not run

	answer        answer
	tools         map[string]bool // running
	compacting    bool
	synthetic     bool   // a message of the CLI's own was seen
	failure       string // the last one's error
	retried       string // why the last request was tried again: named better there than at the end
	resetsAt      time.Time
	model         string
	contextTokens int64
	request       tokens // of the API request that is being answered
}

func newTrack(uuid string) *track { return &track{uuid: uuid, tools: map[string]bool{}} }

// busy tells whether silence is to be expected: a tool runs, or the conversation is being compacted.
func (t *track) busy() bool { return len(t.tools) > 0 || t.compacting }

// stage is how far a turn is: what whoever waits for it acts on. Most events, such as the pieces of an answer, do not
// change it.
type stage struct{ acked, echoed, began, finished, busy bool }

func (t *track) stage() stage {
	return stage{acked: t.acked, echoed: t.echoed, began: t.began, finished: t.finished, busy: t.busy()}
}

// observe takes the next event.
func (t *track) observe(e *event) {
	if t.finished {
		return
	}
	switch e.Type {
	case "system":
		t.system(e)
	case "command_lifecycle":
		if e.Command != t.uuid {
			return
		}
		switch e.State {
		case "started":
			t.acked = true
		case "completed", "cancelled":
			// Comes after the result. Without a turn the line had been consumed by an earlier process.
			t.acked, t.settled = true, true
			t.finished = !t.began
		}
	case "user":
		if e.IsReplay && e.UUID == t.uuid {
			t.acked, t.echoed = true, true
			return
		}
		if e.Message != nil && e.Parent == "" {
			for _, b := range e.Message.Content {
				delete(t.tools, b.ToolUseID)
			}
			t.answer.user(e.Message)
		}
	case "assistant":
		if e.Message != nil && e.Parent == "" {
			t.assistant(e)
		}
	case "stream_event":
		if e.Parent == "" {
			t.stream(&e.Stream)
		}
	case "rate_limit_event":
		if e.Limits.Status == "rejected" && e.Limits.ResetsAt > 0 {
			t.resetsAt = time.Unix(e.Limits.ResetsAt, 0)
		}
	case "result":
		if t.owns(e) {
			t.acked, t.finished, t.outcome = true, true, e
		} else {
			t.reset()
		}
	}
}

func (t *track) system(e *event) {
	switch e.Subtype {
	case "init":
		t.began = true
	case "status":
		t.compacting = e.Status != nil && *e.Status == "compacting"
	case "compact_boundary":
		t.compacting = false
	case "api_retry":
		t.retried = e.Error
	case "session_state_changed":
		// A turn begins with an init event. An echo and then idle without one: the CLI knew the id and ran nothing.
		if e.State == "idle" && (t.settled || t.echoed && !t.began) {
			t.finished = true
		}
	}
}

func (t *track) assistant(e *event) {
	m := e.Message
	if len(m.Content) == 0 {
		return
	}
	if m.Model == synthetic {
		t.synthetic, t.failure = true, e.Error
		return
	}
	t.model = m.Model
	t.answer.add(m)
	for _, b := range m.Content {
		if b.Type == "tool_use" && b.ID != "" {
			t.tools[b.ID] = true
		}
	}
	t.request.Input, t.request.CacheRead, t.request.CacheCreation = m.Usage.Input, m.Usage.CacheRead, m.Usage.CacheCreation
	t.contextTokens = max(t.request.context(), m.Usage.context())
}

func (t *track) stream(e *apiEvent) {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			t.request = e.Message.Usage
			t.contextTokens = t.request.context()
		}
	case "message_delta":
		t.answer.stop(e.Delta.StopReason)
		t.request.Output = e.Usage.Output
		t.contextTokens = t.request.context()
	}
}

// owns tells whether a result is the line's. Turns that nobody asked for have an origin; newer CLIs name the lines that
// a turn answered.
func (t *track) owns(e *event) bool {
	if e.Messages == nil {
		return e.Origin == nil || t.acked // acknowledged within an alien turn: steered into it
	}
	for _, id := range e.Messages {
		if id == t.uuid {
			return true
		}
	}
	return false
}

// reset forgets what an alien turn left.
func (t *track) reset() {
	*t = track{uuid: t.uuid, tools: map[string]bool{}, acked: t.acked, echoed: t.echoed}
}

// answer gathers the text that follows a turn's last tool call. The CLI's own result has only the last block of it.
type answer struct {
	text    strings.Builder
	id      string // of the message that is being added
	stopped string // that message's stop_reason, empty while unknown
	nudged  bool   // the CLI has asked for more since
	some    bool   // a message was added
}

// add takes a message, or one content block of it.
func (a *answer) add(m *message) {
	if m.ID != a.id {
		// A message that was cut goes on in the next one; otherwise the next one replaces it.
		if !a.isCut() {
			a.text.Reset()
		}
		a.id, a.stopped, a.nudged = m.ID, "", false
	} else if a.text.Len() > 0 && hasText(m.Content) {
		a.text.WriteString("\n\n")
	}
	a.some = true
	first := true
	for _, b := range m.Content {
		switch {
		case b.Type == "tool_use":
			a.text.Reset()
		case b.Type == "text" && b.Text != "":
			if !first {
				a.text.WriteString("\n\n")
			}
			a.text.WriteString(b.Text)
			first = false
		}
	}
	a.stop(m.StopReason)
}

// isCut tells whether the message ended before its end: at the limit of its length, or, as it has no end, with the
// connection, after which the CLI asks for the rest.
func (a *answer) isCut() bool {
	switch a.stopped {
	case "max_tokens", "model_context_window_exceeded":
		return true
	case "":
		return a.nudged
	default:
		return false
	}
}

// user takes a message of the user's side that the CLI wrote.
func (a *answer) user(m *message) {
	a.nudged = a.nudged || hasText(m.Content)
}

// stop tells why the message ended.
func (a *answer) stop(reason string) {
	if reason != "" {
		a.stopped = reason
	}
}

func hasText(c content) bool {
	for _, b := range c {
		if b.Type == "text" && b.Text != "" {
			return true
		}
	}
	return false
}
