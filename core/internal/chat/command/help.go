package command

import (
	"context"
	"strconv"

	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// pageSize is how many commands /commands shows at once.
const pageSize = 12

// help is the command /help, which lists the most used commands.
func (r *Registry) help() Command {
	return Command{
		Name: "help", Usage: "/help", Group: wording.GroupInformation, MinAuthority: chat.Other, Menu: true,
		Run: func(_ context.Context, call Call) (Answer, error) {
			all := r.List(session.AgentOf(call.Caller.Session), call.Caller.Authority)
			var most []wording.Command
			for _, c := range all {
				if c.Menu {
					most = append(most, c.shown())
				}
			}
			return Answer{Text: wording.Help(most, len(all), call.Caller.Authority >= chat.Authorised)}, nil
		},
	}
}

// commands is the command /commands, which lists all commands, page by page.
func (r *Registry) commands() Command {
	return Command{
		Name: "commands", Usage: "/commands [page]", Group: wording.GroupInformation, MinAuthority: chat.Other, Menu: true,
		Run: func(_ context.Context, call Call) (Answer, error) {
			all := r.List(session.AgentOf(call.Caller.Session), call.Caller.Authority)
			pages := (len(all) + pageSize - 1) / pageSize
			page := 1
			if call.Args != "" {
				var err error
				if page, err = strconv.Atoi(call.Args); err != nil || page < 1 || page > pages {
					return Answer{Text: wording.NoSuchPage(pages)}, nil
				}
			}
			var shown []wording.Command
			for _, c := range all[(page-1)*pageSize : min(page*pageSize, len(all))] {
				shown = append(shown, c.shown())
			}
			return Answer{Text: wording.Commands(shown, page, pages)}, nil
		},
	}
}

// shown is a command in the form for lists.
func (c Command) shown() wording.Command {
	return wording.Command{Name: c.Name, Usage: c.Usage, Summary: c.Summary, Group: c.Group}
}
