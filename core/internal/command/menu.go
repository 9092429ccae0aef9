package command

import (
	"cmp"
	"regexp"

	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxSummary is how much of a summary a network's menu shows, in characters.
const maxSummary = 100

// menuName is a name that every network's menu takes.
var menuName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// Menu is what the networks' own menus show: what everybody may use who may use commands, the skills among them.
func (r *Registry) Menu() []chat.CommandSpec {
	var menu []chat.CommandSpec
	for _, c := range r.List(chat.Authorised) {
		name := canonical(c.Name)
		if c.Menu && menuName.MatchString(name) {
			menu = append(menu, chat.CommandSpec{
				Name: name, Usage: cmp.Or(wording.OneLine(c.Usage, maxSummary), "/"+name), Summary: cmp.Or(wording.OneLine(c.Summary, maxSummary), wording.NoSummary), Least: c.MinAuthority,
			})
		}
	}
	return menu
}
