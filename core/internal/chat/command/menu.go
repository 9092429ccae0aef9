package command

import (
	"cmp"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxSummary bounds a summary in a network's menu, in characters.
const maxSummary = 100

// menuName matches the names that every network's menu accepts.
var menuName = lazyregexp.New(`^[a-z0-9_]{1,32}$`)

// Menu returns the commands for the networks' own menus: those that everybody with the right to use commands may use,
// with the skills of the main agent.
func (r *Registry) Menu() []chat.CommandSpec {
	var menu []chat.CommandSpec
	for _, c := range r.List(session.MainAgent, chat.Authorised) {
		name := canonical(c.Name)
		if c.Menu && menuName().MatchString(name) {
			menu = append(menu, chat.CommandSpec{
				Name: name, Usage: cmp.Or(wording.OneLine(c.Usage, maxSummary), "/"+name),
				Summary: cmp.Or(wording.OneLine(c.Summary, maxSummary), wording.NoSummary), MinAuthority: c.MinAuthority,
			})
		}
	}
	return menu
}
