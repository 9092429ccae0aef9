package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// timeout bounds the commands of a message: a person waits for the answer.
const timeout = 30 * time.Second

// Registry knows the commands.
type Registry struct {
	host    Host
	own     hostCommands
	builtin []Command
	byName  map[string]Command // the host's own by names and aliases
}

// New returns a registry of the host's own commands and those that plugins offer when it is asked. The host's command
// hides a plugin's of the same name, unless the plugin's overrides it.
func New(s *store.Store, t *dispatch.Dispatcher, h Host) *Registry {
	if h.Log == nil {
		h.Log = hclog.NewNullLogger()
	}
	r := &Registry{host: h, own: hostCommands{s, t, h}, byName: map[string]Command{}}
	r.builtin = append(r.own.commands(), r.help(), r.commands())
	for i, c := range r.builtin {
		c.Summary = wording.CommandSummary(c.Name)
		r.builtin[i] = c
		for _, name := range append(c.Aliases, c.Name) {
			r.byName[name] = c
		}
	}
	r.byName[mistypedName] = Command{Name: mistypedName, MinAuthority: chat.Authorised, Run: says(mistyped)}
	return r
}

// Lookup finds a command by its name or an alias, in any case, with hyphens or underscores.
func (r *Registry) Lookup(name string) (Command, bool) {
	name = canonical(name)
	own, ok := r.byName[name]
	if ok {
		name = own.Name
	}
	for _, c := range r.plugins() {
		if c.Name == name {
			return c, true
		}
	}
	return own, ok
}

// canonical is the normal form of a typed command name.
func canonical(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}

// plugins are the commands of plugins: those that the host does not have, and those that override the host's. The latter are
// for the same people and places.
func (r *Registry) plugins() []Command {
	if r.host.Plugins == nil {
		return nil
	}
	var list []Command
	for _, c := range r.offered() {
		if own, taken := r.byName[c.Name]; taken {
			if !c.Overrides || !r.replaceable(c.Name) {
				continue
			}
			c.Aliases, c.MinAuthority, c.Private = own.Aliases, max(c.MinAuthority, own.MinAuthority), own.Private
		}
		list = append(list, c)
	}
	return list
}

// offered are the commands of the running plugins.
func (r *Registry) offered() []Command {
	var list []Command
	for _, e := range r.host.Plugins.Entries() {
		plugin := e.Running()
		if plugin == nil {
			continue
		}
		for _, c := range plugin.Commands {
			list = append(list, Command{
				Name: c.Name, Usage: c.Usage, Summary: c.Summary, MinAuthority: max(c.MinAuthority, chat.Authorised),
				Group: wording.GroupPlugins, Menu: true, Slow: true, Overrides: slices.Contains(e.Config().Overrides, c.Name),
				plugin: plugin.Name,
				Run: func(ctx context.Context, call Call) (answer Answer, err error) {
					answer.Text, answer.Rows, err = plugin.RunCommand(ctx, remote.CommandCall{ID: call.ID, Name: call.Name, Args: call.Args, Caller: call.Caller})
					if !r.Serves(plugin.Name, answer.Rows) {
						r.host.Log.Warn("the buttons of a plugin's reply are left out: one of them is not a command of the plugin",
							"plugin", plugin.Name, "command", call.Name)
						answer.Rows = nil
					}
					return answer, err
				},
			})
		}
	}
	return list
}

// Serves reports whether a plugin answers the command of each button, which is its data. Whoever presses one uses that command, so a
// plugin must not have others press what it could not use itself.
func (r *Registry) Serves(plugin string, rows [][]chat.Button) bool {
	for _, row := range rows {
		for _, b := range row {
			c, ok := r.Parse(b.Data)
			if !ok {
				return false
			}
			if of, _ := r.Lookup(c.Name); of.plugin != plugin {
				return false
			}
		}
	}
	return true
}

// Lane returns the lane in which a command of a person with this authority waits. The host's quick commands do not wait for
// those of plugins, which may hang, or for slow ones; and nothing waits for a line of the shell.
func (r *Registry) Lane(name string, by chat.Authority) domain.Lane {
	c, ok := r.Lookup(name)
	switch {
	case !ok || c.Slow:
		return domain.CommandLane
	case c.Shell && by >= c.MinAuthority:
		return domain.ShellLane
	default:
		return domain.ControlLane
	}
}

// irreplaceable are the host's commands that other parts of it also act on, or send with a button, and those by which owners
// decide who and what is let in: the answer to such a command must be the host's.
var irreplaceable = map[string]bool{
	"new": true, "reset": true, "agent": true, "cd": true, "stop": true, "answer": true, "bash": true, "next": true, "withdraw": true,
	"allowlist": true, "approve": true, "deny": true, "grants": true, "mcp": true, "budget": true, "undo": true, "worktree": true, "resume": true, "fork": true,
}

// replaceable reports whether a plugin may override a command of the host's. The name is not an alias.
func (r *Registry) replaceable(name string) bool {
	own, ok := r.byName[name]
	_, directs := directives[name]
	return ok && own.Name == name && own.Run != nil && !irreplaceable[name] && !directs
}

// List returns the commands that a person with this authority may use in a conversation with an agent, by group: the host's in a didactic order, then
// those of plugins and the skills by name.
func (r *Registry) List(agent string, authority chat.Authority) []Command {
	plugins := r.plugins()
	builtin := slices.DeleteFunc(slices.Clone(r.builtin), func(own Command) bool {
		return slices.ContainsFunc(plugins, func(c Command) bool { return c.Name == own.Name })
	})
	rest := append(plugins, r.skills(agent)...)
	slices.SortStableFunc(rest, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	list := append(builtin, rest...)
	list = slices.DeleteFunc(list, func(c Command) bool { return authority < c.MinAuthority })
	slices.SortStableFunc(list, func(a, b Command) int { return slices.Index(groups, a.Group) - slices.Index(groups, b.Group) })
	return list
}

var shape = lazyregexp.New(`^/([A-Za-z][A-Za-z0-9_-]{0,63})(?:\s+([\s\S]*))?$`)

// Parse reports whether text is a known command, and returns it by its name. Anything else, such as an unknown name or
// a path, is plain text. So is a text that begins with a directive: [Registry.Directives] reads it.
func (r *Registry) Parse(text string) (domain.Command, bool) {
	match := shape().FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return domain.Command{}, false
	}
	c, ok := r.Lookup(match[1])
	if !ok {
		return domain.Command{}, false
	}
	args := strings.TrimSpace(match[2])
	if _, directs := directives[c.Name]; directs && (c.Name != "usage" || usage.knows(firstWord(args))) {
		return domain.Command{}, false
	}
	return domain.Command{Name: c.Name, Args: args}, true
}

// Answer answers the commands of a run's message, or takes the message as the answer to a question that it was
// recognised as. It returns the result of [Registry.Run]; or of a line of the shell, with [agent.ErrShutdown] if that is to
// be answered by the next host process.
func (r *Registry) Answer(ctx context.Context, run *conversation.Run) (Answer, error) {
	c := run.Head.Message.Command
	if !c.Plain {
		call := Call{
			Name: c.Name, Args: c.Args, And: c.And, Caller: run.Caller, Session: run.Session, At: run.Head.ReceivedAt,
			ID: run.Head.UUID, Attempt: run.Head.Attempts,
		}
		if own, ok := r.Lookup(c.Name); ok && own.Shell && run.Caller.Authority >= own.MinAuthority {
			return r.own.bash(ctx, call)
		}
		return r.Run(ctx, call)
	}
	id, answer, _ := strings.Cut(c.Args, " ")
	reply, err := r.host.Questions.Hear(ctx, id,
		answer, permission.Written{ID: run.Head.UUID, Text: run.Head.Message.Text, Caller: run.Caller})
	if err != nil {
		return Answer{Text: wording.QuestionFailed}, err
	}
	return Answer{Text: reply}, nil
}

// Run answers a message's commands together, each in its own paragraphs. The answer is for the chat even with an error; the
// error is for the log.
func (r *Registry) Run(ctx context.Context, call Call) (all Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var texts []string
	var errs []error
	for i, asked := range append([]domain.Command{{Name: call.Name, Args: call.Args}}, call.And...) {
		call := call
		call.Name, call.Args, call.And = asked.Name, asked.Args, nil
		if i > 0 {
			call.ID += fmt.Sprintf("#%d", i)
		}
		answer, err := r.run(ctx, call)
		if answer.Text != "" {
			texts = append(texts, answer.Text)
		}
		all.Buttons, all.Media = append(all.Buttons, answer.Buttons...), append(all.Media, answer.Media...)
		all.Rows = append(all.Rows, answer.Rows...)
		errs = append(errs, err)
	}
	all.Text = strings.Join(texts, "\n\n")
	return all, errors.Join(errs...)
}

func (r *Registry) run(ctx context.Context, call Call) (Answer, error) {
	c, ok := r.Lookup(call.Name)
	switch {
	case !ok:
		return Answer{Text: wording.CommandUnavailable(call.Name)}, nil
	case call.Caller.Authority < c.MinAuthority:
		return Answer{Text: wording.CommandNotAllowed(call.Name)}, nil
	case c.Private && call.Caller.Kind != chat.Direct:
		return Answer{Text: wording.CommandOnlyInDirect(call.Name)}, nil
	case c.Run == nil:
		return Answer{Text: wording.CommandOnlyAlone(call.Name)}, nil
	}
	call.Name = c.Name
	answer, err := c.Run(ctx, call)
	if err != nil {
		return Answer{Text: wording.CommandFailed(call.Name)}, fmt.Errorf("command %s: %w", call.Name, err)
	}
	return answer, nil
}
