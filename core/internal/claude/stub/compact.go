package stub

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// isCompact reports whether a message is the command that compacts.
func isCompact(text string) bool {
	name, _, _ := strings.Cut(text, " ")
	return name == "/compact"
}

// summary is the text from which a compacted conversation continues.
const summary = "This session is being continued from a previous conversation that ran out of context."

// compact compacts the conversation as the CLI does it by itself.
func (s *session) compact() {
	s.status("compacting")
	s.compacted()
	s.boundary("auto")
}

// compacted reports that the summary is there.
func (s *session) compacted() {
	s.out.send(map[string]any{"type": "system", "subtype": "status", "status": nil, "compact_result": "success"})
}

// boundary restarts the conversation from its summary.
func (s *session) boundary(trigger string) {
	const after = 626 // tokens
	s.out.send(map[string]any{
		"type": "system", "subtype": "compact_boundary",
		"compact_metadata": map[string]any{"trigger": trigger, "pre_tokens": s.inTokens + s.output, "post_tokens": after},
	})
	s.out.send(map[string]any{
		"type": "user", "parent_tool_use_id": nil, "isSynthetic": true, "message": map[string]any{"role": "user", "content": summary},
	})
	if err := s.log.compact(); err != nil {
		s.fatal = "Error: " + err.Error()
	}
	s.inTokens, s.output = after, 0
}

// compactNow runs the command as a turn of its own.
func (s *session) compactNow(script Script, m message, began time.Time) {
	echo := func() {
		command := "<command-name>/compact</command-name>"
		if err := s.log.command(m, command); err != nil {
			s.fatal = "Error: " + err.Error()
		}
		s.echo(m.uuid, command)
	}
	if s.log.parent == "" {
		s.init()
		s.synthetic("Error: No messages to compact", "")
		echo()
	} else {
		s.status("compacting")
		s.sleep(time.Duration(script.DelayMS) * time.Millisecond)
		if s.stop {
			s.init()
			s.interrupted(m, began, "aborted_streaming")
			return
		}
		s.compacted()
		s.init()
		s.boundary("manual")
		s.echo(uuid.NewString(), "<local-command-stdout>Compacted </local-command-stdout>")
		s.crash(script, "answered", m)
		echo()
	}
	s.result(map[string]any{"subtype": "success", "is_error": false, "result": "", "stop_reason": nil, "num_turns": 0}, m, began)
	s.crash(script, "result", m)
	s.finish(m, "completed")
}
