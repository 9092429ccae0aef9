package permission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The bounds of what is asked. The model writes it, and may write much.
const (
	maxShown   = 1500 // characters of a tool's input
	maxLine    = 120  // characters of its one line
	maxChoices = 8    // questions of one AskUserQuestion
	maxOptions = 10   // options of one of them
	maxLabel   = 60   // characters of an option
	maxAsked   = 300  // characters of a question once it is over
	maxRules   = 8
	maxRule    = 300          // characters of a rule that is granted
	maxWhy     = 300          // characters of a reason
	maxReason  = 4 * maxShown // characters of what somebody says against something
)

// about is what sort of thing is asked.
type about string

const (
	aboutTool   about = "tool"
	aboutPlan   about = "plan"
	aboutChoice about = "choice"
	aboutResume about = "resume"
)

// body is a question as people see it.
type body struct {
	About    about     `json:"about"`
	Kind     chat.Kind `json:"kind"`               // of the chat in which it is asked
	For      string    `json:"for,omitempty"`      // for whom, where it is not they who are asked
	Tool     string    `json:"tool,omitempty"`     // which it is about
	Line     string    `json:"line,omitempty"`     // what it is about, in a line
	Shown    string    `json:"shown,omitempty"`    // the whole of it, but for what is Missing
	Missing  int       `json:"missing,omitempty"`  // characters of all this that are not shown
	Doubtful bool      `json:"doubtful,omitempty"` // it can be read in more than one way
	Beside   string    `json:"beside,omitempty"`   // what else is in it, in a line
	Markdown bool      `json:"markdown,omitempty"` // Shown is shown as it is, not as code
	Why      string    `json:"why,omitempty"`
	Purpose  string    `json:"purpose,omitempty"` // of the turn, where nobody has asked for it
	Rules    []string  `json:"rules,omitempty"`   // what more is allowed for longer
	Whose    string    `json:"whose,omitempty"`   // whose messages it would be allowed for
	Labels   []string  `json:"labels,omitempty"`
	Details  []string  `json:"details,omitempty"`  // of the labels
	Several  bool      `json:"several,omitempty"`  // of the labels may be chosen
	Numbered bool      `json:"numbered,omitempty"` // it was asked with numbers, for want of buttons

	Reasons []promise `json:"reasons,omitempty"` // of those who are about to say why not

	Unread []domain.Message `json:"unread,omitempty"` // that claude has never read, and that going on begins with
}

func choiceBody(c choice) body {
	b := body{About: aboutChoice, Line: cut(oneLine(c.question), maxShown), Several: c.several}
	for _, o := range c.options[:min(len(c.options), maxOptions)] {
		b.Labels = append(b.Labels, cut(oneLine(o.label), maxLabel))
		b.Details = append(b.Details, cut(oneLine(o.description), maxLine))
	}
	return b
}

func planBody(q agent.Question) body {
	in := readInput(q.Input)
	b := body{About: aboutPlan, Markdown: true, Doubtful: !in.plain}
	plan := strings.TrimSpace(visible(in.text("plan")))
	if b.Doubtful {
		plan = fenced(visible(string(q.Input)))
	}
	b.show(plan, 4*maxShown)
	if !b.Doubtful {
		b.besides(in.without("plan"))
	}
	return b
}

// telling are the fields of a tool's input that tell what it is about, the most telling first.
var telling = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "prompt"}

func toolBody(q agent.Question) body {
	b := body{About: aboutTool, Rules: rules(q)}
	b.Tool, b.Why = b.cut(oneLine(q.Tool), maxLabel), b.cut(oneLine(q.Description), maxWhy)
	in := readInput(q.Input)
	for _, name := range telling {
		if text := oneLine(in.text(name)); text != "" {
			b.Line = cut(text, maxLine)
			break
		}
	}
	b.showInput(q)
	if b.Why == b.Line || b.Why == b.Shown {
		b.Why = ""
	}
	if q.Outside != "" {
		b.Why = strings.TrimSpace(b.Why + " It reaches outside the workspace: " + b.cut(oneLine(q.Outside), maxWhy))
	}
	return b
}

// grantable reports whether a longer yes is offered: only where people see all that they allow, and what it would cover.
func (b body) grantable() bool {
	return b.Missing == 0 && !b.Doubtful && !slices.ContainsFunc(b.Rules, func(rule string) bool {
		return utf8.RuneCountInString(rule) > maxRule || oneLine(rule) != rule
	})
}

// show keeps what is shown of a text: where it is too long its beginning and its end, as either may be what matters.
func (b *body) show(text string, most int) {
	b.Shown = text
	runes := []rune(text)
	if len(runes) <= most {
		return
	}
	b.Missing += len(runes) - most
	b.Shown = string(runes[:most/2]) + "\n[…]\n" + string(runes[len(runes)-most+most/2:])
}

// rules are what is granted where a question is answered for longer: what claude suggests, or, where it has no suggestion, the
// very same thing again.
func rules(q agent.Question) []string {
	if len(q.Suggested) == 0 || len(q.Suggested) > maxRules {
		return []string{exactly + digest(q, 0)}
	}
	return q.Suggested
}

// exactly begins the rule of one input of a tool. No rule of claude's begins so.
const exactly = "="

// option is one of the answers to a question.
type option struct {
	word  string // what is typed, beside its number
	label string // what its button says
	help  string // what is said of it where there are no buttons
}

func (b body) options() []option {
	switch b.About {
	case aboutResume:
		return []option{{"go", "▶ Go on", "go on from where it was left"}, {"leave", "✖ Leave it", "leave it"}}
	case aboutPlan:
		return []option{{"yes", "✅ Go ahead", "go ahead"}, {"no", "❌ Not like this", "not like this; what you write behind it is told to Claude"}}
	case aboutChoice:
		list := make([]option, len(b.Labels))
		for i, label := range b.Labels {
			list[i] = option{fmt.Sprint(i + 1), label, label}
			if b.Details[i] != "" {
				list[i].help += " – " + b.Details[i]
			}
		}
		return list
	default:
		list := []option{{"once", "✅ Once", "allow it this once"}}
		if b.grantable() {
			list = append(list, option{"session", "✅ This session", "allow in this conversation" + b.ruled()}, option{"always", "✅ Always", "allow always in this chat" + b.ruled()})
		}
		return append(list, option{"no", "❌ No", "no; what you write behind it is told to Claude"}, option{"why", "✍️ No, because …", ""})
	}
}

// ruled names what a longer permission covers, and for whose messages.
func (b body) ruled() string {
	whose := ""
	if b.Whose != "" {
		whose = ", for messages of " + b.Whose
	}
	if len(b.Rules) == 0 || strings.HasPrefix(b.Rules[0], exactly) {
		return whose + ": exactly this again"
	}
	shown := make([]string, len(b.Rules))
	for i, rule := range b.Rules {
		shown[i] = code(rule)
	}
	return whose + ": " + strings.Join(shown, ", ")
}

// granted are the rules of a longer permission as they are kept: that of one input with what it is, for people to read.
func (b body) granted() []string {
	list := slices.Clone(b.Rules)
	for i, rule := range list {
		if strings.HasPrefix(rule, exactly) {
			what := b.Tool + " " + oneLine(b.Shown)
			if b.Beside != "" {
				what += " with " + b.Beside
			}
			list[i] = rule + " " + cut(what, maxRule)
		}
	}
	return list
}

// text is the message that asks, in Markdown.
func (b body) text(id string, buttons bool) string {
	var t strings.Builder
	who := "Claude"
	if b.For != "" {
		who = "Claude, working for " + code(cut(oneLine(b.For), maxLabel)) + ","
	}
	switch b.About {
	case aboutResume:
		t.WriteString(b.Line + "\n")
	case aboutChoice:
		fmt.Fprintf(&t, "**%s**\n", escape(b.Line))
	case aboutPlan:
		fmt.Fprintf(&t, "**%s has a plan.** May it go ahead?\n\n%s\n", who, cmp.Or(chunk.Closed(b.Shown), "It does not say what the plan is."))
	default:
		fmt.Fprintf(&t, "**%s asks to use %s.**\n", who, escape(b.Tool))
		if b.Shown != "" {
			fmt.Fprintf(&t, "\n%s\n", fenced(b.Shown))
		}
		if b.Why != "" {
			fmt.Fprintf(&t, "\n%s\n", escape(b.Why))
		}
	}
	if b.Purpose != "" {
		fmt.Fprintf(&t, "\n%s\n", b.Purpose)
	}
	if b.Beside != "" {
		fmt.Fprintf(&t, "\nWith %s.\n", code(b.Beside))
	}
	if b.Missing > 0 {
		fmt.Fprintf(&t, "\n**%d characters of it are not shown here%s.** Say no if you want to see them first.\n", b.Missing, b.onceOnly())
	}
	if b.Doubtful {
		fmt.Fprintf(&t, "\n**It can be read in more than one way%s.** Say no unless you know why.\n", b.onceOnly())
	}
	if buttons {
		t.WriteString(b.beside(id))
		return strings.TrimRight(t.String(), "\n")
	}
	t.WriteString("\n")
	for i, o := range b.options() {
		if o.help != "" {
			fmt.Fprintf(&t, "%d. %s\n", i+1, o.help)
		}
	}
	answer := "Answer"
	if b.Kind != chat.Direct {
		answer = "Answer in a reply to this"
	}
	switch b.About {
	case aboutChoice:
		fmt.Fprintf(&t, "\n%s with a number%s, or in your own words. `/answer %s …` does the same.", answer, b.orSeveral(), id)
	default:
		fmt.Fprintf(&t, "\n%s with a number, or with `/answer %s` and a number.", answer, id)
	}
	return t.String()
}

// onceOnly says why there is no longer yes.
func (b body) onceOnly() string {
	if b.About == aboutTool {
		return ", so it can be allowed once only"
	}
	return ""
}

// elsewhere tells whoever a question is about that somebody else is asked.
func (b body) elsewhere() string {
	if b.About == aboutPlan {
		return "I need an owner's leave for my plan, and have asked for it."
	}
	return "I need an owner's leave to use " + escape(b.Tool) + ", and have asked for it."
}

// unseen tells the chat whose turn asks that the question could not be delivered.
func (b body) unseen() string {
	who := ""
	if b.For != "" {
		who = " an owner"
	}
	switch b.About {
	case aboutResume:
		return b.Line + " Nobody could be asked whether to go on."
	case aboutChoice:
		return "I asked: " + b.what() + " Nobody could answer, so I went on without it."
	case aboutPlan:
		return "I asked" + who + " whether my plan may go ahead. Nobody could answer, so it counted as no."
	default:
		return "I asked" + who + " for leave to use " + b.what() + ". Nobody could answer, so it counted as no."
	}
}

// beside is what is said under a question that has buttons.
func (b body) beside(id string) string {
	switch {
	case b.About == aboutChoice:
		var t strings.Builder
		for i, detail := range b.Details {
			if detail != "" {
				fmt.Fprintf(&t, "\n- %s: %s", escape(b.Labels[i]), escape(detail))
			}
		}
		write := "write"
		if b.Kind != chat.Direct {
			write = "reply to this with"
		}
		fmt.Fprintf(&t, "\n\nOr %s your own words%s. `/answer %s …` does the same.", write, b.orSeveral(), id)
		return t.String()
	case b.About == aboutTool && b.grantable():
		return fmt.Sprintf("\n“This session” and “Always” would allow%s", b.ruled())
	default:
		return ""
	}
}

func (b body) orSeveral() string {
	if b.Several {
		return " or several, such as `1,3`"
	}
	return ""
}

// layout puts the options on buttons, the data of which is the command that answers; nil: they do not fit.
func layout(id string, options []option, limits chat.ButtonLimits) [][]chat.Button {
	const widest = 3
	columns := min(limits.Columns, widest)
	if columns < 1 || limits.Rows*columns < len(options) || len(options) == 0 {
		return nil
	}
	var rows [][]chat.Button
	for i, o := range options {
		b := chat.Button{Label: o.label, Data: "/answer " + id + " " + o.word}
		if limits.DataBytes > 0 && len(b.Data) > limits.DataBytes {
			return nil
		}
		if i%columns == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], b)
	}
	return rows
}
