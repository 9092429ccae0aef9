package claude

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

// agentCLI is the CLI as one agent runs it.
type agentCLI struct {
	*cli.Command
	inventory *client.Inventory
	open      *cli.OpenSessions
}

// cliOf returns the CLI of an agent in a folder, or, without one, in its workspace.
func (p *Pool) cliOf(label, folder string) (agentCLI, error) {
	of := p.agents[label]
	if of.Command == nil {
		return of, &agent.Failure{Class: agent.Refused, Detail: "there is no agent " + label}
	}
	var err error
	if of.Command, err = of.In(folder); err != nil {
		return of, &agent.Failure{Class: agent.Unavailable, Err: err}
	}
	return of, nil
}

// prepare finds the CLI of each agent. The file tools of an agent may touch neither the denied paths nor the workspace and the worktrees of
// another agent, nor the conversations there, unless they are its own, too.
func (p *Pool) prepare() error {
	var own []string
	for _, path := range p.config.DenyPaths {
		rules, err := cli.Deny(path)
		if err != nil {
			return err
		}
		own = append(own, rules...)
	}
	others := map[string][]string{} // the rules of the workspaces and the worktrees, by their paths without links
	for _, a := range p.config.Agents {
		for _, path := range []string{a.Workspace, a.Worktrees} {
			if path == "" {
				continue
			}
			real := realPath(path)
			for _, denied := range []string{path, string(cli.Transcripts(a, real))} {
				rules, err := cli.Deny(denied)
				if err != nil {
					return err
				}
				others[real] = append(others[real], rules...)
			}
		}
	}
	paths := slices.Sorted(maps.Keys(others))
	for _, label := range slices.Sorted(maps.Keys(p.config.Agents)) {
		a := p.config.Agents[label]
		workspace, worktrees := realPath(a.Workspace), realPath(a.Worktrees)
		denied := [][]string{own}
		for _, path := range paths {
			if path != workspace && path != worktrees {
				denied = append(denied, others[path])
			}
		}
		a.Family, a.Deny = p.config.Family, denied
		command, err := cli.NewCommand(a)
		if err != nil && label != session.MainAgent {
			err = fmt.Errorf("agent %s: %w", label, err)
		}
		if err != nil {
			return err
		}
		p.agents[label] = agentCLI{command, client.NewInventory(p.config.Owners, &p.work, p.log), command.OpenSessions()}
		p.log.Debug("the claude CLI was found", "agent", label, "path", command.Path, "demo", p.config.Demo)
	}
	return nil
}

// realPath returns a path without links; the path itself, if it does not exist.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
