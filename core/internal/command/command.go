// Package command holds the slash commands: the host's own and those of plugins, in one registry that parsing, /help and
// the networks' menus read.
package command

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// timeout bounds a command: who typed it is waiting.
const timeout = 30 * time.Second

// Call is a command that somebody used.
type Call struct {
	Name    string
	Args    string
	Caller  chat.Caller
	Session store.Session
	At      time.Time // when it was received
}

// Command is a slash command.
type Command struct {
	Name    string // lower case, without a slash
	Usage   string
	Summary string
	Least   chat.Authority // the least authority that may use it
	// Run answers with Markdown; an empty answer sends nothing. Its error is for the log: the user is told that the command
	// failed.
	Run func(ctx context.Context, call Call) (string, error)
}

// Registry knows the commands.
type Registry struct {
	builtin map[string]Command
	plugins func() []Command
}

// New returns a registry of the host's own commands and of those that the plugins offer at the moment that one is looked
// for. A plugin's command of the same name as a builtin one is not reachable.
func New(builtin []Command, plugins func() []Command) *Registry {
	r := &Registry{builtin: map[string]Command{}, plugins: plugins}
	for _, c := range builtin {
		r.builtin[c.Name] = c
	}
	r.builtin["help"] = r.help()
	return r
}

// Lookup finds a command.
func (r *Registry) Lookup(name string) (Command, bool) {
	if c, ok := r.builtin[name]; ok {
		return c, true
	}
	for _, c := range r.plugins() {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// Builtin tells whether a command is the host's own.
func (r *Registry) Builtin(name string) bool {
	_, ok := r.builtin[name]
	return ok
}

// List returns the commands that somebody with this authority may use, by name.
func (r *Registry) List(authority chat.Authority) []Command {
	var list []Command
	for _, c := range r.builtin {
		list = append(list, c)
	}
	for _, c := range r.plugins() {
		if _, taken := r.builtin[c.Name]; !taken {
			list = append(list, c)
		}
	}
	list = slices.DeleteFunc(list, func(c Command) bool { return authority < c.Least })
	slices.SortFunc(list, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return list
}

var shape = regexp.MustCompile(`^/([A-Za-z][A-Za-z0-9_]{0,31})(?:\s+([\s\S]*))?$`)

// Parse tells whether text is a command that the registry knows. Anything else, such as an unknown name or a path, is
// plain text.
func (r *Registry) Parse(text string) (store.Command, bool) {
	match := shape.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return store.Command{}, false
	}
	name := strings.ToLower(match[1])
	if _, ok := r.Lookup(name); !ok {
		return store.Command{}, false
	}
	return store.Command{Name: name, Args: strings.TrimSpace(match[2])}, true
}

// Run answers a command. The answer is what the chat is told in any case; the error is for the log.
func (r *Registry) Run(ctx context.Context, call Call) (string, error) {
	c, ok := r.Lookup(call.Name)
	if !ok {
		return fmt.Sprintf("/%s is not available at the moment: the plugin that answers it is down. Try again in a minute.", call.Name), nil
	}
	if call.Caller.Authority < c.Least {
		return fmt.Sprintf("You may not use /%s here. Ask the owner of this bot.", call.Name), nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := c.Run(ctx, call)
	if err != nil {
		return fmt.Sprintf("/%s failed. The host's log says why.", call.Name), fmt.Errorf("command %s: %w", call.Name, err)
	}
	return answer, nil
}

// help is the command that lists the others.
func (r *Registry) help() Command {
	return Command{
		Name: "help", Usage: "/help", Summary: "list the commands", Least: chat.Other,
		Run: func(_ context.Context, call Call) (string, error) {
			var b strings.Builder
			b.WriteString("Write to me as you would to a colleague. Commands:\n")
			for _, c := range r.List(call.Caller.Authority) {
				fmt.Fprintf(&b, "\n- `%s`: %s", c.Usage, c.Summary)
			}
			return b.String(), nil
		},
	}
}
