package exchange

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Answer collects the text after a turn's last tool call. The CLI's own result has only its last block.
type Answer struct {
	text    strings.Builder
	id      string // of the message being added
	spoke   bool   // that message has had text since its last tool call
	stopped string // that message's stop_reason; empty: unknown
	nudged  bool   // the CLI has asked for more since
	some    bool   // a message was added
}

// Add adds a message, or one content block of it. It returns the texts followed by a tool call: those are not the
// answer.
func (a *Answer) Add(m *protocol.Message) (followed []string) {
	if m.ID != a.id {
		// A message that was cut continues in the next one; otherwise the next one replaces it.
		if !a.isCut() {
			a.text.Reset()
		}
		a.id, a.spoke, a.stopped, a.nudged = m.ID, false, "", false
	}
	a.some = true
	for _, b := range m.Content {
		switch {
		case b.Type == "tool_use":
			if text := strings.TrimSpace(a.text.String()); text != "" {
				followed = append(followed, text)
			}
			a.text.Reset()
			a.spoke = false
		case b.Type == "text" && b.Text != "":
			if a.spoke {
				a.text.WriteString(paragraph)
			}
			a.text.WriteString(b.Text)
			a.spoke = true
		}
	}
	a.stop(m.StopReason)
	return followed
}

// String returns the text without surrounding space.
func (a *Answer) String() string { return strings.TrimSpace(a.text.String()) }

// paragraph separates the blocks of a text, and the texts of turns.
const paragraph = "\n\n"

// continued is the text that a new message continues: that of a message that was cut, or none.
func (a *Answer) continued() string {
	if a.isCut() {
		return a.text.String()
	}
	return ""
}

// isCut reports whether the message is incomplete: it reached the limit of its length, or the connection ended, after
// which the CLI asks for the rest.
func (a *Answer) isCut() bool {
	switch a.stopped {
	case "max_tokens", "model_context_window_exceeded":
		return true
	case "":
		return a.nudged
	default:
		return false
	}
}

// User handles a message of the user's side that the CLI wrote.
func (a *Answer) User(m *protocol.Message) {
	a.nudged = a.nudged || hasText(m.Content)
}

// stop records why the message ended. A refused text must not be shown.
func (a *Answer) stop(reason string) {
	if reason != "" {
		a.stopped = reason
	}
	if reason == refusal {
		a.text.Reset()
	}
}

// refusal is the stop_reason of a message that a classifier stopped.
const refusal = "refusal"

func hasText(c protocol.Content) bool {
	for _, b := range c {
		if b.Type == "text" && b.Text != "" {
			return true
		}
	}
	return false
}
