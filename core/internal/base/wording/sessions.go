package wording

import (
	"fmt"
	"strings"
	"time"
)

// ClaudeSession is a conversation of Claude Code, for /sessions and /resume.
type ClaudeSession struct {
	ID       string // its beginning, by which people name it
	First    string // its first prompt
	Found    string // a text of it that has what was searched; empty: nothing was searched
	Prompts  int
	Last     time.Time
	Terminal bool      // it was in a terminal
	Current  bool      // this chat continues it
	Open     bool      // another process has it open
	Since    time.Time // since when
}

// maxFirst bounds a text of a listed session, in characters.
const maxFirst = 80

// ClaudeSessions lists conversations of Claude Code in a folder, for /sessions.
func ClaudeSessions(list []ClaudeSession, folder, searched string, now time.Time) string {
	if len(list) == 0 && searched != "" {
		return fmt.Sprintf("No conversation in %s has %s in one message.", Code(folder), Code(searched))
	}
	if len(list) == 0 {
		return fmt.Sprintf("There are no conversations in %s that I can continue here.", Code(folder))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**Conversations in %s**\n", Code(folder))
	for _, s := range list {
		fmt.Fprintf(&b, "\n- %s, %s ago, %s", Code(s.ID), age(now.Sub(s.Last)), plural(s.Prompts, "message"))
		if s.Terminal {
			b.WriteString(", terminal")
		}
		if s.Open {
			b.WriteString(", open elsewhere now")
		}
		if s.Current {
			b.WriteString(", the current one here")
		}
		text := s.First
		if s.Found != "" {
			text = s.Found
		}
		b.WriteString(": " + Code(OneLine(text, maxFirst)))
	}
	b.WriteString("\n\n`/resume ID` continues one here. `/sessions WORDS` searches them.")
	return b.String()
}

// Answers of /resume, /handoff and /fork.
const (
	ResumeUsage     = "Which conversation? `/sessions` lists them, and `/resume ID` continues one here."
	ForkNothing     = "Nothing has been said in this conversation yet, so there is nothing to copy."
	HandoffNothing  = "Nothing has been said in this conversation yet, so there is nothing to continue in a terminal."
	HandoffCopy     = "The copy is made by your next message here. Write one, then use `/handoff` again."
	HandoffBusy     = "Claude is working here. Use `/handoff` again when it has answered; `/stop` ends it now."
	OpenElsewhere   = "This conversation is open in a terminal, or in another program, so I have not answered: one of us would not know what the other one said. Close it there and write your message again, or write it after `/fork`, which continues here in a copy."
	SessionsUnknown = "I cannot see the conversations of Claude Code at the moment. Try again later."
)

// NoClaudeSession answers a /resume of what cannot be continued.
func NoClaudeSession(id string) string {
	return fmt.Sprintf("%s is the beginning of no conversation here, or of more than one. `/sessions` lists those of this folder that were begun in a terminal, and the earlier ones of this chat.", Code(id))
}

// ResumeOpen answers a /resume of a conversation that another process has open.
func ResumeOpen(s ClaudeSession, now time.Time) string {
	return fmt.Sprintf("%s has been open in a terminal, or in another program, for %s. Close it there first: two of us must not continue it at the same time.", Code(s.ID), age(now.Sub(s.Since)))
}

// Resumed says which conversation goes on in a chat.
func Resumed(s ClaudeSession, now time.Time) string {
	return fmt.Sprintf("I go on with %s, of %s and last used %s ago: %s", Code(s.ID), plural(s.Prompts, "message"), age(now.Sub(s.Last)), Code(OneLine(s.First, maxFirst)))
}

// Forked says that a chat continues in a copy of its conversation.
func Forked(id string) string {
	return fmt.Sprintf("We go on in a copy of our conversation. The original stays as it is: `/resume %s` returns to it.", id)
}

// HandedOff says how a conversation is continued in a terminal, by a line of the shell.
func HandedOff(line string) string {
	return "Continue in a terminal of this machine with\n\n```\n" + line + "\n```\n\nWhen you have closed it there, write here again: I continue with what was said there."
}
