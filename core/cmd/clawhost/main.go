// Command clawhost runs a host, or controls a running one.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// version is set when the binary is built.
var version = "dev"

// The exit codes.
const (
	exitWell  = 0
	exitNot   = 1
	exitUsage = 2
	// exitNoHost is that of a command that needs a running host where there is none.
	exitNoHost = 3
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == web.PageCommand {
		readPage()
		return
	}
	if len(os.Args) == 3 && os.Args[1] == jobs.Command {
		runJob(os.Args[2])
		return
	}
	readable, concealed := process.Readable(), process.Conceal() // before all else: see docs/security.md
	concealed = errors.Join(concealed, process.CloseOnExec())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal makes the host shut down in order; a second one ends it at once.
	context.AfterFunc(ctx, stop)
	code := (&app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
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

// runJob is what the host executes to run a job. It is not a command for people. What it has to tell is in the job's folder.
func runJob(folder string) {
	orders := os.NewFile(jobs.Orders, "orders")
	_ = process.CloseOnExec()
	if err := jobs.RunJob(orders, folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitNot)
	}
}

// app is one run of the command.
type app struct {
	in       io.Reader
	out, err io.Writer

	config  string // empty: found
	json    bool
	demo    bool
	version bool

	readable  bool  // by other processes of the user, until main started
	concealed error // why concealing failed; nil: it did not
	children  *process.Children
}

// run executes a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.commands()
	line := dashed(root, args)
	root.SetArgs(line)
	name, rest, err := a.pluginLine(root, line)
	switch {
	case err != nil:
	case name != "":
		err = a.runPlugin(ctx, name, args[len(args)-len(rest):])
	default:
		err = root.ExecuteContext(ctx)
	}
	var problems config.Problems
	var wrong *usageError
	var code exitCode
	switch {
	case err == nil:
		return exitWell
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, errSaid):
		return exitNot
	case errors.As(err, &wrong):
		fmt.Fprintf(a.err, "clawhost: %s\n", visible(wrong.Error()))
		if wrong.command != nil {
			fmt.Fprintf(a.err, "Usage: %s\nRun `%s` for more.\n", useLine(wrong.command), strings.TrimSpace("clawhost help "+pathOf(wrong.command)))
		}
		return exitUsage
	case errors.As(err, &problems):
		fmt.Fprintln(a.err, visible(problems.Error()))
		return exitNot
	}
	fmt.Fprintf(a.err, "clawhost: %s\n", visible(err.Error()))
	if errors.Is(err, admin.ErrNotRunning) {
		return exitNoHost
	}
	return exitNot
}
