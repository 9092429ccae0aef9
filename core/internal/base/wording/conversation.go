package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// NewConversation answers /new. The model is empty if none was chosen; running means that a turn of the old
// conversation runs.
func NewConversation(model string, running bool) string {
	said := "New conversation."
	if model != "" {
		said = fmt.Sprintf("New conversation, with the model %s.", model)
	}
	if running {
		said += " What is still running ends in the old one; /stop ends it now."
	}
	return said
}

// Stopped answers /stop: whether a turn ran and was stopped, and how many waiting messages were dropped.
func Stopped(stopped bool, dropped int) string {
	var said string
	switch {
	case stopped:
		said = "Stopped."
	case dropped > 0:
		said = "Nothing was running."
	default:
		return "Nothing is running."
	}
	switch dropped {
	case 0:
		return said
	case 1:
		return said + " One waiting message was dropped."
	default:
		return fmt.Sprintf("%s %d waiting messages were dropped.", said, dropped)
	}
}

// Answers of the commands about a conversation.
const (
	NotStoppedYet = "The running turn did not stop yet. It is being killed; send /status to see."
	StopOptions   = "Options: keep (what waits is answered)."

	AsideUsage        = "What do you want to know? `/btw QUESTION` is answered beside what is running."
	AsideNothingRuns  = "Nothing is running here. Ask it as a message of its own."
	AsideTimedOut     = "Claude had no answer to this in time. It goes on with what is running."
	AsideNoAnswer     = "Claude had no answer to this."
	AsideNotSupported = "This version of Claude Code cannot answer a question while a turn is running."

	MessageIsNext     = "This message is answered next."
	MessageWithdrawn  = "This message is withdrawn."
	MessageNotYours   = "You may only withdraw what you wrote yourself. Ask the owner of this bot."
	MessageNotWaiting = "This message is no longer waiting."
	MessageHeld       = "This message comes first already. It is answered as soon as Claude can."

	SessionOptions = "Options: label TEXT, label - (removes the label)."
	LabelUsage     = "A label needs a text: /session label TEXT. `/session label -` removes the label."
	LabelRemoved   = "This conversation has no label now."

	NothingToExport  = "There is nothing to export yet."
	NothingToCompact = "There is nothing to compact yet."
	Compacted        = "The conversation is compacted."
)

// WhichMessage answers a command without the number of a waiting message that it needs.
func WhichMessage(command string) string {
	return fmt.Sprintf("Which message? `/queue` lists those that wait, with their numbers: `/%s NUMBER`.", command)
}

// BadLabel explains why a label is refused.
func BadLabel(why error) string { return fmt.Sprintf("This label is not valid: %s.", why) }

// LabelSet answers /session label.
func LabelSet(label string) string {
	return fmt.Sprintf("This conversation is now labelled %s.", Code(label))
}

// ExportsFull says that the folder of exports is full.
func ExportsFull(dir string) string {
	return fmt.Sprintf("This export does not fit: all exports together may have 1 GB. Remove some from %s on the host.", Code(dir))
}

// Exported answers /export-session.
func Exported(messages int, path string) string {
	return fmt.Sprintf("Exported %s to %s on the host.", plural(messages, "message"), Code(path))
}

// Session answers /session. Wait is how the last message of the person waited; zero: not known. The zone of now is that of the times
// that it shows.
func Session(s domain.Session, agent string, wait domain.Wait, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Session** %s\n", Code(s.Key))
	if s.Label != "" {
		fmt.Fprintf(&b, "\n- label: %s", Code(s.Label))
	}
	if agent != "" {
		fmt.Fprintf(&b, "\n- agent: %s", Code(agent))
	}
	fmt.Fprintf(&b, "\n- %s chat", s.Kind)
	if s.Title != "" {
		fmt.Fprintf(&b, " %s", Code(s.Title))
	}
	if s.Route.Channel != "" {
		fmt.Fprintf(&b, ", last message from %s", Code(s.Route.Channel+":"+string(s.Route.Chat)))
		if s.Route.Thread != "" {
			fmt.Fprintf(&b, ", thread %s", Code(string(s.Route.Thread)))
		}
	}
	state := "goes on"
	switch {
	case s.ClaudeStarted:
	case s.ForkOf != "":
		state = "will begin as a copy of its parent's"
	default:
		state = "not begun yet"
	}
	fmt.Fprintf(&b, "\n- Claude's session: %s, %s", Code(s.ClaudeSession), state)
	fmt.Fprintf(&b, "\n- first message: %s", s.CreatedAt.In(now.Location()).Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(&b, "\n- this conversation: begun %s ago, %s", age(now.Sub(begun(s))), compacted(s.Compactions))
	if !s.InteractedAt.IsZero() {
		fmt.Fprintf(&b, "\n- last message: %s ago", age(now.Sub(s.InteractedAt)))
	}
	if waited := waited(wait); waited != "" {
		fmt.Fprintf(&b, "\n- your last message: %s", waited)
	}
	if !s.FlushedAt.IsZero() {
		fmt.Fprintf(&b, "\n- memories saved: %s ago", age(now.Sub(s.FlushedAt)))
	}
	fmt.Fprintf(&b, "\n- %s", spent(s.Usage))
	fmt.Fprintf(&b, "\n- chosen here: %s", chosen(s.Overrides))
	return b.String()
}

// waited says how a message has waited for more; empty: it is not known.
func waited(w domain.Wait) string {
	var why string
	switch w.Why {
	case domain.WaitFile:
		return "did not wait for more, because it has a file"
	case domain.WaitConfig:
		why = "the config says so"
	case domain.WaitSentence:
		why = "it is a whole sentence"
	case domain.WaitUsual:
		why = "it looks complete"
	case domain.WaitUnfinished:
		why = "it looks like the beginning of something"
	case domain.WaitPieces:
		why = "you write in several messages"
	case domain.WaitTyping:
		why = "you were seen typing"
	default:
		return ""
	}
	return fmt.Sprintf("waited %s for more, because %s", w.For.Round(10*time.Millisecond), why)
}

// begun is when a session's conversation began.
func begun(s domain.Session) time.Time {
	if s.ResetAt.After(s.CreatedAt) {
		return s.ResetAt
	}
	return s.CreatedAt
}

// chosen lists the settings that people have chosen for a session.
func chosen(o domain.Overrides) string {
	var list []string
	for _, c := range []struct{ name, value string }{
		{"model", o.Model},
		{"effort", o.Effort},
		{"fast mode", o.Fast},
		{"permissions", o.Permission},
		{"verbose", o.Verbose},
		{"reasoning", o.Reasoning},
		{"usage", o.Usage},
		{"queue", string(o.Queue.Mode)},
		{"drop", string(o.Queue.Drop)},
		{"send", o.Send},
		{"activation", o.Activation},
		{"speech", o.TTS},
	} {
		if c.value != "" {
			list = append(list, c.name+" "+OneLine(c.value, 60))
		}
	}
	if o.Queue.Debounce != nil {
		list = append(list, "debounce "+o.Queue.Debounce.String())
	}
	if o.Queue.Cap > 0 {
		list = append(list, fmt.Sprintf("cap %d", o.Queue.Cap))
	}
	return or(strings.Join(list, ", "), "nothing")
}

// Part is a part of the system prompt.
type Part struct {
	Name  string
	Bytes int
}

// Context answers /context.
func Context(s domain.Session, prompt []Part, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Context**\n\n- %s", filled(s))
	if !s.FlushedAt.IsZero() {
		fmt.Fprintf(&b, "\n- memories saved %s ago", age(now.Sub(s.FlushedAt)))
	}
	total := 0
	for _, part := range prompt {
		total += part.Bytes
	}
	fmt.Fprintf(&b, "\n- system prompt beside Claude's own: %s", size(total))
	for _, part := range prompt {
		fmt.Fprintf(&b, "\n  - %s: %s", part.Name, size(part.Bytes))
	}
	b.WriteString("\n\n`/compact` shortens the conversation, `/new` begins another.")
	return b.String()
}
