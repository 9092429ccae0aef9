package wording

import (
	"fmt"
	"strings"
	"time"
)

// Notices of failed turns.
const (
	NotLoggedIn       = "Claude is not logged in, or its key is not accepted. Ask the operator to log in to Claude again, then send your message again."
	NoCredit          = "Claude's account has no credit left. Ask the operator to check the billing, then send your message again."
	ServersOverloaded = "Claude's servers are overloaded. Send your message again in a few minutes."
	ServersFailed     = "Claude's servers failed or could not be reached. Send your message again in a few minutes."
	TookTooLong       = "Claude took too long, so I ended its work. Send your message again, or ask for less at once."
	MessageTooLong    = "This message is too long for Claude, even in a new conversation. Shorten it, or send it in parts."
	Declined          = "Claude declined to answer this. Put it in other words, or ask for something else; /new begins a new conversation."
	ModelUnavailable  = "The model that is set for Claude is not available. Ask the operator to choose another one, then send your message again."
	LimitReached      = "Claude reached a limit that is set for its work, and ended. Ask for less at once, or say how to go on."
	WorkStopped       = "The work on this message was stopped. Send it again if it still matters."
	ConversationLost  = "Claude has lost our conversation and could not begin a new one. Send /new, then your message again."
	ClaudeUnavailable = "Claude cannot be started at the moment. " + messageKept
	NoSpace           = "This machine has no space for files at the moment. " + messageKept
	ChannelAway       = "Your files cannot be fetched while their channel is not running. " + messageKept
	ClaudeRefuses     = "Claude does not run as it is set up here. Ask the operator to look into it, then send your message again."
	ClaudeDied        = "Claude crashed on this message several times. Put it in other words and send it again. " + elseOperator
	HookFailed        = "A plugin that must prepare each answer is not working. Ask the operator to look into it, then send your message again."
	Intruded          = "Another program wrote into this conversation with Claude, so I ended the work. Ask the operator to look into it, then send your message again."
	Rejected          = "Claude's servers do not accept this message, even in a new conversation. Put it in other words, or send it without its files. " + elseOperator
	CannotContinue    = "Claude crashes each time it opens our conversation. Send /new to begin a new one, then your message again."
	GivenUp           = "I tried this message several times and was interrupted each time, so I gave it up. Send it again if it still matters."
	Failed            = "Something went wrong, and there is no answer. Send your message again. " + elseOperator

	messageKept  = "Your message is kept: I keep trying, and answer as soon as I can. /stop drops it."
	elseOperator = "If that does not help, ask the operator to look into it."
)

// UsageLimit tells a chat that Claude's usage limit is reached, and until when; the zero time is unknown.
func UsageLimit(until, now time.Time) string {
	if until.IsZero() {
		return "Claude's usage limit is reached for now. Send your message again later."
	}
	return fmt.Sprintf("Claude's usage limit is reached until %s. Send your message again then.", moment(until, now))
}

// The buttons of a message that waits for the end of a usage limit.
const (
	LimitContinue = "Continue then"
	LimitDrop     = "Drop"
)

// WaitsForLimit tells a chat that its message waits for the end of Claude's usage limit.
func WaitsForLimit(until, now time.Time) string {
	return fmt.Sprintf("Claude's usage limit is reached until %s. I answer this then.", moment(until, now))
}

// LimitReachedUntil tells owners that messages wait for the end of Claude's usage limit.
func LimitReachedUntil(until, now time.Time) string {
	return fmt.Sprintf("Claude's usage limit is reached until %s. Messages are kept and answered then.", moment(until, now))
}

// moment is a time of today, or of another day, in its zone.
func moment(at, now time.Time) string {
	if now.In(at.Location()).Format(time.DateOnly) != at.Format(time.DateOnly) {
		return at.Format("15:04 MST on Monday, 2 January")
	}
	return at.Format("15:04 MST")
}

// WhyRefused tells an owner why Claude refuses to run; alone means that this is the chat of the failed message.
func WhyRefused(why string, alone bool) string {
	if alone {
		return quoted("Claude refuses to run", why) + "\n\nCorrect the config, then send your message again."
	}
	return quoted("Claude refuses to run", why)
}

// WhyNoAnswers tells an owner why there are no answers.
func WhyNoAnswers(why string) string { return quoted("Claude answers nobody", why) }

// WithCause adds the literal cause of a failure to its notice.
func WithCause(said, why string) string {
	return said + "\n\n" + block(why)
}

// WhyCannotContinue tells an owner why Claude cannot continue a conversation; see [WhyRefused].
func WhyCannotContinue(session, why string, alone bool) string {
	said := quoted("Claude crashes each time it opens the conversation "+session, why)
	if alone {
		return said + "\n\nSend /new to begin a new one, then your message again."
	}
	return said
}

// ChannelAwayFor tells a program why a turn waits.
const ChannelAwayFor = "Files cannot be fetched while their channel is not running."

// ClaudeUnavailableFor tells a program why Claude cannot be started.
func ClaudeUnavailableFor(why string) string { return ClaudeUnusable + ": " + why }

// NoSpaceFor tells a program why files cannot be stored.
func NoSpaceFor(why string) string { return DiskFull + ": " + why }

// quoted adds the literal reason to a sentence.
func quoted(what, why string) string {
	return what + ":\n\n" + Fenced(why)
}

// SentAgain is the line before a message that is sent again although it may have arrived. It has no formatting, because it also
// stands before the question of a poll.
const SentAgain = "(Sent again: it may have arrived before.)"

// What stands before or in place of an answer.
const (
	EmptyAnswer     = "Claude finished without an answer. Ask again, or put it in other words."
	Continued       = "_I was interrupted by a restart and went on from there._"
	BeganExpired    = "_The last conversation has expired. This is a new one._"
	CompactedFirst  = "_The conversation was compacted: its beginning is now a summary._"
	AnswerRestarted = "_The answer began again:_"
	BeganTooLong    = "Our conversation had become too long for the model. I began a new one and no longer know what was said before."
	BeganRejected   = "Claude's servers did not accept our conversation any more. I began a new one and no longer know what was said before."
	BeganLost       = "The record of our conversation is gone from this machine. I began a new one and no longer know what was said before."
)

// Fallback says that another model answered than the chosen one, which failed.
func Fallback(from, to string) string {
	return fmt.Sprintf("_The model %s could not be used; %s answered._", from, to)
}

// FallbackOverloaded is [Fallback] for a model that was overloaded.
func FallbackOverloaded(from, to string) string {
	return fmt.Sprintf("_The model %s is overloaded; %s answered._", from, to)
}

// FallbackLimited is [Fallback] for a model whose usage limit is reached.
func FallbackLimited(from, to string) string {
	return fmt.Sprintf("_The usage limit of the model %s is reached; %s answered._", from, to)
}

// NotAsking says that a turn runs tools without asking, and, where that was chosen for the conversation, how to end it.
func NotAsking(chosen bool) string {
	const said = "⚡ Claude runs tools without asking in this turn."
	if chosen {
		return said + " `/elevated ask` ends that."
	}
	return said
}

// Dropped tells a chat how many of its messages were dropped.
func Dropped(n int) string {
	if n == 1 {
		return "1 message was dropped, because too many waited. Claude is told how it began."
	}
	return fmt.Sprintf("%d messages were dropped, because too many waited. Claude is told how they began.", n)
}

// NotDelivered tells a chat how many messages could not be delivered to it, and how the last of them begin; the beginning of a file
// is empty.
func NotDelivered(n int, begins []string) string {
	var b strings.Builder
	if n == 1 {
		b.WriteString("A message of mine did not arrive.")
	} else {
		fmt.Fprintf(&b, "%d messages of mine did not arrive.", n)
	}
	b.WriteString(" Ask me again for what you miss, or ask the operator to send it again with `clawhost queue retry`.")
	for _, text := range begins {
		b.WriteString("\n\n> " + or(text, "(a file)"))
	}
	return b.String()
}

// Reasoning shows what the model thought, as a quotation.
func Reasoning(text string) string {
	return "Reasoning:\n\n> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}

// Footer is what a turn used.
type Footer struct {
	Model                  string
	Input, Cached, Output  int64 // tokens, those that were cached also counted as input
	CostMicros             int64
	ContextUsed, ContextOf int64 // tokens; zero where the window is not known
}

// Tokens is the short footer below an answer.
func (f Footer) Tokens() string { return fmt.Sprintf("_%d tokens in, %d out_", f.Input, f.Output) }

// String is the whole footer below an answer.
func (f Footer) String() string {
	line := fmt.Sprintf("_%s: %d tokens in (%d cached), %d out, $%.4f", or(f.Model, "claude"), f.Input, f.Cached, f.Output,
		float64(f.CostMicros)/1e6)
	if f.ContextOf > 0 {
		line += fmt.Sprintf(", context %d%%", f.ContextUsed*100/f.ContextOf)
	}
	return line + "_"
}

// Notices about a message that waits, or that changed.
const (
	WaitingCancel    = "✖ Cancel"
	WaitingNext      = "⏫ Next"
	WaitingForOthers = "I am busy with other conversations, and answer this as soon as one of them is done."

	EditedToCommand = "You edited this message into a command, and edits do not run commands. It is withdrawn: write the command as a new message."
	EditedToOther   = "After your edit, this message is for another agent, so it is withdrawn. Write it as a new message."
	EditedRights    = "Your rights here have changed since you wrote this, so it is withdrawn. Write it again."
	EditedLate      = "Claude had read this already when you edited it. Write what has changed as a new message."
	DeletedLate     = "Claude had already read what you deleted, so it still counts. `/stop` ends what is running."
)

// WaitingMessage tells a chat that a message waits, and for how many others; zero: for what is running.
func WaitingMessage(before int) string {
	if before == 0 {
		return "This waits for what is running."
	}
	return fmt.Sprintf("This waits, with %d before it.", before)
}

// StopLabel is on the button that stops a turn.
const StopLabel = "⏹ Stop"

// VoiceUnheard is said once in a conversation with a voice message for which no program is installed.
const VoiceUnheard = "I cannot hear voice messages here, because no program that transcribes them is installed. Please write instead. " +
	"I say so once in a conversation."

// SpeechFailed is said once in a conversation whose answers cannot be spoken.
const SpeechFailed = "I could not speak this answer, because the command in `media.speak` failed. " + seeLog +
	" I say so once in a conversation. `/tts off` ends the attempts."
