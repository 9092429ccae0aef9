package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/support"
)

// profiled is how long a profile takes.
const profiled = 10 * time.Second

// support is the command that makes a bundle for those who help.
func (a *app) support() *cobra.Command {
	lasts := profiled
	c := a.command("support FILE", "Make a file for those who help you, without secrets and texts", `
clawhost support clawhost.tar.gz
clawhost support -for 30s clawhost.tar.gz`, func(ctx context.Context, args []string) error {
		if len(args) != 1 || lasts < 0 || lasts > support.MaxProfiled {
			return usage("support takes a file that is made, and -for at most %s", support.MaxProfiled)
		}
		if err := support.Free(args[0]); err != nil {
			return err
		}
		examined, err := a.examination(ctx)
		if err != nil {
			return err
		}
		o := support.Options{Version: version, Path: examined.Path, Config: examined.Config, Doctor: examined, For: lasts}
		if o.Config != nil {
			o.Client = admin.NewClient(o.Config.Socket())
		}
		if !a.json && isTerminal(a.err) {
			fmt.Fprintf(a.err, "This takes %s and some seconds …\n", lasts)
		}
		entries, err := support.Collect(ctx, o)
		if err != nil {
			return err
		}
		if err := support.Write(args[0], entries, time.Now()); err != nil {
			return err
		}
		return a.bundled(args[0], entries)
	})
	c.Flags().DurationVar(&lasts, "for", lasts, "how long the profile of the processor takes; at most a minute")
	return c
}

// bundled says what is in a bundle.
func (a *app) bundled(path string, entries []support.Entry) error {
	type file struct {
		Name  string `json:"name"`
		Bytes int    `json:"bytes"`
		About string `json:"about"`
	}
	list, rows := []file{}, [][]string{}
	for _, e := range entries {
		list = append(list, file{e.Name, e.Size(), e.About})
		rows = append(rows, []string{e.Name, fmt.Sprintf("%d bytes", e.Size()), e.About})
	}
	if a.json {
		return a.print(map[string]any{"file": path, "files": list})
	}
	if err := a.printRows(rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "%s has these files, without secrets, texts and names. Look at them before you send them: `tar -xzf %s`.\n", path, path)
	return err
}
