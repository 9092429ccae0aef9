package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// setting is one of a few values that people choose for a session, or by a directive for a message.
type setting struct {
	name    string
	choices []choice
	field   func(*domain.Overrides) *string
	now     func(*conversation.Conversation) string
	words   bool // its values are shown by their words
	// event is the note for the agent about a change; empty: none.
	event string
}

// choice is a value of a setting.
type choice struct {
	word  string   // as listed
	also  []string // other words for it
	value string
}

var (
	think = setting{
		name: "think", event: "Thinking effort switched to %s.",
		field: func(o *domain.Overrides) *string { return &o.Effort }, now: func(c *conversation.Conversation) string { return c.Effort },
		choices: []choice{
			{word: "off", also: []string{"none"}, value: agent.EffortOff},
			{word: "low", also: []string{"minimal", "min", "thinkhard", "think-hard"}, value: "low"},
			{word: "medium", also: []string{"med", "mid", "on", "thinkharder", "think-harder", "harder"}, value: "medium"},
			{word: "high", also: []string{"ultrathink"}, value: "high"},
			{word: "xhigh", also: []string{"x-high", "extrahigh", "extra-high"}, value: "xhigh"},
			{word: "max", also: []string{"maximum", "highest", "ultra"}, value: "max"},
		},
	}
	fast = setting{
		name:  "fast",
		field: func(o *domain.Overrides) *string { return &o.Fast },
		now:   func(c *conversation.Conversation) string { return map[bool]string{true: "on", false: "off"}[c.Fast] },
		choices: []choice{
			{word: "off", also: []string{"no", "false", "0"}, value: "off"},
			{word: "on", also: []string{"yes", "true", "1"}, value: "on"},
		},
	}
	verbose = setting{
		name:  "verbose",
		field: func(o *domain.Overrides) *string { return &o.Verbose }, now: func(c *conversation.Conversation) string { return c.Verbose },
		choices: []choice{
			{word: "off", also: []string{"no", "false", "0"}, value: "off"},
			{word: "on", also: []string{"yes", "true", "1", "minimal"}, value: "on"},
			{word: "full", also: []string{"all", "everything"}, value: "full"},
		},
	}
	reasoning = setting{
		name:  "reasoning",
		field: func(o *domain.Overrides) *string { return &o.Reasoning },
		now:   func(c *conversation.Conversation) string { return c.Reasoning },
		choices: []choice{
			{word: "off", also: []string{"no", "false", "0", "hide"}, value: "off"},
			{word: "on", also: []string{"yes", "true", "1", "show"}, value: "on"},
			{word: "stream", also: []string{"live", "draft"}, value: "stream"},
		},
	}
	elevated = setting{
		name: "elevated", event: "Permission mode switched to %s.",
		field: permissionMode, now: func(c *conversation.Conversation) string { return c.PermissionMode },
		choices: []choice{
			{word: "off", also: []string{"no", "false", "0"}, value: "default"},
			{word: "ask", value: "default"},
			{word: "on", also: []string{"yes", "true", "1"}, value: "acceptEdits"},
			{word: "full", also: []string{"all"}, value: "bypassPermissions"},
		},
	}
	exec = setting{
		name: "exec", event: "Permission mode switched to %s.",
		field: permissionMode, now: func(c *conversation.Conversation) string { return c.PermissionMode },
		choices: []choice{
			{word: "deny", also: []string{"off", "no"}, value: "dontAsk"},
			{word: "ask", value: "default"},
			{word: "full", also: []string{"all"}, value: "bypassPermissions"},
		},
	}
	usage = setting{
		name:  "usage",
		field: func(o *domain.Overrides) *string { return &o.Usage }, now: func(c *conversation.Conversation) string { return c.Usage },
		choices: []choice{
			{word: "off", value: "off"},
			{word: "tokens", also: []string{"on"}, value: "tokens"},
			{word: "full", value: "full"},
		},
	}
	sending = setting{
		name:  "send",
		field: func(o *domain.Overrides) *string { return &o.Send },
		now:   func(c *conversation.Conversation) string { return c.Send }, words: true,
		choices: []choice{
			{word: "on", also: []string{"allow"}, value: "allow"},
			{word: "off", also: []string{"deny"}, value: "deny"},
		},
	}
	activating = setting{
		name:  "activation",
		field: func(o *domain.Overrides) *string { return &o.Activation },
		now:   func(c *conversation.Conversation) string { return c.Activation },
		choices: []choice{
			{word: "mention", value: "mention"},
			{word: "always", value: "always"},
		},
	}
)

func permissionMode(o *domain.Overrides) *string { return &o.Permission }

// back are the words that restore the config's value.
var back = []string{"default", "inherit", "reset"}

// find returns the choice that a word names.
func (s setting) find(word string) (choice, bool) {
	word = plainWord(word)
	i := slices.IndexFunc(s.choices, func(c choice) bool { return c.word == word || slices.Contains(c.also, word) })
	if i < 0 {
		return choice{}, false
	}
	return s.choices[i], true
}

// knows reports whether a word is a value.
func (s setting) knows(word string) bool {
	_, ok := s.find(word)
	return ok || slices.Contains(back, plainWord(word))
}

// plainWord is a word of a sentence in lower case, without the punctuation after it.
func plainWord(word string) string {
	return strings.ToLower(strings.TrimRight(word, ",;.:!?"))
}

// read takes the first word.
func (s setting) read(_ Models, words []string) reading {
	if len(words) == 0 {
		return reading{}
	}
	r := reading{words: 1, args: plainWord(words[0])}
	if c, ok := s.find(words[0]); ok {
		r.set = func(o *domain.Overrides) { *s.field(o) = c.value }
	} else if slices.Contains(back, r.args) {
		r.set, r.lasting = func(o *domain.Overrides) { *s.field(o) = "" }, true
	}
	return r
}

// options lists the values.
func (s setting) options() string {
	list := []string{}
	for _, c := range s.choices {
		list = append(list, c.word)
	}
	return wording.SettingOptions(append(list, back[0]))
}

// shown is the word for a value.
func (s setting) shown(value string) string {
	if i := slices.IndexFunc(s.choices, func(c choice) bool { return c.value == value }); s.words && i >= 0 {
		return s.choices[i].word
	}
	return value
}

// is describes the current value.
func (s setting) is(value string) string {
	return wording.SettingIs(s.name, s.shown(value), value, s.options())
}

// setting is the command of a setting.
func (d hostCommands) setting(s setting, usage string, least chat.Authority, menu bool) Command {
	c := Command{Name: s.name, Usage: usage, Group: wording.GroupSettings, MinAuthority: least, Menu: menu}
	for alias, name := range directiveAliases {
		if name == s.name {
			c.Aliases = append(c.Aliases, alias)
		}
	}
	slices.Sort(c.Aliases)
	c.Run = says(func(ctx context.Context, call Call) (string, error) { return d.choose(ctx, call, s) })
	return c
}

// choose shows a setting, or changes it for the session.
func (d hostCommands) choose(ctx context.Context, call Call, s setting) (string, error) {
	if call.Args == "" {
		return s.is(s.now(d.effective(call))), nil
	}
	r := s.read(Models{}, strings.Fields(call.Args))
	if r.set == nil || len(strings.Fields(call.Args)) > r.words {
		return wording.UnknownArgument(s.name, call.Args, s.options()), nil
	}
	session, err := d.store.Configure(ctx, call.Caller.Session, r.set)
	if err != nil {
		return "", err
	}
	value := s.now(d.host.Conversations.Session(call.Caller, session))
	if s.name == elevated.name || s.name == exec.name {
		d.host.Log.Info("the permission mode was set", "session", call.Caller.Session, "mode", value, "by", who(call.Caller))
	}
	if s.event != "" && value != s.now(d.effective(call)) {
		if err := d.tell(ctx, call, fmt.Sprintf(s.event, cmp.Or(value, wording.ClaudesChoice))); err != nil {
			return "", err
		}
	}
	said := wording.SettingChosen(s.name, s.shown(value), value, r.lasting)
	if lacks := d.lacks(s, value, d.host.Conversations.Session(call.Caller, session)); lacks != "" {
		said += " " + lacks
	}
	return said, nil
}

// lacks says that the conversation's model cannot do what was chosen; empty: it can, or Claude Code does not tell.
func (d hostCommands) lacks(s setting, value string, c *conversation.Conversation) string {
	if s.name != think.name && s.name != fast.name {
		return ""
	}
	can, known := agent.AbilitiesOf(c.Model, d.host.Claude.Inventory(c.Agent.Label).Models)
	switch {
	case !known:
	case s.name == think.name && value == agent.EffortOff && !can.ThinkingOff:
		return wording.AlwaysThinks(can.Names[1])
	case s.name == fast.name && value == "on" && !can.Fast:
		return wording.NotFast(can.Names[1])
	}
	return ""
}

// tell adds a note for the agent to its next turn.
func (d hostCommands) tell(ctx context.Context, call Call, text string) error {
	return d.store.Note(ctx, call.Caller.Session, domain.Note{Kind: domain.NoteEvent, At: call.At, Text: text, Count: 1})
}
