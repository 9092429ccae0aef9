// Package interpret turns what a person wrote into what they ask for. It has no state and changes nothing: what a message means
// depends on the message, on the commands that there are, and on the questions that are open where it was written.
package interpret

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Intent is what a message asks for: one of the types below.
//
//sumtype:decl
type Intent interface{ intent() }

type (
	// Prompt is a text for the agent.
	Prompt struct {
		Text      string           // without directives; a skill's name has become the request to use it
		Overrides domain.Overrides // set by its directives
		Commands  []domain.Command // that stand in the text and are answered besides it
	}
	// Reset begins a new conversation.
	Reset struct {
		Model *string // the session's model from then on, "" for the config's; nil: unchanged
		Then  Intent  // what the new conversation begins with, a [Prompt] or [Commands]; nil: nothing
	}
	// Commands are commands, or directives with nothing else, in order. There is at least one.
	Commands struct{ List []domain.Command }
	// Stop ends what runs and drops what waits.
	Stop struct{ Args string }
	// Compact compacts the conversation.
	Compact struct{ Keep string } // what the summary should keep; may be empty
	// Answer answers a question of Claude's.
	Answer struct{ Question, Text string }
	// Ask is a [Prompt] for an agent, whichever answers in the conversation.
	Ask struct {
		Agent   string         // its label
		Then    Intent         // a [Prompt]
		Command domain.Command // as it was written
	}
	// None asks for nothing: people said it among themselves, or a button has no command.
	None struct{}
)

func (Prompt) intent()   {}
func (Reset) intent()    {}
func (Commands) intent() {}
func (Stop) intent()     {}
func (Compact) intent()  {}
func (Answer) intent()   {}
func (Ask) intent()      {}
func (None) intent()     {}

// Language is what the host understands in a channel.
type Language struct {
	Commands *command.Registry
	Agent    string           // the label of the agent whose skills may be used
	Agents   Agents           // nil: there is only one
	Names    []*regexp.Regexp // by which the agent is called
	Resets   []string         // that begin a new conversation, besides /new and /reset
}

// Agents are the agents of the host.
type Agents interface {
	// Agent returns the agent with a label, or nil.
	Agent(label string) *config.Agent
}

// Read returns what a message asks for that may reach the agent. Of a person who may not use commands, and of a message that is
// not addressed to the agent, it recognises only commands, so that their answer can say so, and answers to questions. Asked are
// the questions that the message may answer.
func (l Language) Read(m domain.Message, addressed bool, asked permission.Asked) Intent {
	text, may := l.called(commandText(m)), m.Authority >= chat.Authorised
	// A word that begins a conversation, other than a command, counts only if it is addressed to the agent.
	if rest, ok := l.resets(text); ok && may && (addressed || strings.HasPrefix(text, "/")) {
		return l.reset(m, rest)
	}
	if c, known := l.Commands.Parse(text); known {
		if ask, ok := l.asks(m, c); ok {
			return ask
		}
		return intentOf(c, may)
	}
	if may && addressed {
		if command.IsAbort(text) { // even while a reason is awaited: stop means stop
			return Stop{}
		}
		if intent := l.directed(m, text, !copied(m.Text)); intent != nil {
			return intent
		}
	}
	if c, ok := l.Commands.Mistyped(l.Agent, text); ok && may && m.Forwarded == nil && len(m.Media) == 0 &&
		(addressed || m.Chat.Kind == chat.Direct) {
		return Commands{[]domain.Command{c}}
	}
	if answer, ok := answers(m, text, addressed, asked); ok {
		return answer
	}
	if m.Command != nil { // of a plugin that is down: a menu showed it, so it gets an answer
		return Commands{[]domain.Command{*m.Command}}
	}
	return Prompt{Text: m.Text}
}

// Press returns what a press on a button asks for: commands on a button of the host's, nothing else; and the label as a [Prompt]
// on a button of the agent's, which asks nothing of the host.
func (l Language) Press(m domain.Message) Intent {
	if m.Pressed != nil {
		return Prompt{Text: m.Text}
	}
	intent := l.Read(m, true, permission.Asked{})
	asks := intent
	if reset, ok := intent.(Reset); ok && reset.Then != nil {
		asks = reset.Then
	}
	switch asks.(type) {
	case Prompt, Compact, Ask:
		return None{}
	default:
		return intent
	}
}

// ReadPassive returns what a message asks for that is not meant for the agent: an [Answer], or [None]. A text that looks
// like a command answers nothing: it may be for another bot.
func (l Language) ReadPassive(m domain.Message, asked permission.Asked) Intent {
	text := commandText(m)
	_, command := l.Commands.Parse(text)
	if _, reset := l.resets(text); reset || command {
		return None{}
	}
	if answer, ok := answers(m, text, false, asked); ok {
		return answer
	}
	return None{}
}

// intentOf returns the intent of a command. May reports whether its writer may use commands.
func intentOf(c domain.Command, may bool) Intent {
	switch {
	case c.Name == "stop":
		return Stop{c.Args}
	case c.Name == "compact" && may:
		return Compact{c.Args}
	default:
		return Commands{[]domain.Command{c}}
	}
}

// asks returns the prompt for another agent that a command is: /agent with a name and a text, or with a name and files.
func (l Language) asks(m domain.Message, c domain.Command) (Ask, bool) {
	name, text := c.Args, ""
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name, text = name[:end], strings.TrimSpace(name[end:])
	}
	name = strings.ToLower(name)
	if c.Name != "agent" || l.Agents == nil || l.Agents.Agent(name) == nil || text == "" && len(m.Media) == 0 {
		return Ask{}, false
	}
	l.Agent = name
	prompt, ok := l.directed(m, text, false).(Prompt)
	if !ok {
		prompt = Prompt{Text: text}
	}
	return Ask{name, prompt, c}, true
}

// answers returns the answer that a message gives to a question.
func answers(m domain.Message, text string, addressed bool, asked permission.Asked) (Answer, bool) {
	if m.Forwarded != nil || len(m.Media) > 0 {
		return Answer{}, false
	}
	id, answer, ok := asked.Answer(text, addressed)
	return Answer{id, answer}, ok
}

// resets reports whether a text begins a new conversation, by a word of the config or by a command that always does, and
// returns the text after that.
func (l Language) resets(text string) (rest string, ok bool) {
	text = strings.TrimSpace(text)
	for _, word := range l.Resets {
		if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
			continue
		}
		rest := text[len(word):]
		if rest == "" || strings.TrimLeft(rest, " \t\r\n") != rest {
			return strings.TrimSpace(rest), true
		}
	}
	c, known := l.Commands.Parse(text)
	return c.Args, known && (c.Name == "new" || c.Name == "reset")
}

// reset begins a new conversation with the text after the word that does so, or with the message's files.
func (l Language) reset(m domain.Message, rest string) Intent {
	model, rest := l.Commands.ResetHint(rest)
	if rest == "" && len(m.Media) == 0 {
		return Reset{Model: model}
	}
	if then := l.directed(m, rest, false); then != nil {
		return Reset{model, then}
	}
	return Reset{model, Prompt{Text: rest}}
}

// directed returns the intent of a text with directives, with commands that are answered besides it, or with a skill; nil: it
// has none. Begins reports whether the message begins with the text.
func (l Language) directed(m domain.Message, text string, begins bool) Intent {
	// A file needs an answer, so directives with it are not alone.
	const file = "\n\uFFFC"
	if len(m.Media) > 0 {
		text += file
	}
	rest, overrides, asked := l.Commands.Directives(text, begins, m.Authority)
	if len(asked) > 0 && rest == "" {
		return Commands{asked}
	}
	rest = strings.TrimSpace(strings.TrimSuffix(rest, strings.TrimSpace(file)))
	prompt, skill := l.Commands.Skill(l.Agent, rest)
	switch {
	case skill:
		rest = prompt
	case len(asked) == 0 && overrides == (domain.Overrides{}):
		return nil
	}
	return Prompt{rest, overrides, asked}
}
