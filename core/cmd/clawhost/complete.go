package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// completionWait is how long the completion of a word asks the host.
const completionWait = 2 * time.Second

// values asks the running host for the values that an argument can have.
type values func(ctx context.Context, c *admin.Client) ([]cobra.Completion, error)

// completes lets the shell complete a command's first argument by what the running host has.
func (a *app) completes(list values, c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.complete(c, list)
	}
	return c
}

// completesFlag does the same for the value of a flag.
func (a *app) completesFlag(c *cobra.Command, flag string, list values) {
	err := c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.complete(c, list)
	})
	if err != nil {
		panic(err) // the command has no such flag
	}
}

// complete asks the host. Without one there is nothing to complete.
func (a *app) complete(c *cobra.Command, list values) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completionWait)
	defer cancel()
	client, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := list(ctx, client)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func pluginNames(ctx context.Context, c *admin.Client) (names []cobra.Completion, err error) {
	list, err := c.Plugins(ctx)
	for _, p := range list {
		names = append(names, described(p.Name, p.State))
	}
	return names, err
}

func linkNames(ctx context.Context, c *admin.Client) (names []cobra.Completion, err error) {
	list, err := c.Links(ctx)
	for _, l := range list {
		names = append(names, described(l.Name, ""))
	}
	return names, err
}

func pairingCodes(ctx context.Context, c *admin.Client) (codes []cobra.Completion, err error) {
	list, err := c.Pairings(ctx)
	for _, p := range list {
		codes = append(codes, described(p.Code, p.Channel+" "+p.Name))
	}
	return codes, err
}

func deadLetters(ctx context.Context, c *admin.Client) ([]cobra.Completion, error) {
	list, err := c.Dead(ctx)
	ids := []cobra.Completion{described("all", "all of them")}
	for _, d := range list {
		ids = append(ids, described(strconv.FormatInt(d.ID, 10), address(d.To)))
	}
	return ids, err
}

func sessionKeys(ctx context.Context, c *admin.Client) (keys []cobra.Completion, err error) {
	list, err := c.Sessions(ctx, "")
	for _, s := range list {
		keys = append(keys, described(s.Key, s.Title))
	}
	return keys, err
}

func agentLabels(ctx context.Context, c *admin.Client) (labels []cobra.Completion, err error) {
	list, err := listAgents(ctx, c)
	for _, a := range list {
		labels = append(labels, described(a.Label, a.Description))
	}
	return labels, err
}

// described is a value with its description, which stands behind a tab.
func described(value, description string) cobra.Completion {
	return cobra.CompletionWithDesc(printable(value), printable(description))
}
