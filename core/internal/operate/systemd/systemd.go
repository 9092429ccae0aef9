// Package systemd tells systemd how the host is, if it runs as a service of Type=notify.
package systemd

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/store"
)

// statusEvery is how often the status is told if the service has no watchdog.
const statusEvery = time.Minute

// Options are the parts of the host that must work, and that the status is about.
type Options struct {
	Store      *store.Store
	Dispatcher *dispatch.Dispatcher
	Plugins    *plugins.Registry
	Health     *health.Registry
}

// Service is the host as systemd sees it.
type Service struct {
	options Options
	log     hclog.Logger
	ready   atomic.Bool // it was told that the host is ready
}

// New returns a service. Run tells systemd about it.
func New(options Options, log hclog.Logger) *Service { return &Service{options: options, log: log} }

// Run says that the host is ready and then, until ctx ends, that it works: at half the interval of the watchdog, so that
// systemd ends a host that hangs. It returns at once if systemd wants to know nothing.
func (s *Service) Run(ctx context.Context) {
	if !s.tell(daemon.SdNotifyReady + "\nSTATUS=" + s.status(ctx)) {
		return
	}
	s.ready.Store(true)
	every := statusEvery
	if limit, err := daemon.SdWatchdogEnabled(false); err != nil {
		s.log.Error("the interval of the watchdog is unknown", "error", err)
	} else if limit > 0 {
		every = limit / 2
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.alive(ctx, every)
		case <-ctx.Done():
			return
		}
	}
}

// alive tells the watchdog that the host works, if the store takes a step in time and nothing keeps the locks of the dispatcher
// and of the plugins.
func (s *Service) alive(ctx context.Context, within time.Duration) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	switch err := s.options.Store.Ping(limited); {
	case ctx.Err() != nil:
	case err != nil:
		s.log.Error("the store does not answer; the watchdog is not told that the host works", "error", err)
	default:
		s.tell(daemon.SdNotifyWatchdog + "\nSTATUS=" + s.status(limited))
	}
}

// status is what "systemctl status" shows.
func (s *Service) status(ctx context.Context) string {
	list, running := s.options.Plugins.List(), 0
	for _, p := range list {
		if p.State == plugins.Running {
			running++
		}
	}
	full := ""
	if _, others := s.options.Dispatcher.Full(); others {
		full = ", no more at once"
	}
	status := fmt.Sprintf("plugins running: %d of %d; turns: %d%s", running, len(list), s.options.Dispatcher.Count(), full)
	if wrong := s.options.Health.List(ctx); len(wrong) > 0 {
		status += fmt.Sprintf("; problems: %d, %s", len(wrong), notice.Quote(wrong[0].Text))
	}
	return status
}

// Reloading says that the host reads its config again, and done that it has.
func (s *Service) Reloading() (done func()) {
	if !s.ready.Load() {
		return func() {}
	}
	s.tell(daemon.SdNotifyReloading)
	return func() { s.tell(daemon.SdNotifyReady + "\nSTATUS=" + s.status(context.Background())) }
}

// Stop says that the host shuts down. A host that is to be restarted within its process must not say so: systemd would end it.
func (s *Service) Stop() { s.tell(daemon.SdNotifyStopping) }

// tell reports whether there is a systemd that wants to be told.
func (s *Service) tell(state string) bool {
	wanted, err := daemon.SdNotify(false, state)
	if err != nil {
		s.log.Error("systemd cannot be told how the host is", "error", err)
	}
	return wanted || err != nil
}

// Reason returns why a process ends whose context, one of [os/signal.NotifyContext], has this cause.
func Reason(cause error) string {
	switch received := cause.Error(); received {
	case syscall.SIGINT.String() + " signal received":
		return "SIGINT (Ctrl-C)"
	case syscall.SIGTERM.String() + " signal received":
		if os.Getenv("INVOCATION_ID") != "" && os.Getppid() == 1 {
			return "SIGTERM, as from the service manager"
		}
		return "SIGTERM"
	default:
		return received
	}
}
