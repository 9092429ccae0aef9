package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core"
	"github.com/clawhost/clawhost/core/internal/config"
)

// host runs a host until it is told to end.
func (a *app) host(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("there is no command %q", args[0])
	}
	c, err := a.load()
	if err != nil {
		return err
	}
	demo := ""
	if a.demo {
		if demo, err = standIn(); err != nil {
			return err
		}
	}
	log := hclog.New(&hclog.LoggerOptions{
		Name: "clawhost", Level: hclog.LevelFromString(c.Log.Level), JSONFormat: c.Log.Format == "json", Output: a.err,
	})
	h, err := core.New(ctx, core.Options{Config: c, Version: version, Demo: demo, Log: log, Out: a.out, Recheck: a.recheck})
	if err != nil {
		return err
	}
	err = h.Run(ctx)
	if errors.Is(err, core.ErrRestart) {
		return again()
	}
	return err
}

// again runs this binary, or the one that has taken its place, as it was run.
func again() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return fmt.Errorf("restart: %w", syscall.Exec(self, os.Args, os.Environ()))
}

// recheck tells what keeps a host from starting with the config file as it is now.
func (a *app) recheck(ctx context.Context) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	return core.Validate(ctx, c, version)
}

// load reads the config file.
func (a *app) load() (*config.Config, error) {
	return config.Load(a.config, os.LookupEnv)
}

// standIn finds the bundled stand-in for claude beside this binary.
func standIn() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the stand-in for claude: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), "claude-stub")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find the stand-in for claude beside this binary: %w", err)
	}
	return path, nil
}

// validate checks the config file and, by the plugins' schemas, the plugins' own configs.
func (a *app) validate(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("validate takes no arguments")
	}
	c, err := a.load()
	if err == nil {
		err = core.Validate(ctx, c, version)
	}
	var warnings []string
	if err == nil {
		warnings = core.Warnings(c, os.Geteuid() == 0)
	}
	if !a.json {
		if err == nil {
			fmt.Fprintf(a.out, "%s is good.\n", a.config)
		}
		for _, warning := range warnings {
			fmt.Fprintln(a.out, "Warning:", warning)
		}
		return err
	}
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if problems == nil {
		problems = config.Problems{}
	}
	said := map[string]any{"ok": err == nil, "problems": problems}
	if len(warnings) > 0 {
		said["warnings"] = warnings
	}
	if err := a.print(said); err != nil {
		return err
	}
	if err != nil {
		return errSaid
	}
	return nil
}

// errSaid ends a command with exit code 1 whose output has told all.
var errSaid = errors.New("not well")

func (a *app) printVersion(_ context.Context, args []string) error {
	if len(args) > 0 {
		return usage("version takes no arguments")
	}
	if a.json {
		return a.print(map[string]string{"version": version})
	}
	_, err := fmt.Fprintln(a.out, version)
	return err
}

// print writes one JSON value.
func (a *app) print(value any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
