package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// pageSize is how many commands /commands shows at once.
const pageSize = 12

// help is the command that tells of the commands that are used most.
func (r *Registry) help() Command {
	return Command{
		Name: "help", Usage: "/help", Summary: "what you can ask me", Group: groupInfo, MinAuthority: chat.Other, Menu: true,
		Run: func(_ context.Context, call Call) (string, error) {
			var b strings.Builder
			b.WriteString("Write to me as you would to a colleague. Commands:\n")
			all := r.List(call.Caller.Authority)
			for _, c := range all {
				if c.Menu {
					b.WriteString(c.line())
				}
			}
			fmt.Fprintf(&b, "\n\n`/commands` lists all %d.", len(all))
			if call.Caller.Authority >= chat.Authorised {
				b.WriteString(" Settings also work within a message, for that message: \"/think high why is the sky blue?\"")
			}
			return b.String(), nil
		},
	}
}

// commands is the command that lists all of them, page by page.
func (r *Registry) commands() Command {
	return Command{
		Name: "commands", Usage: "/commands [page]", Summary: "list all commands", Group: groupInfo, MinAuthority: chat.Other, Menu: true,
		Run: func(_ context.Context, call Call) (string, error) {
			all := r.List(call.Caller.Authority)
			pages := (len(all) + pageSize - 1) / pageSize
			page := 1
			if call.Args != "" {
				var err error
				if page, err = strconv.Atoi(call.Args); err != nil || page < 1 || page > pages {
					return fmt.Sprintf("There is no such page of commands. /commands has %s.", plural(pages, "page")), nil
				}
			}
			return listing(all, page, pages), nil
		},
	}
}

func listing(all []Command, page, pages int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Commands** (%d/%d)", page, pages)
	group := ""
	for _, c := range all[(page-1)*pageSize : min(page*pageSize, len(all))] {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n\n%s\n", group)
		}
		b.WriteString(c.line())
	}
	if page < pages {
		fmt.Fprintf(&b, "\n\n`/commands %d` shows more.", page+1)
	}
	return b.String()
}

// line is a command in a list. What a plugin or a skill says of itself stays on the line.
func (c Command) line() string {
	return fmt.Sprintf("\n- %s: %s", code(or(c.Usage, "/"+c.Name)), oneLine(or(c.Summary, "no description"), 200))
}
