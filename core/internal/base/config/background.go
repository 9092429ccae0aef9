package config

import (
	"strings"
	"time"
)

// MemoryFlush configures when the agent is asked to save what it should remember, before its conversation is compacted.
type MemoryFlush struct {
	Enabled bool   // default true
	Margin  int64  // how near the compaction must be, in tokens; default 4000
	Reserve int64  // tokens between the compaction and the end of the window; default 33000
	Prompt  string // in owners' direct chats; never empty
}

// Heartbeat configures regular checks by the agent.
type Heartbeat struct {
	Every time.Duration // zero (default): never; else at least a second
	// From and To are the active time of day; if To is earlier it is on the next day. Default: 8:00 to 22:00. If both are
	// Off the heartbeat is always active.
	From, To Clock
	Target   string // who receives the answer: "owner" (default), or a person as channel:user
	Prompt   string // never empty
	Model    string // of its turns, or an alias; empty (default): that of the conversation
	Session  string // in which its turns run: [HeartbeatChat] (default), [HeartbeatOwn]
}

// The conversation in which a heartbeat runs.
const (
	HeartbeatChat = "chat" // the person's with the agent
	HeartbeatOwn  = "own"  // one of its own
)

var defaultHeartbeat = Heartbeat{From: 8 * 60, To: 22 * 60, Target: "owner", Prompt: HeartbeatPrompt, Session: HeartbeatChat}

// HeartbeatPrompt is the prompt of a heartbeat unless the file has one.
const HeartbeatPrompt = "This is a regular check, which nobody asked for. If there is a file HEARTBEAT.md in your workspace, read it and do " +
	"what it says. Do not take up anything of earlier conversations again. If nothing needs attention, answer NO_REPLY."

const flushPrompt = "This conversation will soon be compacted, and its details will be lost. Write what is worth remembering for good into " +
	"memory/YYYY-MM-DD.md, with today's date in the name, by the tools Write and Edit alone, and add to a file that is there. " +
	"Then answer NO_REPLY, even if there was nothing to write."

// ToolFlushPrompt returns the prompt for a memory flush in a conversation whose memory is written by these tools.
func ToolFlushPrompt(tools []string) string {
	return "This conversation will soon be compacted, and its details will be lost. Keep what is worth remembering for good. Use only the tool " +
		strings.Join(tools, " or ") + " for that. Then answer NO_REPLY, even if there was nothing to keep."
}

func (m *MemoryFlush) block() block {
	return block{path: "memory_flush", attrs: []attr{
		{"enabled", boolean(&m.Enabled)},
		{"margin", whole(&m.Margin, 0, 1_000_000)},
		{"reserve", whole(&m.Reserve, 0, 1_000_000)},
		{"prompt", filled(&m.Prompt)},
	}}
}

func (h *Heartbeat) block() block {
	return block{path: "heartbeat", attrs: []attr{
		{"every", every(&h.Every)},
		{"active", hours(&h.From, &h.To)},
		{"target", target(&h.Target)},
		{"prompt", filled(&h.Prompt)},
		{"model", word(&h.Model)},
		{"session", oneOf(&h.Session, HeartbeatChat, HeartbeatOwn)},
	}}
}

// every stores zero, or at least a second: anything shorter only fills the log.
func every(to *time.Duration) setter {
	return func(v value) {
		d := time.Duration(0)
		duration(&d, 0)(v)
		if d > 0 && d < time.Second {
			v.refuse(`must be "0" or at least "1s"`)
			return
		}
		*to = d
	}
}

// target stores a person, or "owner".
func target(to *string) setter {
	return func(v value) {
		s, ok := v.text()
		switch {
		case !ok:
		case s == "owner":
			*to = s
		case !strings.Contains(s, ":"):
			v.refuse(`must be "owner" or a person as "channel:user", such as "telegram:123"`)
		default:
			if person, ok := v.person(); ok {
				*to = person
			}
		}
	}
}
