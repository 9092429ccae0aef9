package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The groups of commands in the help.
const (
	groupStart = "start"
	groupTalk  = "talk"
	groupHost  = "host"
	groupKept  = "kept"
	groupMore  = "more"
)

// commands returns the root command. Its help and completion know what is added here.
func (a *app) commands() *cobra.Command {
	root := a.command("clawhost", "Talk to Claude Code from your chat apps", `
clawhost -config config.hcl
clawhost -demo`, a.host)
	root.Long = root.Short + `

Without a command it runs the host. Flags may begin with one dash or two, and stand
before or behind a command's arguments. A plugin that has commands of its own is used
by its name, such as clawhost schedule list: the flags below stand before the name.`
	root.PersistentFlags().StringVar(&a.config, "config", a.config, "the config `file`; without it $CLAWHOST_CONFIG, ./config.hcl,\n"+
		"~/.config/clawhost/config.hcl, /etc/clawhost/config.hcl")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON: one value, or one a line where more may follow")
	root.Flags().BoolVar(&a.version, "version", false, "print the version")
	demo(a, root)
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "First steps:"}, &cobra.Group{ID: groupTalk, Title: "Messages:"},
		&cobra.Group{ID: groupHost, Title: "The running host:"}, &cobra.Group{ID: groupKept, Title: "What it keeps:"},
		&cobra.Group{ID: groupMore, Title: "More:"},
	)
	add := func(group string, list ...*cobra.Command) {
		for _, c := range list {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupStart,
		a.init(),
		a.doctor(),
		demo(a, a.command("run", "Run the host, as clawhost alone does", "clawhost run -config config.hcl", a.host)),
		demo(a, a.command("validate [FILE]", "Check the config file and the plugins' own configs", `
clawhost validate
clawhost validate examples/telegram.hcl`, a.validate)),
		a.open(),
		a.service(),
	)
	add(groupTalk, a.ask(), a.send())
	add(groupHost,
		a.command("status", "Show the running host in short", "clawhost status\nclawhost status -json | jq .plugins", a.status),
		a.logs(),
		a.command("reload", "Apply the changed config file; plugins whose own block has changed restart", "clawhost reload", a.reload),
		a.noun("config", "Show, compare and set values of the running host's config", "clawhost config show\nclawhost config diff", a.configShow,
			a.command("show", "Show every value that is set, and where", "clawhost config show", a.configShow),
			a.command("diff", "Show what a reload would change", "clawhost config diff", a.configDiff),
			a.command("set NAME VALUE", "Set a value now and for later starts, over the file's", "clawhost config set access.dm open\nclawhost config set log.levels '{ telegram = \"debug\" }'", a.configSet),
			a.command("unset NAME", "Let the file's value apply again", "clawhost config unset access.dm", a.configUnset)),
		a.support(),
		a.hosts(),
		a.noun("agent", "List the agents, and what they do", "clawhost agent", a.agents,
			a.command("list", "List the agents, and what they do", "clawhost agent list", a.agents)),
		a.noun("plugin", "List, restart and log in plugins", "clawhost plugin list\nclawhost plugin restart telegram", a.pluginList,
			a.command("list", "List the plugins and how they are", "clawhost plugin list", a.pluginList),
			a.completes(pluginNames, a.command("restart NAME", "Restart a plugin, also one that failed", "clawhost plugin restart telegram", a.pluginRestart)),
			a.completes(pluginNames, a.command("upgrade NAME", "Check a plugin's new binary, and restart the plugin with it", "clawhost plugin upgrade telegram", a.pluginUpgrade)),
			a.completes(pluginNames, a.command("login NAME [STEP=ANSWER …]", "Log a channel in to its account, such as by a QR code", `
clawhost plugin login whatsapp
clawhost plugin login whatsapp phone=+15551234567`, a.pluginLogin))),
		a.noun("pairing", "Let in strangers who asked to be let in", "clawhost pairing list\nclawhost pairing approve ABCD2345", a.pairingList,
			a.command("list", "List who asked to be let in, with their codes", "clawhost pairing list", a.pairingList),
			a.completes(pairingCodes, a.command("approve [CHANNEL] CODE", "Let somebody in", `
clawhost pairing approve ABCD2345
clawhost pairing approve telegram ABCD2345`, a.pairingApprove)),
			a.completes(pairingCodes, a.command("reject [CHANNEL] CODE", "Delete a request", "clawhost pairing reject ABCD2345", a.pairingReject))),
		a.approve(),
		a.noun("queue", "Show what waits, runs and is being sent", "clawhost queue\nclawhost queue retry all", a.queue,
			a.command("list", "Show what waits, runs and is being sent", "clawhost queue list", a.queue),
			a.command("dead", "List messages that could not be delivered", "clawhost queue dead", a.queueDead),
			a.completes(deadLetters, a.command("retry ID|all", "Send dead messages again", "clawhost queue retry 17\nclawhost queue retry all", a.queueRetry)),
			a.completes(deadLetters, a.command("drop ID|all", "Delete dead messages", "clawhost queue drop 17", a.queueDrop))),
		a.noun("sessions", "List the sessions, and what they cost", "clawhost sessions", a.sessions,
			a.command("list", "List the sessions, and what they cost", "clawhost sessions list", a.sessions),
			a.completes(sessionKeys, a.command("export KEY", "Print a session's history as JSON lines", `
clawhost sessions export telegram:1001 >history.jsonl`, a.sessionsExport))),
	)
	add(groupKept, a.backup(), a.restore(), a.forget(), a.store())
	add(groupMore, a.command("version", "Print the version", "clawhost version", a.printVersion))
	root.SetHelpCommand(a.help(root))
	root.SetHelpCommandGroupID(groupMore)
	root.SetCompletionCommandGroupID(groupMore)
	root.SetFlagErrorFunc(flagError)
	root.SetOut(a.out)
	root.SetErr(a.err)
	return root
}

// command returns a command. Run gets the arguments without the flags; an error of [usage] is shown with how the command is used.
func (a *app) command(use, short, example string, run func(context.Context, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: indented(example), Args: cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if c.HasSubCommands() && len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return withCommand(run(c.Context(), args), c)
		},
	}
}

// noun returns a command with commands of its own. Alone it is its list, and says which commands there are.
func (a *app) noun(name, short, example string, list func(context.Context, []string) error, commands ...*cobra.Command) *cobra.Command {
	var noun *cobra.Command
	noun = a.command(name, short, example, func(ctx context.Context, args []string) error {
		err := list(ctx, args)
		if !a.json {
			a.nameCommands(noun)
		}
		return err
	})
	noun.AddCommand(commands...)
	return noun
}

// nameCommands says which commands a noun has. It is no part of the output.
func (a *app) nameCommands(noun *cobra.Command) {
	var names []string
	for _, c := range noun.Commands() {
		names = append(names, c.Name())
	}
	fmt.Fprintf(a.err, "Commands: %s. `clawhost help %s` explains them.\n", strings.Join(names, ", "), noun.Name())
}

// demo adds the flag -demo to a command.
func demo(a *app, c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.demo, "demo", false, "let the bundled stand-in answer instead of Claude")
	return c
}

// help is the command that explains others.
func (a *app) help(root *cobra.Command) *cobra.Command {
	c := a.command("help [COMMAND]", "Explain a command", "clawhost help plugin restart", func(_ context.Context, args []string) error {
		c, rest, err := root.Find(args)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return unknownCommand(c, rest[0])
		}
		c.InitDefaultHelpFlag() // as -h does
		return c.Help()
	})
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		c, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return c
}
