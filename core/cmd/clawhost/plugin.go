package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

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

// upgradeTime is how long a plugin may take to run with its new binary before the command says that it does not yet.
const upgradeTime = 30 * time.Second

func (a *app) pluginUpgrade(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("plugin upgrade takes one name")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	before, err := pluginNamed(ctx, client, args[0])
	if err != nil {
		return err
	}
	if err := client.UpgradePlugin(ctx, args[0]); err != nil {
		return fmt.Errorf("nothing was changed:\n%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, upgradeTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not run yet; `clawhost plugin list` shows its state", args[0])
		case <-tick.C:
		}
		now, err := pluginNamed(ctx, client, args[0])
		switch {
		case err != nil:
			return err
		case now.State == "failed":
			return fmt.Errorf("%s does not run with its new binary: %s", args[0], now.Detail)
		case now.State != "running" || now.PID == before.PID:
			continue
		case a.json:
			return a.print(now)
		}
		_, err = fmt.Fprintf(a.out, "%s runs: version %s; before it was %s.\n", args[0], now.Version, cmp.Or(before.Version, "unknown"))
		return err
	}
}

func pluginNamed(ctx context.Context, client *admin.Client, name string) (admin.Plugin, error) {
	list, err := client.Plugins(ctx)
	if err != nil {
		return admin.Plugin{}, err
	}
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
	}
	return admin.Plugin{}, fmt.Errorf("the config has no plugin %q", name)
}
