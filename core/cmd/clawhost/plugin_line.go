package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk/wire"
)

// exitCode is an error that ends the command with this code and has been printed.
type exitCode int

// Error returns the code.
func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// pluginLine returns the plugin that a command line names in place of a command, and what follows the name. It returns no name for
// other command lines: a command of clawhost comes before a plugin of that name. The flags before the name are applied. The error says
// why the config, which would have the plugin, cannot be read.
func (a *app) pluginLine(root *cobra.Command, args []string) (name string, rest []string, err error) {
	at := 0
	for at < len(args) && strings.HasPrefix(args[at], "-") {
		flag := root.Flag(strings.TrimLeft(args[at], "-")) // nil for an unknown one, and with "="
		if at++; flag != nil && flag.NoOptDefVal == "" {
			at++
		}
	}
	if at >= len(args) || strings.HasPrefix(args[at], "__") || args[at] == "help" || args[at] == "completion" {
		return "", nil, nil
	}
	if c, _, err := root.Find(args[at : at+1]); err != nil || c != root || root.ParseFlags(args[:at]) != nil {
		return "", nil, nil
	}
	path, err := a.place()
	if errors.Is(err, errNoConfig) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	names, err := config.LoadPlugins(path, a.variable(path))
	if err != nil || !slices.Contains(names, args[at]) {
		return "", nil, err
	}
	return args[at], args[at+1:], nil
}

// runPlugin has the running host's plugin answer a command line, and prints what it says.
func (a *app) runPlugin(ctx context.Context, name string, args []string) error {
	if a.json {
		args = append(slices.Clone(args), "-json")
	}
	r := admin.CLIRequest{Plugin: name, Args: args, Width: a.width()}
	if slices.Contains(args, "-") {
		var err error
		if r.Stdin, err = io.ReadAll(io.LimitReader(a.in, wire.MaxOutput+1)); err != nil {
			return fmt.Errorf("read the input: %w", err)
		}
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	said, err := client.CLI(ctx, r)
	if err != nil {
		return err
	}
	fmt.Fprint(a.err, visible(said.Stderr))
	if _, err := fmt.Fprint(a.out, visible(said.Stdout)); err != nil {
		return err
	}
	if said.Code != exitWell {
		return exitCode(said.Code)
	}
	return nil
}

// width is the number of columns of the terminal that shows the output; zero: it is no terminal.
func (a *app) width() int {
	f, ok := a.out.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
