package wording

import (
	"fmt"
	"strings"
	"time"
)

// Subject is the kind of thing that people are asked about.
type Subject string

// The subjects of questions.
const (
	AboutTool   Subject = "tool"
	AboutPlan   Subject = "plan"
	AboutChoice Subject = "choice"
	AboutResume Subject = "resume"
	AboutForm   Subject = "form" // of an MCP server
)

// maxAsked bounds the text of a closed question, in characters.
const maxAsked = 300

// Question is a question to people.
type Question struct {
	ID       string
	About    Subject
	Direct   bool   // it is asked in a direct chat
	For      string // the person Claude works for, if another person is asked
	Tool     string
	Line     string   // what it is about
	Shown    string   // the plan, as Markdown, or the tool's input
	Why      string   // the tool is used
	Outside  string   // the path outside the workspace on which the tool is used; empty: none
	Purpose  string   // of a turn that no person started
	Other    string   // the tool's other input
	Missing  int      // characters that are not shown
	Doubtful bool     // it can be read in more than one way
	Several  bool     // several answers may be given
	Answers  []Answer // in order
	Details  []string // of the labels of a choice
	Form     *Form    // what an MCP server asks for; nil: it is about something else
	Lasting  string   // what a longer permission covers, from [Lasting]; empty: none is offered
}

// Answer is one possible answer.
type Answer struct {
	Label string // of its button
	Help  string // its explanation, where there are no buttons; empty: it is not listed
	Word  string // of a form: what is written in place of its number; empty: the number
}

// Reasons for questions in turns that no person started.
const (
	AskedForMemories  = "Nobody asked for this just now: it is to keep what matters before this conversation is compacted."
	AskedForHeartbeat = "Nobody asked for this just now: it is part of the heartbeat."
)

// Labels and explanations of the answers to questions.
const (
	OnceLabel    = "✅ Once"
	OnceHelp     = "allow it this once"
	SessionLabel = "✅ This session"
	AlwaysLabel  = "✅ Always"
	NoLabel      = "❌ No"
	NoHelp       = "no; what you add is passed to Claude"
	WhyLabel     = "✍️ No, because …"
	GoAheadLabel = "✅ Go ahead"
	GoAheadHelp  = "go ahead"
	NotThisLabel = "❌ Not like this"
	NotThisHelp  = "not like this; what you add is passed to Claude"
	GoOnLabel    = "▶ Go on"
	GoOnHelp     = "go on from where it stopped"
	LeaveLabel   = "✖ Leave it"
	LeaveHelp    = "leave it"
)

// SessionHelp explains a permission for a conversation.
func SessionHelp(lasting string) string { return "allow in this conversation" + lasting }

// AlwaysHelp explains a permanent permission.
func AlwaysHelp(lasting string) string { return "allow always in this chat" + lasting }

// Lasting describes what a longer permission covers, and whose messages; without rules it is exactly the input in
// question. It follows other words.
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

// PersonIn names the person of a question's turn, and the group in which they wrote; both may be empty.
func PersonIn(person, group string) string {
	if person == "" || group == "" {
		return person + group
	}
	return person + " in " + group
}

// WithButtons asks a question whose answers are on buttons, in Markdown.
func (q Question) WithButtons() string {
	var b strings.Builder
	q.ask(&b)
	switch {
	case q.Form != nil:
		q.answers(&b, true)
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
	if q.Form != nil {
		q.answers(&b, false)
		return strings.TrimRight(b.String(), "\n")
	}
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

// ask writes the question itself.
func (q Question) ask(b *strings.Builder) {
	who := "Claude"
	if q.For != "" {
		who = "Claude, working for " + Verbatim(q.For) + ","
	}
	switch {
	case q.Form != nil:
		q.form(b)
	case q.About == AboutResume:
		b.WriteString(q.Line + "\n")
	case q.About == AboutChoice:
		b.WriteString(strong(q.Line) + "\n")
	case q.About == AboutPlan:
		fmt.Fprintf(b, "**%s has a plan.** May it go ahead?\n\n%s\n", who, or(q.Shown, "It does not say what the plan is."))
	default:
		fmt.Fprintf(b, "**%s asks to use %s.**\n", who, Escape(q.Tool))
		if q.Shown != "" {
			fmt.Fprintf(b, "\n%s\n", Fenced(q.Shown))
		}
		if q.Why != "" {
			fmt.Fprintf(b, "\n%s\n", Escape(q.Why))
		}
		if q.Outside != "" {
			fmt.Fprintf(b, "\nIt reaches outside the workspace: %s\n", Verbatim(q.Outside))
		}
	}
	if q.Purpose != "" {
		fmt.Fprintf(b, "\n%s\n", q.Purpose)
	}
	if q.Other != "" {
		fmt.Fprintf(b, "\nWith %s.\n", Verbatim(q.Other))
	}
	onceOnly := ""
	if q.About == AboutTool {
		onceOnly = ", so it can be allowed once only"
	}
	if q.Missing > 0 {
		first := "Say no"
		switch q.About {
		case AboutChoice:
			first = "Say so in your own words"
		case AboutForm:
			first = "Decline"
		}
		fmt.Fprintf(b, "\n**%d characters of it are not shown here%s.** %s if you want to see them first.\n", q.Missing, onceOnly, first)
	}
	if q.Doubtful {
		fmt.Fprintf(b, "\n**It can be read in more than one way%s.** Say no unless you know why.\n", onceOnly)
	}
}

// strong shows each line of a text in bold type.
func strong(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			line = "**" + Escape(line) + "**"
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

func (q Question) orSeveral() string {
	if q.Several {
		return " or several, such as `1,3`"
	}
	return ""
}

// Asked names the subject of a closed question.
func (q Question) Asked() string {
	switch {
	case q.Form != nil:
		return q.Form.asked(q.Line)
	case q.About == AboutPlan:
		return "Claude's plan"
	case q.About == AboutChoice:
		return Escape(OneLine(q.Line, maxAsked))
	case q.Line != "":
		return Escape(q.Tool) + " " + Verbatim(q.Line)
	default:
		return Escape(q.Tool)
	}
}

// Elsewhere tells a chat that another person is asked about its turn.
func (q Question) Elsewhere() string {
	switch q.About {
	case AboutPlan:
		return "My plan needs an owner's permission. I have asked for it."
	case AboutChoice:
		return "An owner has to choose something for me. I have asked for it."
	case AboutForm:
		return "An owner has to answer an MCP server for me. I have asked for it."
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
		return q.Line + " Nobody could be asked whether to continue."
	case AboutChoice:
		return "I asked: " + q.Asked() + " Nobody could answer, so I went on without it."
	case AboutForm:
		return "I asked" + who + " to answer the " + q.Form.server() + ". Nobody could, so I went on without it."
	case AboutPlan:
		return "I asked" + who + " whether my plan may go ahead. Nobody could answer, so it counted as no."
	default:
		return "I asked" + who + " for permission to use " + q.Asked() + ". Nobody could answer, so it counted as no."
	}
}

// Replies to people who answer a question.
const (
	QuestionUnreadable = "This question cannot be read any more."
	QuestionClosed     = "This question is closed."
	QuestionClosedTold = "This question is closed. Claude gets your text as a message."
	QuestionForOwners  = "Only an owner, or somebody named in the config for it, can answer this."
	QuestionWhyNot     = "Why not? Your next message here is passed to Claude as the reason."
	QuestionStillOpen  = "My question above is still open. Claude reads what you write only after it is answered."
	QuestionFailed     = "Your answer could not be taken. " + seeLog
)

// QuestionClosedAs answers an answer to a question that somebody has answered. Outcome is what the question's messages say of that.
func QuestionClosedAs(outcome string) string { return QuestionClosed + "\n\n" + outcome }

// Answers of the commands about questions.
const (
	NoQuestion    = "No question has this ID. It may be closed already."
	WhichQuestion = "Which question? Give the ID that it shows: `/answer ID ANSWER`."
)

// QuestionAnswers lists the answers that a question accepts.
func QuestionAnswers(id string, words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = Verbatim(fmt.Sprintf("/answer %s %s", id, word))
	}
	return "Say one of " + strings.Join(list, ", ") + "."
}

// WhichAnswer answers an answer without words.
func WhichAnswer(answers string) string { return "Which answer? " + answers }

// NoAnswer answers words that are not an answer to the question.
func NoAnswer(word, answers string) string {
	return fmt.Sprintf("%s is not an answer to this. %s", Verbatim(cut(word, 60)), answers)
}

// Operator names the operator of the host who has answered a question outside of the chats. By is how, such as "the state page".
func Operator(by string) string { return "an operator (" + by + ")" }

// AllowedOnce replaces a question that was allowed once.
func AllowedOnce(by, asked string) string { return "✅ Allowed once by " + by + ": " + asked }

// AllowedSession replaces a question that was allowed for the conversation.
func AllowedSession(by, asked string) string {
	return "✅ Allowed for this conversation by " + by + ": " + asked
}

// AllowedAlways replaces a question that was allowed permanently.
func AllowedAlways(by, asked string) string { return "✅ Always allowed here by " + by + ": " + asked }

// PlanApproved replaces an approved plan.
func PlanApproved(by, asked string) string { return "✅ " + asked + ": approved by " + by + "." }

// Denied replaces a denied question; the reason may be empty.
func Denied(by, asked, reason string) string {
	said := "❌ " + by + " denied: " + asked
	if reason != "" {
		said += "\n\n" + Escape(reason)
	}
	return said
}

// Chosen replaces an answered choice.
func Chosen(by, asked, picked string) string {
	return fmt.Sprintf("%s\n\n✅ %s, said %s.", asked, Escape(picked), by)
}

// GoingOn replaces an accepted offer to continue.
func GoingOn(by, line string) string { return line + "\n\n▶ Continued by " + by + "." }

// LeftAlone replaces a declined offer to continue.
func LeftAlone(by, line string) string { return line + "\n\n✖ Left as it is by " + by + "." }

// QuestionExpired replaces a question that was not answered in time.
func QuestionExpired(patience time.Duration, asked string) string {
	return fmt.Sprintf("⌛ Nobody answered within %s, so it counts as no: %s", span(patience), asked)
}

// QuestionReminder reminds a chat of a question that ends after a time.
func QuestionReminder(left time.Duration, asked string) string {
	return fmt.Sprintf("⏰ Nobody has answered this yet. In %s it counts as no: %s", span(left), asked)
}

// QuestionWithdrawn replaces a question that is no longer needed.
func QuestionWithdrawn(asked string) string { return "This question is closed: " + asked }

// AnswerTooLate replaces a question whose answer came too late.
func AnswerTooLate(asked string) string {
	return "This answer came too late, Claude had gone on without it: " + asked
}

// AnswerTooLateTold replaces a question whose answer came too late and became a message.
func AnswerTooLateTold(asked string) string {
	return "This answer came too late, so Claude gets it as a message: " + asked
}

// Crowd is whose open questions are too many.
type Crowd int

// The values of Crowd.
const (
	OfConversation Crowd = iota
	OfSender
	OfOthers
)

// TooManyQuestions tells a chat that a tool was not asked about, because too many questions are open.
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
