package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/doctor"
	"github.com/clawhost/clawhost/core/internal/operate/service"
)

// askTimeout limits how long a running host is waited for. One that works answers in milliseconds.
const askTimeout = 10 * time.Second

// doctor is the command that finds what keeps a host from working.
func (a *app) doctor() *cobra.Command {
	var fix, offline bool
	c := a.command("doctor", "Find what keeps the host from working, and say what to do", `
clawhost doctor
clawhost doctor -fix`, func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return usage("doctor takes no arguments")
		}
		o, err := a.examination(ctx)
		if err != nil {
			return err
		}
		o.Online, o.Fix = !offline, fix
		if o.Config != nil {
			o.Service, o.Manager = a.serviceOf(ctx, o.Config.Path)
		}
		if !a.json && isTerminal(a.err) {
			fmt.Fprintln(a.err, "This takes some seconds …")
		}
		found, err := doctor.Examine(ctx, o)
		if err != nil {
			return err
		}
		return a.report(o, found)
	})
	c.Flags().BoolVar(&fix, "fix", false, "repair what needs no decision")
	c.Flags().BoolVar(&offline, "offline", false, "ask no network")
	return demo(a, c)
}

// examination is what a doctor examines.
func (a *app) examination(ctx context.Context) (doctor.Options, error) {
	path, err := a.place()
	if err != nil {
		return doctor.Options{}, err
	}
	o := doctor.Options{Command: process.Quoted(os.Args[0]), Path: path, Version: version, Demo: a.demo, Children: a.children}
	if a.config != "" {
		o.Command += " -config " + process.Quoted(path)
	}
	o.Others = a.ignored(path)
	if o.Config, o.Problem = config.Load(path, a.variable(path)); o.Problem != nil {
		return o, nil
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	status, err := admin.NewClient(o.Config.Socket()).Status(asking)
	switch {
	case err == nil:
		o.Host = &status
		o.Demo = o.Demo || status.Demo
	case ctx.Err() != nil:
		return o, context.Cause(ctx)
	case asking.Err() != nil:
		o.HostErr = fmt.Errorf("no answer within %s", askTimeout)
	case !errors.Is(err, admin.ErrNotRunning):
		o.HostErr = err
	}
	return o, nil
}

// serviceOf returns how the service is that runs the host with a config, and the command that changes it; nil: none is known.
func (a *app) serviceOf(ctx context.Context, config string) (*service.State, string) {
	for manager, perUser := range map[string]bool{"sudo systemctl": false, "systemctl --user": true} {
		of, err := (&serviceCommand{app: a}).of(perUser)
		if err != nil || !of.Installed() || of.ConfigPath() != config {
			continue
		}
		if state, err := of.State(ctx); err == nil {
			return &state, manager
		}
	}
	return nil, ""
}

// report prints what was found, the worst last, where it is seen first on a terminal.
func (a *app) report(o doctor.Options, found []doctor.Finding) error {
	bad := doctor.Count(found, doctor.Error)
	if a.json {
		if err := a.print(map[string]any{"ok": bad == 0, "findings": found}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			a.finding(f)
		}
		fmt.Fprintln(a.out, doctor.Summary(o, found))
	}
	if bad > 0 {
		return errSaid
	}
	return nil
}

// finding prints one, with what to do below it.
func (a *app) finding(f doctor.Finding) {
	style := a.style()
	mark := map[doctor.Severity]string{doctor.Good: style.good("ok     "), doctor.Warning: style.warning("warning"), doctor.Error: style.bad("error  ")}[f.Severity]
	if f.Fixed {
		mark = style.good("fixed  ")
	}
	fmt.Fprintf(a.out, "%s  %s\n", mark, strings.ReplaceAll(visible(f.Text), "\n", "\n     ")) // a line of the file stands below its problem
	if f.Advice != "" && !f.Fixed {
		fmt.Fprintf(a.out, "         %s\n", visible(f.Advice))
	}
}
