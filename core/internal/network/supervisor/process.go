package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
)

const (
	describeTimeout  = 10 * time.Second
	configureTimeout = 60 * time.Second
	healthEvery      = 30 * time.Second
	healthTimeout    = 5 * time.Second
	// maxUnanswered is how many consecutive health checks a plugin may leave unanswered.
	maxUnanswered = 3
)

// runProcess runs one process from its start to its end. Its error says why it ended; nil: ctx ended or a restart was
// requested.
func (i *instance) runProcess(ctx context.Context) (err error) {
	if i.channel { // as its last process has said
		if ctx, err = i.own(ctx); err != nil {
			return err
		}
	}
	block := i.entry.Config()
	l, err := launch(ctx, block, i.options.SocketDir, i.options.Children, i.sockets, i.log)
	if err != nil {
		return err
	}
	pid := l.process.cmd.Process.Pid
	forget, err := i.record(ctx, pid)
	defer forget() // after the process is gone: until then the host's next process must find it
	defer func() {
		if err := l.end(); err != nil {
			i.log.Error("cannot kill the plugin", "error", err)
		}
	}()
	if err != nil {
		return err
	}
	live, err := i.configure(ctx, l, block)
	if err != nil {
		return err
	}
	if i.duty != nil {
		ctx = i.duty.Context()
	}
	i.entry.Update(func(s *plugins.Status) {
		*s = plugins.Status{
			Name: s.Name, State: plugins.Running, Version: live.Version, Kinds: plugins.Kinds(live.Description), PID: pid,
			Restarts: s.Restarts,
		}
	})
	i.entry.Publish(live)
	defer i.entry.Publish(nil)
	i.settle()
	defer i.entry.Update(func(s *plugins.Status) { s.PID, s.Connection, s.URL = 0, 0, "" })
	i.log.Info("the plugin is running", "version", live.Version, "pid", pid)
	return i.watch(ctx, l, live)
}

// record stores the process, so that the host's next process can end it. Forget is never nil.
func (i *instance) record(ctx context.Context, pid int) (forget func(), err error) {
	started, err := process.StartTime(pid)
	switch {
	case errors.Is(err, process.ErrGone):
		return func() {}, nil // the next call gives a better error
	case err != nil:
		return func() {}, fmt.Errorf("record the plugin's process: %w: %w", errExhausted, err)
	}
	forget = func() {
		if err := i.options.Processes.DeleteProcess(context.WithoutCancel(ctx), pid, started); err != nil {
			i.log.Warn("cannot delete the plugin's process record", "pid", pid, "error", err)
		}
	}
	err = i.options.Processes.RecordProcess(ctx, domain.Process{
		Kind: "plugin", Name: i.name, PID: pid, StartTime: started, BootID: process.BootID(),
	})
	if err != nil {
		return forget, fmt.Errorf("record the plugin's process: %w: %w", errExhausted, err)
	}
	return forget, nil
}

// configure describes, checks and configures a new process.
func (i *instance) configure(ctx context.Context, l *launched, block *config.Plugin) (*plugins.Plugin, error) {
	describing, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	description, err := l.plugin.Describe(describing, i.options.HostVersion)
	if err != nil {
		return nil, fmt.Errorf("describe the plugin: %w", i.cause(err, l))
	}
	i.entry.Update(func(s *plugins.Status) { s.Kinds = plugins.Kinds(description) })
	if len(description.Unknown) > 0 {
		i.log.Warn("the plugin has capabilities that this host does not know; they are not used", "capabilities", description.Unknown)
	}
	if err := i.host.Accept(i.name, description); err != nil {
		return nil, refusal{err}
	}
	config, err := block.Decode(description.Schema)
	if err != nil {
		return nil, misfit{err}
	}
	if i.channel = description.Can(remote.Channel); i.channel {
		if ctx, err = i.own(ctx); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(i.options.StateDir, "plugins", i.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the plugin's state folder: %w", err)
	}
	services := grpc.NewServer(slices.Concat(
		[]grpc.ServerOption{grpc.Creds(credentials.NewTLS(l.tls))}, handshake.ServerOptions(), intakeOptions(), recovering(i.log),
	)...)
	i.host.Register(i.name, services)
	broker := l.broker.NextId()
	l.serve(broker, services, i.log)
	configuring, cancel := context.WithTimeout(ctx, configureTimeout)
	defer cancel()
	found, err := l.plugin.Configure(configuring, remote.Configuration{
		Config: config, BrokerID: broker, Instance: i.name, StateDir: dir, Workspace: i.options.Workspace, Demo: i.options.Demo,
		ServeHTTP: i.entry.Config().ServeHTTP, TraceShare: i.options.TraceShare,
	})
	if err != nil {
		return nil, fmt.Errorf("configure the plugin: %w", i.cause(err, l))
	}
	if err := i.findings(found); err != nil {
		return nil, err
	}
	live, err := plugins.Open(configuring, i.name, "", l.plugin, description)
	if err != nil {
		return nil, fmt.Errorf("get the channel's limits: %w", i.cause(err, l))
	}
	return live, nil
}

// findings logs a plugin's warnings about its config and returns its errors, with their positions.
func (i *instance) findings(found []remote.Diagnostic) error {
	var errs []error
	for _, d := range found {
		text := i.entry.Config().Place(d.Path, d.Summary, d.Detail).String()
		if d.Warning {
			i.log.Warn(text)
			continue
		}
		errs = append(errs, errors.New(text))
	}
	if len(errs) == 0 {
		return nil
	}
	return refusal{errors.Join(errs...)}
}

// watch returns when the process has ended or must end: its channel ended, it does not respond any more, or ctx ended or
// the operator requested a restart.
func (i *instance) watch(ctx context.Context, l *launched, live *plugins.Plugin) error {
	running, stop := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer stop()

	ended := make(chan error, 2)
	if live.Can(remote.Channel) {
		calls.Go(func() { ended <- live.Run(running, i.report) })
	}
	calls.Go(func() { ended <- i.health(running, live) })

	select {
	case <-ctx.Done():
		if i.options.Fleet.Held() { // otherwise another host may run the channel already
			i.drain(ctx, live)
		}
		return nil
	case <-i.restart:
		i.log.Info("the plugin is restarted")
		i.drain(ctx, live)
		return nil
	case <-l.process.done:
		return errors.New(l.process.ended())
	case err := <-ended:
		return i.cause(err, l)
	}
}

// cause prefers the process's own last words to the connection error that is seen first.
func (i *instance) cause(err error, l *launched) error {
	if !errors.Is(err, remote.ErrGone) {
		return err
	}
	timer := time.NewTimer(2 * afterExit)
	defer timer.Stop()
	select {
	case <-l.process.done:
		return errors.New(l.process.ended())
	case <-timer.C:
		return err
	}
}

// report handles a change of the connection's state. A state that ends the process is not logged: its end is.
func (i *instance) report(r remote.Report) {
	r.Detail = strings.TrimPrefix(printable(r.Detail), r.State.String()+": ") // shown on terminals
	before := i.entry.Update(func(s *plugins.Status) { s.Connection, s.Detail, s.URL = r.State, r.Detail, r.URL })
	switch trouble := r.Detail != "" && r.State != chat.Connected; {
	case before.Connection == r.State && before.Detail == r.Detail, r.State == chat.BadCredentials, r.State == chat.LoggedOut:
	case trouble:
		i.log.Warn("the connection is in trouble", "state", r.State, "detail", r.Detail)
	case r.State == chat.Connected:
		i.log.Info("connected", "detail", r.Detail)
	default:
		i.log.Debug("connection", "state", r.State)
	}
	if r.URL != "" && before.URL != r.URL {
		i.host.Opened(i.name, r.URL)
	}
}

// health returns an error once the plugin does not respond any more. A reported problem is the plugin's own business: its
// start and its end are logged once.
func (i *instance) health(ctx context.Context, live *plugins.Plugin) error {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	unanswered, complaint := 0, ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(ctx, healthTimeout)
		doing, err := live.CheckHealth(asking)
		cancel()
		if doing = printable(doing); err == nil {
			i.entry.Update(func(s *plugins.Status) { s.Doing = doing })
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, remote.ErrGone):
			if unanswered++; unanswered == maxUnanswered {
				return fmt.Errorf("the plugin has not answered %d health checks", maxUnanswered)
			}
			continue
		case err != nil && err.Error() != complaint:
			i.log.Warn("the plugin reports a problem", "error", err)
			complaint = err.Error()
		case err == nil && complaint != "":
			i.log.Info("the plugin reports no problem any more")
			complaint = ""
		}
		unanswered = 0
	}
}

// drain lets the plugin finish. It uses a new context: the caller's has ended.
func (i *instance) drain(ctx context.Context, live *plugins.Plugin) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.options.Grace+time.Second)
	defer cancel()
	if err := live.Shutdown(ctx, i.options.Grace); err != nil {
		i.log.Warn("the plugin did not drain", "error", err)
	}
}
