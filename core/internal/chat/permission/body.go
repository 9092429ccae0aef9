package permission

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Bounds of a question. The model writes it and may write much.
const (
	maxShown   = 1500 // characters of a tool's input
	maxLine    = 120  // characters of its summary line
	maxChoices = 8    // questions of one AskUserQuestion
	maxOptions = 10   // options of one of them
	maxLabel   = 60   // characters of an option
	maxDetail  = 200  // characters of its description
	maxRules   = 8
	maxRule    = 300          // characters of a rule that is granted
	maxWhy     = 300          // characters of a reason from the model
	maxReason  = 4 * maxShown // characters of a person's reason against something
)

// body is the content of a question.
type body struct {
	About    wording.Subject `json:"about"`
	Kind     chat.Kind       `json:"kind"`               // of the chat in which it is asked
	For      string          `json:"for,omitempty"`      // the person whose turn asks, if another person is asked
	Tool     string          `json:"tool,omitempty"`     // the tool, if it is about one
	Line     string          `json:"line,omitempty"`     // a summary in one line
	Shown    string          `json:"shown,omitempty"`    // the whole input, except what Missing counts
	Missing  int             `json:"missing,omitempty"`  // characters that are not shown
	Doubtful bool            `json:"doubtful,omitempty"` // it can be read in more than one way
	Other    string          `json:"beside,omitempty"`   // the other fields, in one line
	Markdown bool            `json:"markdown,omitempty"` // Shown is Markdown, not code
	Why      string          `json:"why,omitempty"`
	Outside  string          `json:"outside,omitempty"` // the path outside the workspace on which the tool is used
	Purpose  string          `json:"purpose,omitempty"` // the turn's purpose, if no person asked for it
	Rules    []string        `json:"rules,omitempty"`   // what a longer permission would allow
	Whose    string          `json:"whose,omitempty"`   // whose messages it would apply to
	Labels   []string        `json:"labels,omitempty"`
	Details  []string        `json:"details,omitempty"` // of the labels
	Several  bool            `json:"several,omitempty"` // several labels may be chosen
	Form     *formPart       `json:"form,omitempty"`    // what an MCP server asks for, if it is about that

	Reasons []pendingReason `json:"reasons,omitempty"` // of those who are about to give a reason for their refusal

	Unread []domain.Message `json:"unread,omitempty"` // messages that claude has never read, with which a continued turn begins
}

func choiceBody(c choice) body {
	b := body{About: wording.AboutChoice, Several: c.several}
	b.Line = b.cut(strings.TrimSpace(wording.Visible(c.question)), maxShown)
	for i, o := range c.options {
		label, detail := oneLine(o.label), oneLine(o.description)
		if i >= maxOptions {
			b.Missing += utf8.RuneCountInString(label) + utf8.RuneCountInString(detail)
			continue
		}
		b.Labels = append(b.Labels, b.cut(label, maxLabel))
		b.Details = append(b.Details, b.cut(detail, maxDetail))
	}
	return b
}

func planBody(q agent.Question) body {
	in := readInput(q.Input)
	b := body{About: wording.AboutPlan, Markdown: true, Doubtful: !in.plain}
	if b.Doubtful {
		b.show(wording.Visible(string(q.Input)), 4*maxShown)
		b.Shown = wording.Fenced(b.Shown)
		return b
	}
	b.show(strings.TrimSpace(wording.Visible(in.text("plan"))), 4*maxShown)
	if hides(b.Shown) {
		b.Shown = wording.Fenced(b.Shown)
	}
	b.besides(in.without("plan"))
	return b
}

// summaryFields are the fields that describe a tool's input best, the best first.
var summaryFields = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "prompt"}

func toolBody(q agent.Question) body {
	b := body{About: wording.AboutTool, Rules: rules(q)}
	b.Tool, b.Why = b.cut(oneLine(called(q.Tool)), maxLabel), b.cut(oneLine(q.Description), maxWhy)
	in := readInput(q.Input)
	for _, name := range summaryFields {
		if text := oneLine(in.text(name)); text != "" {
			b.Line = cut(text, maxLine)
			break
		}
	}
	b.showInput(q)
	if b.Why == b.Line || b.Why == b.Shown {
		b.Why = ""
	}
	b.Outside = b.cut(line(q.Outside), maxWhy)
	return b
}

// grantable reports whether a longer permission is offered: only if people see all that they allow and what it would
// cover.
func (b body) grantable() bool {
	return b.Missing == 0 && !b.Doubtful && !slices.ContainsFunc(b.Rules, func(rule string) bool {
		return utf8.RuneCountInString(rule) > maxRule || oneLine(rule) != rule
	})
}

// show keeps the shown part of a text: the beginning and the end if it is too long, because either may matter.
func (b *body) show(text string, most int) {
	b.Shown = text
	runes := []rune(text)
	if len(runes) <= most {
		return
	}
	b.Missing += len(runes) - most
	b.Shown = string(runes[:most/2]) + "\n[…]\n" + string(runes[len(runes)-most+most/2:])
}

// option is one of the answers to a question.
type option struct {
	word  string // what people type, besides its number
	label string // what its button says
	help  string // its explanation where there are no buttons
}

func (b body) options() []option {
	switch b.About {
	case wording.AboutResume:
		return []option{{"go", wording.GoOnLabel, wording.GoOnHelp}, {"leave", wording.LeaveLabel, wording.LeaveHelp}}
	case wording.AboutPlan:
		return []option{{"yes", wording.GoAheadLabel, wording.GoAheadHelp}, {"no", wording.NotThisLabel, wording.NotThisHelp}}
	case wording.AboutChoice:
		list := make([]option, len(b.Labels))
		for i, label := range b.Labels {
			list[i] = option{fmt.Sprint(i + 1), label, label}
			if b.Details[i] != "" {
				list[i].help += " – " + b.Details[i]
			}
		}
		return list
	case wording.AboutForm:
		return b.Form.options()
	default:
		list := []option{{"once", wording.OnceLabel, wording.OnceHelp}}
		if b.grantable() {
			list = append(list, option{"session", wording.SessionLabel, wording.SessionHelp(b.lasting())},
				option{"always", wording.AlwaysLabel, wording.AlwaysHelp(b.lasting())})
		}
		return append(list, option{"no", wording.NoLabel, wording.NoHelp}, option{askWhy, wording.WhyLabel, ""})
	}
}

// askWhy is the answer after which the person's next message is the reason for a no.
const askWhy = "why"

// lasting describes what a longer permission covers, and whose messages.
func (b body) lasting() string {
	if len(b.Rules) > 0 && strings.HasPrefix(b.Rules[0], exactly) {
		return wording.Lasting(b.Whose, nil)
	}
	return wording.Lasting(b.Whose, b.Rules)
}

// granted returns the rules of a longer permission as they are stored: the rule of one input contains the input, for
// people to read.
func (b body) granted() []string {
	list := slices.Clone(b.Rules)
	for i, rule := range list {
		if strings.HasPrefix(rule, exactly) {
			what := b.Tool + " " + oneLine(b.Shown)
			if b.Other != "" {
				what += " with " + b.Other
			}
			list[i] = rule + " " + cut(what, maxRule)
		}
	}
	return list
}

// question returns the question for the wording package.
func (b body) question(id string) wording.Question {
	q := wording.Question{
		ID: id, About: b.About, Direct: b.Kind == chat.Direct, For: cut(oneLine(b.For), maxLabel), Tool: b.Tool,
		Line: b.Line, Shown: b.Shown,
		Why: b.Why, Outside: b.Outside, Purpose: b.Purpose, Other: b.Other, Missing: b.Missing,
		Doubtful: b.Doubtful, Several: b.Several, Details: b.Details,
	}
	if b.About == wording.AboutPlan {
		q.Shown = chunk.Closed(b.Shown)
	}
	if b.Form != nil {
		q.Form = b.Form.shown()
	}
	for i, o := range b.options() {
		answer := wording.Answer{Label: o.label, Help: o.help}
		if b.Form != nil && i >= b.Form.labels() {
			answer.Word = o.word
		}
		q.Answers = append(q.Answers, answer)
	}
	if b.About == wording.AboutTool && b.grantable() {
		q.Lasting = b.lasting()
	}
	return q
}

// text is the message of the question, in Markdown.
func (b body) text(id string, buttons bool) string {
	if buttons {
		return b.question(id).WithButtons()
	}
	return b.question(id).String()
}

// personal reports whether it asks for what the person whose turn asks may decide: what to choose, or what to tell an MCP server.
func (b body) personal() bool { return b.About == wording.AboutChoice || b.About == wording.AboutForm }

// what names the subject of a closed question.
func (b body) what() string { return b.question("").Asked() }

// layout arranges the options as buttons, whose data is the command that answers; nil: they do not fit.
func layout(id string, options []option, limits chat.ButtonLimits) [][]chat.Button {
	var list []chat.Button
	for _, o := range options {
		list = append(list, chat.Button{Label: o.label, Data: "/answer " + id + " " + o.word})
	}
	return conversation.Rows(limits, list)
}
