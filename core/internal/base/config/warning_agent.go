package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/base/session"
)

// warnOfAgents finds folders of agents that are probably not those that were meant.
func (d *decoder) warnOfAgents(c *Config, body *hclsyntax.Body) (found Problems) {
	var workspaces []string
	for _, a := range c.AllAgents() {
		workspaces = append(workspaces, a.Workspace)
	}
	closed := slices.Concat(c.Own(), workspaces)
	for i, a := range c.AllAgents() {
		warn := func(name, summary, format string, args ...any) {
			if at := a.attribute(body, "agent", name); at != nil {
				found = append(found, d.problem(at.Expr.Range(), summary, a.title("agent", name)+": "+fmt.Sprintf(format, args...)))
			}
		}
		_, err := os.Stat(a.Workspace)
		switch {
		case err != nil && a.Label != session.MainAgent && !slices.Contains(workspaces[:i], a.Workspace):
			warn("workspace", "Missing folder", "%s does not exist. The host makes it when it starts.", a.Workspace)
		case err == nil && a.Worktree == WorktreeThread && len(a.Folders) == 0 && !folder.InRepository(a.Workspace):
			warn("worktree", "No repository", "%s is in no git repository, so threads work in the folder itself.", a.Workspace)
		}
		if a.WorktreeSetup != "" && a.Worktree == WorktreeOff {
			warn("worktree_setup", "No effect", `it has no effect without worktree = "thread".`)
		}
		if len(a.Folders) > 0 && len(folder.New(a.Workspace, a.Folders, closed).List()) == 1 {
			warn("folders", "No folder", "no folder fits now in which the agent may work. Links, workspaces of other agents and folders with files of the host are none.")
		}
	}
	return found
}

// warnOfRoutes finds routes that never apply.
func (d *decoder) warnOfRoutes(c *Config, body *hclsyntax.Body) (found Problems) {
	n, all := 0, false
	for _, b := range body.Blocks {
		if b.Type != "route" || n == len(c.Routes) {
			continue
		}
		r := c.Routes[n]
		n++
		warn := func(summary, format string, args ...any) {
			found = append(found, d.problem(b.DefRange(), summary, "route: "+fmt.Sprintf(format, args...)))
		}
		channel, user, _ := strings.Cut(r.User, ":")
		label, chat, written := strings.Cut(string(r.Chat), ":")
		switch {
		case all:
			warn("Route without effect", "an earlier route fits everything. The first route that fits decides, so put this one before it.")
		case r.Channel != "" && r.User != "" && r.Channel != channel:
			warn("Route without effect", "nobody writes on %s as %s:%s.", r.Channel, channel, user)
		case written && c.Plugin(label) != nil:
			warn("Route without effect", "a chat is named by its id alone: write channel = %q and chat = %q.", label, chat)
		}
		all = all || r.Channel == "" && r.Kind == "" && r.Chat == "" && r.Thread == "" && r.User == ""
	}
	return found
}
