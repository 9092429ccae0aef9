package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/doctor"
)

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
		o.Online = !offline
		found := doctor.Examine(ctx, o)
		if fix {
			for i := range found {
				if err := found[i].Fix(); err != nil {
					found[i].Advice = fmt.Sprintf("It cannot be fixed by this user: %v. %s", err, found[i].Advice)
				}
			}
		}
		return a.report(found)
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
	o := doctor.Options{Path: path, Version: version, Demo: a.demo, Children: a.children}
	if a.config == "" && os.Getenv(configVariable) == "" {
		o.Others = others(path)
	}
	if o.Config, o.Problem = config.Load(path, a.variable(path)); o.Problem != nil {
		return o, nil
	}
	status, err := admin.NewClient(o.Config.Socket()).Status(ctx)
	switch {
	case err == nil:
		o.Host = &status
		o.Demo = o.Demo || status.Demo
	case !errors.Is(err, admin.ErrNotRunning):
		o.HostErr = err
	}
	return o, nil
}

// others are further config files in the usual places.
func others(path string) (list []string) {
	for _, p := range usualPlaces() {
		info, err := os.Stat(p)
		if read, err := os.Stat(path); err == nil && info != nil && os.SameFile(read, info) {
			continue
		}
		if err == nil {
			if absolute, err := filepath.Abs(p); err == nil {
				p = absolute
			}
			list = append(list, p)
		}
	}
	return list
}

// report prints what was found.
func (a *app) report(found []doctor.Finding) error {
	bad := doctor.Worst(found) == doctor.Error
	if a.json {
		if err := a.print(map[string]any{"ok": !bad, "findings": found}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			a.finding(f)
		}
	}
	if bad {
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
	fmt.Fprintf(a.out, "%s  %s\n", mark, visible(f.Text))
	if f.Advice != "" && !f.Fixed {
		fmt.Fprintf(a.out, "         %s\n", visible(f.Advice))
	}
	if f.Fixable && !f.Fixed {
		fmt.Fprintln(a.out, "         `clawhost doctor -fix` does it.")
	}
}
