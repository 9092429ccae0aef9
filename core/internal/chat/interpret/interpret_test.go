package interpret_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/interpret"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// language has the host's commands, the command /roll of a plugin, the skill deploy, and the word "start over".
func language() interpret.Language {
	found := plugins.New([]*config.Plugin{{Label: "dice", Enabled: true}})
	found.Entry("dice").Publish(&plugins.Plugin{Name: "dice", Description: remote.Description{Commands: []chat.CommandSpec{{Name: "roll"}}}})
	return interpret.Language{
		Commands: command.New(nil, nil, command.Host{Plugins: found, Agents: skills{}}),
		Names:    []*regexp.Regexp{regexp.MustCompile(`(?i)\bclaw\b`)}, Resets: []string{"start over"},
	}
}

type skills struct{ command.Agents }

func (skills) SkillList(string) []agent.Skill {
	return []agent.Skill{{Name: "deploy", Path: "skills/deploy"}}
}

func commands(list ...domain.Command) interpret.Commands { return interpret.Commands{List: list} }

// Behaviour: new, new-model, stop-word, directive-inline, directive-shortcuts, skill-command, command-mistyped.
func TestRead(t *testing.T) {
	t.Parallel()
	low := domain.Overrides{Effort: "low"}
	thinkLow := domain.Command{Name: "think", Args: "low"}
	for text, want := range map[string]interpret.Intent{
		"hello":                  interpret.Prompt{Text: "hello"},
		"/etc/passwd":            interpret.Prompt{Text: "/etc/passwd"},
		"/stop":                  interpret.Stop{},
		"/stop keep":             interpret.Stop{Args: "keep"},
		"stop!":                  interpret.Stop{},
		"claw, stop":             interpret.Stop{},
		"[17:35] /stop":          interpret.Stop{},
		"/compact":               interpret.Compact{},
		"/compact it":            interpret.Compact{Keep: "it"},
		"/roll 2d6":              commands(domain.Command{Name: "roll", Args: "2d6"}),
		"/stpo":                  commands(domain.Command{Name: "?", Args: "stpo stop"}),
		"/think low":             commands(thinkLow),
		"/think low /verbose on": commands(thinkLow, domain.Command{Name: "verbose", Args: "on"}),
		"/think low why":         interpret.Prompt{Text: "why", Overrides: low},
		"hello /status":          interpret.Prompt{Text: "hello", Commands: []domain.Command{{Name: "status"}}},
		"/deploy it":             interpret.Prompt{Text: `Use the skill "deploy" (skills/deploy): it`},
		"/new":                   interpret.Reset{},
		"start OVER":             interpret.Reset{},
		"claw /reset":            interpret.Reset{},
		"/new why":               interpret.Reset{Then: interpret.Prompt{Text: "why"}},
		"/new opus":              interpret.Reset{Model: new("opus")},
		"start over opus: why":   interpret.Reset{Model: new("opus"), Then: interpret.Prompt{Text: "why"}},
		"/new /think low why":    interpret.Reset{Then: interpret.Prompt{Text: "why", Overrides: low}},
		"/new /think low":        interpret.Reset{Then: commands(thinkLow)},
		"/new /deploy it":        interpret.Reset{Then: interpret.Prompt{Text: `Use the skill "deploy" (skills/deploy): it`}},
	} {
		check(t, text, want, language().Read(owner(text), true, permission.Asked{}))
	}
}

// owner is a message of an owner in a direct chat.
func owner(text string) domain.Message {
	return domain.Message{Text: text, Chat: chat.Chat{Kind: chat.Direct}, Authority: chat.Owner}
}

// What a text means depends on who wrote it, and where.
// Behaviour: access-commands-from, new, stop-word.
func TestReadDependsOnWriterAndPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]interpret.Intent{ // of a person who may not use commands
		"stop!":          interpret.Prompt{Text: "stop!"},
		"start over":     interpret.Prompt{Text: "start over"},
		"/think low why": interpret.Prompt{Text: "/think low why"},
		"/stop":          interpret.Stop{},
		"/compact":       commands(domain.Command{Name: "compact"}),
		"/new why":       commands(domain.Command{Name: "new", Args: "why"}),
	} {
		m := owner(text)
		m.Authority = chat.Other
		check(t, text, want, language().Read(m, true, permission.Asked{}))
	}
	for text, want := range map[string]interpret.Intent{ // not addressed to the agent, in a group where it reads everything
		"stop!":          interpret.Prompt{Text: "stop!"},
		"start over":     interpret.Prompt{Text: "start over"},
		"/think low why": interpret.Prompt{Text: "/think low why"},
		"/stpo":          interpret.Prompt{Text: "/stpo"},
		"/stop":          interpret.Stop{},
		"/new why":       interpret.Reset{Then: interpret.Prompt{Text: "why"}},
	} {
		m := owner(text)
		m.Chat.Kind = chat.Group
		check(t, text, want, language().Read(m, false, permission.Asked{}))
	}
	for _, text := range []string{"/stop", "stop!", "/new", "start over", "/think low why", "/deploy it", "/stpo"} {
		m := owner(text)
		m.Forwarded = &chat.Forward{From: "Eve"}
		check(t, text, interpret.Prompt{Text: text}, language().Read(m, true, permission.Asked{}))
	}
	for text, want := range map[string]interpret.Intent{ // with a file, which needs an answer
		"/think low": interpret.Prompt{Overrides: domain.Overrides{Effort: "low"}},
		"/new":       interpret.Reset{Then: interpret.Prompt{}},
		"/stpo":      interpret.Prompt{Text: "/stpo"},
	} {
		m := owner(text)
		m.Media = []chat.Media{{Kind: chat.Image}}
		check(t, text, want, language().Read(m, true, permission.Asked{}))
	}
	gone := owner("/gone now")
	gone.Command = &domain.Command{Name: "gone", Args: "now"}
	check(t, "a menu's command of a plugin that is down", commands(*gone.Command), language().Read(gone, true, permission.Asked{}))
}

func check(t *testing.T, what string, want, got interpret.Intent) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q (-want +got):\n%s", what, diff)
	}
}

// Behaviour: button, button-agent.
func TestPress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]interpret.Intent{
		"/stop":        interpret.Stop{},
		"/roll 2d6":    commands(domain.Command{Name: "roll", Args: "2d6"}),
		"/think low":   commands(domain.Command{Name: "think", Args: "low"}),
		"/new":         interpret.Reset{},
		"/new why":     interpret.None{},
		"/compact":     interpret.None{},
		"rm -rf /":     interpret.None{},
		"start over x": interpret.None{},
	} {
		check(t, text, want, language().Press(domain.Message{Text: text, Authority: chat.Owner}))
	}
	l := language()
	l.Agents = agents{}
	check(t, "a prompt for another agent", interpret.None{}, l.Press(domain.Message{Text: "/agent backend rm -rf /", Authority: chat.Owner}))
	label := domain.Message{Text: "/stop", Authority: chat.Owner, Pressed: &domain.Press{Number: 3}}
	check(t, "the agent's label", interpret.Prompt{Text: "/stop"}, language().Press(label))
}

// agents are the agents main and backend.
type agents struct{}

func (agents) Agent(label string) *config.Agent {
	if label != "main" && label != "backend" {
		return nil
	}
	return &config.Agent{Label: label}
}

// Behaviour: agent-ask.
func TestReadForAnotherAgent(t *testing.T) {
	t.Parallel()
	l := language()
	l.Agents = agents{}
	ask := func(args string, then interpret.Prompt) interpret.Ask {
		return interpret.Ask{Agent: "backend", Then: then, Command: domain.Command{Name: "agent", Args: args}}
	}
	for text, want := range map[string]interpret.Intent{
		"/agent":                        commands(domain.Command{Name: "agent"}),
		"/agent backend":                commands(domain.Command{Name: "agent", Args: "backend"}),
		"/agent nobody do it":           commands(domain.Command{Name: "agent", Args: "nobody do it"}),
		"/agent backend do it":          ask("backend do it", interpret.Prompt{Text: "do it"}),
		"/agent Backend\ndo it":         ask("Backend\ndo it", interpret.Prompt{Text: "do it"}),
		"/agent backend /think low why": ask("backend /think low why", interpret.Prompt{Text: "why", Overrides: domain.Overrides{Effort: "low"}}),
		"/agent backend /new":           ask("backend /new", interpret.Prompt{Text: "/new"}),
		"/agent backend /deploy it":     ask("backend /deploy it", interpret.Prompt{Text: `Use the skill "deploy" (skills/deploy): it`}),
	} {
		check(t, text, want, l.Read(owner(text), true, permission.Asked{}))
	}
	photo := owner("/agent backend")
	photo.Media = []chat.Media{{Kind: chat.Image}}
	check(t, "a photo for backend", ask("backend", interpret.Prompt{}), l.Read(photo, true, permission.Asked{}))
	l.Agents = nil
	check(t, "only one agent", commands(domain.Command{Name: "agent", Args: "backend do it"}), l.Read(owner("/agent backend do it"), true, permission.Asked{}))
}
