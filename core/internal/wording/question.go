package wording

import (
	"fmt"
	"strings"
	"time"
)

// Subject is what sort of thing people are asked about.
type Subject string

// The subjects of questions.
const (
	AboutTool   Subject = "tool"
	AboutPlan   Subject = "plan"
	AboutChoice Subject = "choice"
	AboutResume Subject = "resume"
)

// maxAsked is how many characters are shown of a question that is over.
const maxAsked = 300

// Question is what people are asked.
type Question struct {
	ID       string
	About    Subject
	Direct   bool   // it is asked in a direct chat
	For      string // for whom Claude works, where somebody else is asked
	Tool     string
	Line     string   // what it is about
	Shown    string   // the plan, as Markdown, or the tool's input
	Why      string   // the tool is used
	Purpose  string   // of a turn that nobody has asked for
	Beside   string   // what else is in the tool's input
	Missing  int      // characters that are not shown
	Doubtful bool     // it can be read in more than one way
	Several  bool     // of the answers may be given
	Answers  []Answer // in their order
	Details  []string // of the labels of a choice
	Lasting  string   // what a longer permission covers, as [Lasting] says it; empty: none is offered
}

// Answer is one of the answers to a question.
type Answer struct {
	Label string // of its button
	Help  string // what it does, where there are no buttons; empty: it is not listed
}

// Why people are asked in a turn that nobody has asked for.
const (
	AskedForMemories  = "Nobody asked for this just now: it is to keep what matters before this conversation is compacted."
	AskedForHeartbeat = "Nobody asked for this just now: it is part of the heartbeat."
)

// ReachesOutside says why a tool is used that reaches a path outside of the workspace.
func ReachesOutside(why, path string) string {
	return strings.TrimSpace(why + " It reaches outside the workspace: " + path)
}

// The labels of the answers to questions, and what each does.
const (
	OnceLabel    = "✅ Once"
	OnceHelp     = "allow it this once"
	SessionLabel = "✅ This session"
	AlwaysLabel  = "✅ Always"
	NoLabel      = "❌ No"
	NoHelp       = "no; what you write behind it is told to Claude"
	WhyLabel     = "✍️ No, because …"
	GoAheadLabel = "✅ Go ahead"
	GoAheadHelp  = "go ahead"
	NotThisLabel = "❌ Not like this"
	NotThisHelp  = "not like this; what you write behind it is told to Claude"
	GoOnLabel    = "▶ Go on"
	GoOnHelp     = "go on from where it stopped"
	LeaveLabel   = "✖ Leave it"
	LeaveHelp    = "leave it"
)

// SessionHelp says what allowing something in a conversation covers.
func SessionHelp(lasting string) string { return "allow in this conversation" + lasting }

// AlwaysHelp says what allowing something always covers.
func AlwaysHelp(lasting string) string { return "allow always in this chat" + lasting }

// Lasting names what a longer permission covers, and for whose messages; without rules it is exactly what is asked. It stands behind
// other words.
func Lasting(whose string, rules []string) string {
	said := ""
	if whose != "" {
		said = ", for messages of " + whose
	}
	if len(rules) == 0 {
		return said + ": exactly this again"
	}
	shown := make([]string, len(rules))
	for i, rule := range rules {
		shown[i] = Verbatim(rule)
	}
	return said + ": " + strings.Join(shown, ", ")
}

// WithButtons asks a question whose answers are on buttons, in Markdown.
func (q Question) WithButtons() string {
	var b strings.Builder
	q.ask(&b)
	switch {
	case q.About == AboutChoice:
		for i, detail := range q.Details {
			if detail != "" {
				fmt.Fprintf(&b, "\n- %s: %s", Escape(q.Answers[i].Label), Escape(detail))
			}
		}
		write := "write"
		if !q.Direct {
			write = "reply to this with"
		}
		fmt.Fprintf(&b, "\n\nOr %s your own words%s. `/answer %s …` does the same.", write, q.orSeveral(), q.ID)
	case q.Lasting != "":
		fmt.Fprintf(&b, "\n“This session” and “Always” would allow%s", q.Lasting)
	}
	return strings.TrimRight(b.String(), "\n")
}

// String asks a question whose answers are numbered, in Markdown.
func (q Question) String() string {
	var b strings.Builder
	q.ask(&b)
	b.WriteString("\n")
	for i, a := range q.Answers {
		if a.Help != "" {
			fmt.Fprintf(&b, "%d. %s\n", i+1, a.Help)
		}
	}
	answer := "Answer"
	if !q.Direct {
		answer = "Answer in a reply to this"
	}
	if q.About == AboutChoice {
		fmt.Fprintf(&b, "\n%s with a number%s, or in your own words. `/answer %s …` does the same.", answer, q.orSeveral(), q.ID)
	} else {
		fmt.Fprintf(&b, "\n%s with a number, or with `/answer %s` and a number.", answer, q.ID)
	}
	return b.String()
}

// ask says what is asked.
func (q Question) ask(b *strings.Builder) {
	who := "Claude"
	if q.For != "" {
		who = "Claude, working for " + Verbatim(q.For) + ","
	}
	switch q.About {
	case AboutResume:
		b.WriteString(q.Line + "\n")
	case AboutChoice:
		fmt.Fprintf(b, "**%s**\n", Escape(q.Line))
	case AboutPlan:
		fmt.Fprintf(b, "**%s has a plan.** May it go ahead?\n\n%s\n", who, or(q.Shown, "It does not say what the plan is."))
	default:
		fmt.Fprintf(b, "**%s asks to use %s.**\n", who, Escape(q.Tool))
		if q.Shown != "" {
			fmt.Fprintf(b, "\n%s\n", Fenced(q.Shown))
		}
		if q.Why != "" {
			fmt.Fprintf(b, "\n%s\n", Escape(q.Why))
		}
	}
	if q.Purpose != "" {
		fmt.Fprintf(b, "\n%s\n", q.Purpose)
	}
	if q.Beside != "" {
		fmt.Fprintf(b, "\nWith %s.\n", Verbatim(q.Beside))
	}
	onceOnly := ""
	if q.About == AboutTool {
		onceOnly = ", so it can be allowed once only"
	}
	if q.Missing > 0 {
		fmt.Fprintf(b, "\n**%d characters of it are not shown here%s.** Say no if you want to see them first.\n", q.Missing, onceOnly)
	}
	if q.Doubtful {
		fmt.Fprintf(b, "\n**It can be read in more than one way%s.** Say no unless you know why.\n", onceOnly)
	}
}

func (q Question) orSeveral() string {
	if q.Several {
		return " or several, such as `1,3`"
	}
	return ""
}

// Asked names what a question is about that is over.
func (q Question) Asked() string {
	switch {
	case q.About == AboutPlan:
		return "Claude's plan"
	case q.About == AboutChoice:
		return Escape(cut(q.Line, maxAsked))
	case q.Line != "":
		return Escape(q.Tool) + " " + Verbatim(q.Line)
	default:
		return Escape(q.Tool)
	}
}

// Elsewhere tells the chat that a question is about that somebody else is asked.
func (q Question) Elsewhere() string {
	if q.About == AboutPlan {
		return "My plan needs an owner's permission. I have asked for it."
	}
	return "I need an owner's permission to use " + Escape(q.Tool) + ", and have asked for it."
}

// Undelivered tells the chat whose turn asks that the question could not be delivered.
func (q Question) Undelivered() string {
	who := ""
	if q.For != "" {
		who = " an owner"
	}
	switch q.About {
	case AboutResume:
		return q.Line + " Nobody could be asked whether to go on."
	case AboutChoice:
		return "I asked: " + q.Asked() + " Nobody could answer, so I went on without it."
	case AboutPlan:
		return "I asked" + who + " whether my plan may go ahead. Nobody could answer, so it counted as no."
	default:
		return "I asked" + who + " for permission to use " + q.Asked() + ". Nobody could answer, so it counted as no."
	}
}

// What somebody is told who answers a question.
const (
	QuestionUnreadable = "This question cannot be read any more."
	QuestionClosed     = "This question is closed."
	QuestionClosedTold = "This question is closed. I tell Claude what you wrote as a message."
	QuestionForOwners  = "Only an owner, or somebody named in the config for it, can answer this."
	QuestionWhyNot     = "Why not? Your next message here is told to Claude as the reason."
	QuestionStillOpen  = "My question above is still open. Claude reads what you write only after it is answered."
	QuestionFailed     = "Your answer could not be taken. " + seeLog
)

// What commands about questions answer.
const (
	NoQuestion    = "No question has this ID. It may be closed already."
	WhichQuestion = "Which question? Give the ID that it shows: `/answer ID ANSWER`."
)

// QuestionAnswers says which answers a question takes.
func QuestionAnswers(id string, words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = Verbatim(fmt.Sprintf("/answer %s %s", id, word))
	}
	return "Say one of " + strings.Join(list, ", ") + "."
}

// WhichAnswer answers an answer without words.
func WhichAnswer(answers string) string { return "Which answer? " + answers }

// NoAnswer answers words that are none of a question's answers.
func NoAnswer(word, answers string) string {
	return fmt.Sprintf("%s is not an answer to this. %s", Verbatim(cut(word, 60)), answers)
}

// AllowedOnce stands in place of a question that somebody has allowed once.
func AllowedOnce(by, asked string) string { return "✅ Allowed once by " + by + ": " + asked }

// AllowedSession stands in place of a question that somebody has allowed for the conversation.
func AllowedSession(by, asked string) string {
	return "✅ Allowed for this conversation by " + by + ": " + asked
}

// AllowedAlways stands in place of a question that somebody has allowed for good.
func AllowedAlways(by, asked string) string { return "✅ Always allowed here by " + by + ": " + asked }

// PlanApproved stands in place of a plan that somebody has approved.
func PlanApproved(by, asked string) string { return "✅ " + asked + ": approved by " + by + "." }

// Denied stands in place of a question that somebody has denied; the reason may be empty.
func Denied(by, asked, reason string) string {
	said := "❌ " + by + " denied: " + asked
	if reason != "" {
		said += "\n\n" + Escape(reason)
	}
	return said
}

// Chosen stands in place of a choice that somebody has made.
func Chosen(by, asked, picked string) string {
	return fmt.Sprintf("%s\n\n✅ %s, said %s.", asked, Escape(picked), by)
}

// GoingOn stands in place of an offer to go on that somebody has taken.
func GoingOn(by, line string) string { return line + "\n\n▶ Going on, said " + by + "." }

// LeftAlone stands in place of an offer to go on that somebody has declined.
func LeftAlone(by, line string) string { return line + "\n\n✖ Left, said " + by + "." }

// QuestionExpired stands in place of a question that nobody has answered in time.
func QuestionExpired(patience time.Duration, asked string) string {
	return fmt.Sprintf("⌛ Nobody answered within %s, so it counts as no: %s", span(patience), asked)
}

// QuestionWithdrawn stands in place of a question that is of no use any more.
func QuestionWithdrawn(asked string) string { return "This question is closed: " + asked }

// AnswerTooLate stands in place of a question whose answer Claude did not wait for.
func AnswerTooLate(asked string) string {
	return "This answer came too late, Claude had gone on without it: " + asked
}

// AnswerTooLateTold stands in place of a question whose answer came too late and was a message of its own.
func AnswerTooLateTold(asked string) string {
	return "This answer came too late, so Claude is told it as a message: " + asked
}

// Crowd is whose questions are too many.
type Crowd int

// The crowds of questions.
const (
	OfConversation Crowd = iota
	OfSender
	OfOthers
)

// TooManyQuestions tells a chat that people were not asked about a tool, as so many questions are open.
func TooManyQuestions(tool string, open int, of Crowd) string {
	which := fmt.Sprintf("%d questions of this conversation are", open)
	switch of {
	case OfSender:
		which = fmt.Sprintf("%d questions of yours are", open)
	case OfOthers:
		which = "too many questions of other conversations are"
	}
	return fmt.Sprintf("Claude wanted to ask about %s, but %s waiting for an answer already. Try again once they are answered.", Escape(tool), which)
}

func span(d time.Duration) string {
	switch {
	case d%time.Hour == 0 && d > time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d == time.Hour:
		return "an hour"
	case d%time.Minute == 0 && d > time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	default:
		return d.String()
	}
}
