package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

func (a *app) reload(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("reload takes no arguments")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	done, err := client.Reload(ctx)
	return a.reloaded(done, err, "Nothing in the config has changed.")
}

// reloaded prints what a reload has changed. An error says why it has changed nothing.
func (a *app) reloaded(done config.Reloaded, err error, unchanged string) error {
	switch {
	case err != nil:
		return fmt.Errorf("nothing was changed:\n%w", err)
	case a.json:
		return a.print(done)
	}
	if len(done.Changes) == 0 {
		fmt.Fprintln(a.out, unchanged)
	}
	for _, c := range done.Changes {
		effect := ""
		switch c.Effect {
		case config.EffectPlugin:
			effect = " (" + c.Plugin + " restarts)"
		case config.EffectRestart:
			effect = " (needs a restart of the host)"
		}
		fmt.Fprintf(a.out, "%s: %s%s\n", c.From, c, effect)
	}
	for _, m := range done.Misfits {
		fmt.Fprintf(a.out, "%s = %s was set while the host ran and has no effect: %s\n", m.Name, m.Value, m.Why)
	}
	return nil
}

// configShow shows what the running host's config sets, or what the file sets if no host runs.
func (a *app) configShow(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("config show takes no arguments")
	}
	ask := func(ctx context.Context, c *admin.Client) ([]config.Written, error) {
		list, err := c.Config(ctx)
		if !errors.Is(err, admin.ErrNotRunning) {
			return list, err
		}
		file, err := a.load()
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(a.err, "No host is running with this config. The file sets:")
		return file.Written(), nil
	}
	return show(ctx, a, ask, func(list []config.Written) [][]string {
		rows := [][]string{{"NAME", "VALUE", "FROM", "A CHANGE APPLIES"}}
		for _, w := range list {
			applies := map[config.Effect]string{
				config.EffectNow: "at once", config.EffectPlugin: "by restarting the plugin", config.EffectRestart: "by restarting the host",
			}[w.Effect]
			rows = append(rows, []string{w.Name, w.Value, w.From, applies})
		}
		return rows
	})
}

func (a *app) configDiff(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("config diff takes no arguments")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	would, err := client.ConfigChanges(ctx)
	if err != nil {
		return err
	}
	return a.reloaded(would, nil, "The running host has the config of the file.")
}

func (a *app) configSet(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return usage("config set takes a name and a value")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	done, err := client.SetConfig(ctx, args[0], strings.Join(args[1:], " "))
	return a.reloaded(done, err, "It had this value already.")
}

func (a *app) configUnset(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("config unset takes a name")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	done, err := client.UnsetConfig(ctx, args[0])
	return a.reloaded(done, err, "The file has the same value.")
}
