package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// agents lists the running host's agents.
func (a *app) agents(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("agent list takes no arguments")
	}
	return show(ctx, a, listAgents, func(list []admin.Agent) [][]string {
		rows := [][]string{{"AGENT", "DESCRIPTION", "WORKSPACE", "MODEL", "OPEN TO", "WAITING", "RUNNING"}}
		for _, agent := range list {
			rows = append(rows, []string{
				agent.Label, agent.Description, agent.Workspace, agent.Model, agent.OpenTo, fmt.Sprint(agent.Waiting),
				strings.Join(agent.Running, ", "),
			})
		}
		return rows
	})
}

func listAgents(ctx context.Context, c *admin.Client) ([]admin.Agent, error) {
	status, err := c.Status(ctx)
	return status.Agents, err
}

// several reports whether the running host has several agents.
func several(ctx context.Context, c *admin.Client) (bool, error) {
	list, err := listAgents(ctx, c)
	return len(list) > 1, err
}

// withAgent inserts the agent into a row, behind the session, if there are several agents.
func withAgent(several bool, agent, session string, rest ...string) []string {
	if !several {
		return append([]string{session}, rest...)
	}
	return append([]string{session, agent}, rest...)
}
