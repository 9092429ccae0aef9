package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

func (a *app) pluginList(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("plugin list takes no arguments")
	}
	return show(ctx, a, func(ctx context.Context, c *admin.Client) ([]admin.Plugin, error) { return c.Plugins(ctx) }, func(list []admin.Plugin) [][]string {
		rows := [][]string{{"NAME", "STATE", "SINCE", "KIND", "VERSION", "PID", "RESTARTS", "DETAIL"}}
		for _, p := range list {
			pid := ""
			if p.PID > 0 {
				pid = fmt.Sprint(p.PID)
			}
			rows = append(rows, []string{
				p.Name, p.State, since(p.Since), strings.Join(p.Kinds, ","), p.Version, pid,
				fmt.Sprint(p.Restarts), doing(p),
			})
		}
		return rows
	})
}

// doing describes a plugin's state; for a channel that of its connection.
func doing(p admin.Plugin) string {
	switch {
	case p.Connection == "":
		return p.Detail
	case p.Detail == "":
		return p.Connection
	default:
		return p.Connection + ": " + p.Detail
	}
}

func (a *app) pluginRestart(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("plugin restart takes one name")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	if err := client.RestartPlugin(ctx, args[0]); err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]string{"restarting": args[0]})
	}
	_, err = fmt.Fprintf(a.out, "%s is being restarted; `clawhost plugin list` shows its state.\n", args[0])
	return err
}
