package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// hosts is the command about the hosts that share the database.
func (a *app) hosts() *cobra.Command {
	return a.noun("host", "List and drain the hosts that share a database", "clawhost host list\nclawhost host drain build-1", a.hostList,
		a.command("list", "List the hosts that share the database, and what each does", "clawhost host list", a.hostList),
		a.completes(hostNames, a.command("drain NAME", "Move everything off a host, and wait until it has nothing left to do", "clawhost host drain build-1", a.hostDrain)),
		a.completes(hostNames, a.command("undrain NAME", "Let a drained host work again", "clawhost host undrain build-1", a.hostUndrain)))
}

// hostNames completes the names of hosts.
func hostNames(ctx context.Context, c *admin.Client) (names []cobra.Completion, err error) {
	list, err := c.Hosts(ctx)
	for _, m := range list {
		names = append(names, described(m.Name, m.State))
	}
	return names, err
}

func (a *app) hostList(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("host list takes no arguments")
	}
	return show(ctx, a, func(ctx context.Context, c *admin.Client) ([]admin.Member, error) { return c.Hosts(ctx) }, func(list []admin.Member) [][]string {
		if len(list) == 0 {
			return [][]string{{"This host is alone with its database."}}
		}
		rows := [][]string{{"NAME", "STATE", "STARTED", "VERSION", "RUNS", "LABELS", "DUTIES"}}
		for _, m := range list {
			name := m.Name
			if m.Here {
				name += " (this one)"
			}
			rows = append(rows, []string{
				name, m.State, since(m.Started), m.Version, fmt.Sprint(m.Runs), strings.Join(m.Labels, ","), strings.Join(m.Duties, ", "),
			})
		}
		return rows
	})
}

// drainEvery is how often a host that is drained is looked at.
const drainEvery = 200 * time.Millisecond

func (a *app) hostDrain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("host drain takes one name")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	if err := client.Drain(ctx, args[0], false); err != nil {
		return err
	}
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for said := false; ; {
		list, err := client.Hosts(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(m admin.Member) bool { return m.Name == args[0] })
		switch {
		case i < 0 || list[i].State == "gone":
			return fmt.Errorf("%s is gone; other hosts go on with its work", args[0])
		case list[i].Runs == 0 && len(list[i].Duties) == 0:
			if a.json {
				return a.print(list[i])
			}
			_, err := fmt.Fprintf(a.out, "%s has nothing left to do. Stop it, or let it work again by `clawhost host undrain %s`.\n", args[0], args[0])
			return err
		case !said:
			said = true
			fmt.Fprintf(a.err, "%s takes no more turns; waiting for what it has in hand. Ctrl-C ends the waiting only.\n", args[0])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *app) hostUndrain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("host undrain takes one name")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	if err := client.Drain(ctx, args[0], true); err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]string{"working": args[0]})
	}
	_, err = fmt.Fprintf(a.out, "%s takes turns and channels again.\n", args[0])
	return err
}
