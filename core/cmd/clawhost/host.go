package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core"
	"github.com/clawhost/clawhost/core/internal/base/build"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/logfile"
	"github.com/clawhost/clawhost/core/internal/base/loglevel"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/recentlog"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/operate/claims"
)

// replaced is the variable that tells a host that it has replaced itself, so that it does so only once.
const replaced = "CLAWHOST_REPLACED"

// host runs a host until it is stopped.
func (a *app) host(ctx context.Context, args []string) error {
	switch {
	case a.version:
		return a.printVersion(ctx, args)
	case len(args) > 0:
		return usage("run takes no arguments")
	case a.json:
		return usage("-json belongs to a command, such as status")
	}
	_, again := os.LookupEnv(replaced)
	if !again {
		a.replace()
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from the start on: it never ends the process
	c, err := a.load()
	if errors.Is(err, errNoConfig) && a.interactive() {
		return a.offerInit(ctx, err)
	}
	if err != nil {
		return err
	}
	demo := ""
	if a.demo {
		if demo, err = standIn(); err != nil {
			return err
		}
	}
	out := a.err
	if colours(out) && c.Log.Format != "json" {
		out = levels{out}
	}
	if c.Log.File != "" {
		file, err := logfile.Open(c.Log.File, c.Log.MaxSize, c.Log.Keep, out)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		out = file
	}
	recent := recentlog.New(out)
	levels := loglevel.New(c.Log.Level, c.Log.Levels)
	log := levels.Logger(hclog.New(&hclog.LoggerOptions{Name: "clawhost", Level: hclog.Trace, JSONFormat: c.Log.Format == "json", Output: recent}))
	a.warn(log, again)
	for _, other := range a.ignored(c.Path) {
		log.Warn("there are several config files; -config chooses one", "used", c.Path, "ignored", other)
	}
	err = a.adopting(ctx, log, func(ctx context.Context) error {
		h, err := core.New(ctx, core.Options{
			Config: c, Version: version, Demo: demo, Log: log, Levels: levels, Recent: recent, Out: a.out, Source: a, Children: a.children,
		})
		if err != nil {
			return err
		}
		working, cancel := context.WithCancel(context.WithoutCancel(ctx))
		var reloading sync.WaitGroup
		reloading.Go(func() { reload(working, hangups, h) })
		defer func() { cancel(); reloading.Wait() }()
		return h.Run(ctx)
	})
	switch {
	case errors.Is(err, core.ErrRestart):
		return restart()
	case ctx.Err() == nil && c.Database.Driver == config.Postgres && fleet.Transient(err):
		log.Error("starting again", "error", err)
		return restart()
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // stopped while it started: no failure
		return nil
	}
	return err
}

// reload has the host reload its config at each SIGHUP, until ctx ends.
func reload(ctx context.Context, hangups <-chan os.Signal, h *core.Host) {
	for {
		select {
		case <-hangups:
			h.Reload(ctx, "SIGHUP")
		case <-ctx.Done():
			return
		}
	}
}

// replace executes this program again if its user can read it: a process that has opened this one's memory can keep reading it,
// but not across an execution.
func (a *app) replace() {
	if !a.readable || process.Sealed() || os.Geteuid() == 0 {
		return
	}
	if path, err := process.Executable(); err == nil {
		_ = process.Exec(path, os.Args, append(os.Environ(), replaced+"=1"))
	}
}

// restart executes this binary, or the one that replaced it, with the same arguments.
func restart() error {
	self, err := process.Executable()
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return fmt.Errorf("restart: %w", process.Exec(self, os.Args, os.Environ()))
}

// warn logs what other processes of the user can or could read of this one, or of the one that it has replaced.
func (a *app) warn(log hclog.Logger, again bool) {
	_ = os.Unsetenv(replaced)
	path, err := process.Executable()
	switch {
	case a.concealed != nil:
		log.Warn("other processes of this user can read this one's memory and environment", "error", a.concealed)
	case err == nil && (again || a.readable) && os.Geteuid() != 0:
		log.Warn("other processes of this user could read this one's environment while it started; " +
			"let the program be executed only, not read: `chmod a=x " + path + "`, better with root as its owner")
	}
}

// adopting runs the host and waits for processes that leave its process tree.
func (a *app) adopting(ctx context.Context, log hclog.Logger, run func(context.Context) error) error {
	if err := a.children.Adopt(); err != nil {
		log.Warn("the agent's tools can leave the host's process tree", "error", err)
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var reaping sync.WaitGroup
	reaping.Go(func() { a.children.Reap(working) })
	defer func() { cancel(); reaping.Wait() }()
	return run(ctx)
}

// Load implements [core.Source].
func (a *app) Load(overrides []config.Override) (*config.Config, []config.Misfit, error) {
	path, err := a.place()
	if err != nil {
		return nil, nil, err
	}
	return config.LoadWith(path, a.variable(path), overrides)
}

// CheckPlugins implements [core.Source].
func (a *app) CheckPlugins(ctx context.Context, c *config.Config, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	return claims.CheckPlugins(ctx, c, labels, claims.Options{Version: version, Demo: a.demo, Children: a.children}).Err()
}

// Recheck returns what keeps a host from starting with the config file as it is now.
func (a *app) Recheck(ctx context.Context) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	return a.check(ctx, c).Err()
}

// check checks the plugins and what the machine must have.
func (a *app) check(ctx context.Context, c *config.Config) claims.Report {
	return claims.Check(ctx, c, claims.Options{Version: version, Demo: a.demo, Children: a.children})
}

// load reads the config file.
func (a *app) load() (*config.Config, error) {
	path, err := a.place()
	if err != nil {
		return nil, err
	}
	return config.Load(path, a.variable(path))
}

// standIn finds the bundled stand-in for claude next to this binary.
func standIn() (string, error) {
	self, err := process.Executable()
	if err != nil {
		return "", fmt.Errorf("find the stand-in for claude: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), "claude-stub")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find the stand-in for claude next to this binary: %w", err)
	}
	return path, nil
}

// errSaid ends a command with exit code 1 after it has printed everything.
var errSaid = errors.New("not well")

func (a *app) printVersion(_ context.Context, args []string) error {
	if len(args) > 0 {
		return usage("version takes no arguments")
	}
	built := build.Read(version)
	if a.json {
		return a.print(built)
	}
	_, err := fmt.Fprintln(a.out, built)
	return err
}

// print writes one JSON value.
func (a *app) print(value any) error {
	encoder := a.encoder()
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
