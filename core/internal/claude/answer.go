package claude

import "strings"

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
