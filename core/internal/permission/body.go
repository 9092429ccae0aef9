package permission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/store"
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
	Missing  int       `json:"missing,omitempty"`  // characters of it that are not shown
	Beside   string    `json:"beside,omitempty"`   // what else is in it, in a line
	Markdown bool      `json:"markdown,omitempty"` // Shown is shown as it is, not as code
	Why      string    `json:"why,omitempty"`
	Purpose  string    `json:"purpose,omitempty"` // of the turn, where nobody has asked for it
	Rules    []string  `json:"rules,omitempty"`   // what more is allowed for longer
	Labels   []string  `json:"labels,omitempty"`
	Details  []string  `json:"details,omitempty"`  // of the labels
	Several  bool      `json:"several,omitempty"`  // of the labels may be chosen
	Numbered bool      `json:"numbered,omitempty"` // it was asked with numbers, for want of buttons

	Reasons []promise `json:"reasons,omitempty"` // of those who are about to say why not

	Unread []store.Message `json:"unread,omitempty"` // that claude has never read, and that going on begins with
}

// choice is one of the questions of AskUserQuestion.
type choice struct {
	Question string `json:"question"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
	Several bool `json:"multiSelect"`
}

func choiceBody(c choice) body {
	b := body{About: aboutChoice, Line: cut(oneLine(c.Question), maxShown), Several: c.Several}
	for _, o := range c.Options[:min(len(c.Options), maxOptions)] {
		b.Labels = append(b.Labels, cut(oneLine(o.Label), maxLabel))
		b.Details = append(b.Details, cut(oneLine(o.Description), maxLine))
	}
	return b
}

func planBody(q agent.Question) body {
	var input struct{ Plan string }
	_ = json.Unmarshal(q.Input, &input)
	b := body{About: aboutPlan, Markdown: true}
	b.show(strings.TrimSpace(visible(input.Plan)), 4*maxShown)
	return b
}

// telling are the fields of a tool's input that tell what it is about, the most telling first.
var telling = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "prompt"}

func toolBody(q agent.Question) body {
	b := body{About: aboutTool, Tool: cut(oneLine(q.Tool), maxLabel), Why: cut(oneLine(q.Description), maxLine), Rules: rules(q)}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(q.Input, &fields)
	for _, name := range telling {
		var text string
		if json.Unmarshal(fields[name], &text) != nil || strings.TrimSpace(text) == "" {
			continue
		}
		b.Line = cut(oneLine(text), maxLine)
		if name == "command" {
			b.show(visible(text), maxShown)
			b.Beside = beside(fields)
		}
		break
	}
	if b.Shown == "" {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, q.Input, "", "  "); err == nil && pretty.String() != "{}" {
			b.show(visible(pretty.String()), maxShown)
		}
	}
	if b.Why == b.Line || b.Why == b.Shown {
		b.Why = ""
	}
	if q.Outside != "" {
		b.Why = strings.TrimSpace(b.Why + " It reaches outside the workspace: " + cut(oneLine(q.Outside), maxLine))
	}
	return b
}

// show keeps what is shown of a text: where it is too long its beginning and its end, as either may be what matters.
func (b *body) show(text string, most int) {
	b.Shown = text
	runes := []rune(text)
	if len(runes) <= most {
		return
	}
	b.Missing = len(runes) - most
	b.Shown = string(runes[:most/2]) + "\n[…]\n" + string(runes[len(runes)-most+most/2:])
}

// beside is what a command comes with, but for what is said of it elsewhere.
func beside(fields map[string]json.RawMessage) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "command" && name != "description" && name != "timeout" {
			list = append(list, name+": "+string(fields[name]))
		}
	}
	return cut(oneLine(strings.Join(list, ", ")), maxLine)
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
		return []option{
			{"once", "✅ Once", "allow it this once"},
			{"session", "✅ This session", "allow it in this conversation" + b.ruled()},
			{"always", "✅ Always", "allow it always in this chat" + b.ruled()},
			{"no", "❌ No", "no; what you write behind it is told to Claude"},
			{"why", "✍️ No, because …", ""},
		}
	}
}

// ruled names the rules of a longer permission.
func (b body) ruled() string {
	if len(b.Rules) == 0 || strings.HasPrefix(b.Rules[0], exactly) {
		return ", just this"
	}
	shown := make([]string, len(b.Rules))
	for i, rule := range b.Rules {
		shown[i] = code(cut(oneLine(rule), maxLine))
	}
	return ": " + strings.Join(shown, ", ")
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
		if b.Beside != "" {
			fmt.Fprintf(&t, "\nWith %s.\n", code(b.Beside))
		}
		if b.Why != "" {
			fmt.Fprintf(&t, "\n%s\n", escape(b.Why))
		}
	}
	if b.Purpose != "" {
		fmt.Fprintf(&t, "\n%s\n", b.Purpose)
	}
	if b.Missing > 0 {
		fmt.Fprintf(&t, "\n**%d characters in the middle of it are not shown here.** Say no if you want to see them first.\n", b.Missing)
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
	case b.About == aboutTool && b.ruled() != ", just this":
		return fmt.Sprintf("\nFor this session, or always%s", b.ruled())
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
