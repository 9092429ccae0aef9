// Command clawhost runs a host, or controls a running one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/media/web"
)

// version is set when the binary is built.
var version = "dev"

// The exit codes.
const (
	exitWell  = 0
	exitNot   = 1
	exitUsage = 2
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == web.PageCommand {
		readPage()
		return
	}
	readable, concealed := process.Readable(), process.Conceal() // before all else: see docs/security.md
	concealed = errors.Join(concealed, process.CloseOnExec())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal makes the host shut down in order; a second one ends it at once.
	context.AfterFunc(ctx, stop)
	code := (&app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, config: "config.hcl",
		readable: readable, concealed: concealed, children: &process.Children{},
	}).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// readPage is what the host executes to read a page. It is not a command for people.
func readPage() {
	if err := web.ReadPage(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitNot)
	}
}

// app is one run of the command.
type app struct {
	in       io.Reader
	out, err io.Writer

	config string
	json   bool
	demo   bool

	readable  bool  // by other processes of the user, until main started
	concealed error // why concealing failed; nil: it did not
	children  *process.Children
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.commands()
	switch err := root.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitWell
	case err != nil:
		return exitUsage // the flag package has printed the error
	}
	err := root.Run(ctx)
	var problems config.Problems
	var wrong *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitWell
	case errors.Is(err, errSaid):
		return exitNot
	case errors.As(err, &wrong) && wrong.why == "":
		return exitUsage
	case errors.As(err, &wrong):
		fmt.Fprintf(a.err, "clawhost: %s\nUsage: %s\nRun `clawhost -h` for what it can do.\n", visible(wrong.Error()), wrong.line)
		return exitUsage
	case errors.As(err, &problems):
		fmt.Fprintln(a.err, visible(problems.Error()))
		return exitNot
	default:
		fmt.Fprintf(a.err, "clawhost: %s\n", visible(err.Error()))
		return exitNot
	}
}

// commands is what the binary can do.
func (a *app) commands() *ffcli.Command {
	flags := a.flags("clawhost")
	flags.BoolVar(&a.demo, "demo", false, "let the bundled stand-in answer instead of Claude")
	const line = "clawhost [-config FILE] [-demo] [COMMAND]"
	root := &ffcli.Command{
		Name:       "clawhost",
		ShortUsage: line,
		ShortHelp:  "Talk to Claude Code from your chat apps. Without a command it runs the host.",
		FlagSet:    flags,
		Subcommands: []*ffcli.Command{
			a.command("validate", "", "check the config file and the plugins' own configs", a.validate),
			a.command("status", "", "the running host in short", a.status),
			a.command("open", "[NAME]", "print the link of a plugin's page, such as the web chat's; it is a secret", a.open),
			a.logs(),
			a.ask(),
			a.send(),
			a.family("agent", "[list]", "list the agents, and what they do", a.agents,
				a.command("agent list", "", "the same", a.agents)),
			a.group("plugin", "plugins of the running host",
				a.command("plugin list", "", "list them and how they are", a.pluginList),
				a.command("plugin restart", "NAME", "restart one, also one that failed", a.pluginRestart),
				a.command("plugin login", "NAME [STEP=ANSWER …]", "log a channel in to its account, such as by a QR code", a.pluginLogin)),
			a.group("pairing", "strangers who asked to be let in",
				a.command("pairing list", "", "list them with their codes", a.pairingList),
				a.command("pairing approve", "[CHANNEL] CODE", "let one in", a.pairingApprove),
				a.command("pairing reject", "[CHANNEL] CODE", "reject a request", a.pairingReject)),
			a.family("queue", "[dead|retry|drop]", "what waits and runs", a.queue,
				a.command("queue dead", "", "messages that could not be delivered", a.queueDead),
				a.command("queue retry", "ID|all", "send dead messages again", a.queueRetry),
				a.command("queue drop", "ID|all", "remove dead messages", a.queueDrop)),
			a.family("sessions", "[export KEY]", "list the sessions", a.sessions,
				a.command("sessions export", "KEY", "print a session's history as JSON lines", a.sessionsExport)),
			a.command("version", "", "print the version", a.printVersion),
		},
	}
	root.Exec = func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return withLine(unknownCommand("", args[0], root.Subcommands), line)
		}
		return a.host(ctx)
	}
	return root
}

// command is a subcommand with the common flags, which may stand before or behind its arguments. Its path are the words that call it.
func (a *app) command(path, args, help string, exec func(context.Context, []string) error) *ffcli.Command {
	name := path[strings.LastIndexByte(path, ' ')+1:]
	flags := a.flags(name)
	flags.BoolVar(&a.json, "json", a.json, "print JSON: one value, or one per line where more may follow")
	use := strings.TrimSpace("clawhost " + path + " [-config FILE] [-json] " + args)
	return &ffcli.Command{Name: name, ShortUsage: use, ShortHelp: help, FlagSet: flags, Exec: func(ctx context.Context, args []string) error {
		args, err := operands(flags, args)
		if err == nil {
			err = exec(ctx, args)
		}
		return withLine(err, use)
	}}
}

// operands returns the arguments without the flags after them, which it sets.
func operands(flags *flag.FlagSet, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return args, nil // "--" stood before it
	}
	var list []string
	for len(args) > 0 {
		if !strings.HasPrefix(args[0], "-") {
			list, args = append(list, args[0]), args[1:]
			continue
		}
		before := len(args)
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usage("") // the flag package has said why
		}
		if args = flags.Args(); len(args) == before { // a lone hyphen
			list, args = append(list, args[0]), args[1:]
		}
	}
	return list, nil
}

// group returns a subcommand that only has subcommands.
func (a *app) group(name, help string, subcommands ...*ffcli.Command) *ffcli.Command {
	return a.family(name, "COMMAND", help, func(context.Context, []string) error {
		return usage("%s needs a command", name)
	}, subcommands...)
}

// family is a subcommand that has subcommands of its own. It takes no arguments.
func (a *app) family(name, args, help string, exec func(context.Context, []string) error, subcommands ...*ffcli.Command) *ffcli.Command {
	c := a.command(name, args, help, func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return unknownCommand(name, args[0], subcommands)
		}
		return exec(ctx, nil)
	})
	c.Subcommands = subcommands
	return c
}

// flags returns a flag set with -config, which may precede or follow the subcommand.
func (a *app) flags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(a.err)
	flags.Var((*setting)(&a.config), "config", "the config `file`; default config.hcl")
	return flags
}

// setting is a string flag whose default is not repeated in the help of each subcommand.
type setting string

// String returns the value.
func (s *setting) String() string { return string(*s) }

// Set sets the value.
func (s *setting) Set(value string) error {
	*s = setting(value)
	return nil
}
