package sdk

import (
	"fmt"
	stdlog "log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/sdk/handshake"
)

// parentPoll is how often a plugin checks whether its host still runs. No notification from the kernel works on every
// system and belongs to the process rather than to the calling thread.
const parentPoll = 200 * time.Millisecond

// Serve serves a plugin's components to the host that started the process. It is the last line of main and does not return:
// the process ends when the host ends it, when the host is gone, or when a service fails. SIGTERM and SIGINT are ignored,
// because only the host knows when the plugin has been drained. If a person starts the binary, it prints what it is and how
// to configure it.
//
// The version is the plugin's own, such as "0.1.0". What the standard library's log package writes goes to [Env]'s Log.
func Serve(name, version string, components ...Component) {
	os.Exit(serve(name, version, components))
}

// serve returns the exit code.
func serve(name, version string, components []Component) int {
	p, err := newPlugin(name, version, os.Stderr, components)
	if err != nil {
		fmt.Fprintf(os.Stderr, "plugin %s: %v.\n", name, err)
		return 1
	}
	if os.Getenv(handshake.CookieName) != handshake.CookieValue {
		printUsage(os.Stdout, os.Args[0], p.description, p.components)
		return 0
	}
	if err := forbidDump(); err != nil {
		p.log.Warn("other processes of this user can read this one's memory", "error", err)
	}
	if err := nameProcess(); err != nil {
		p.log.Debug("the process keeps the name of its copy", "error", err)
	}
	if p.line, err = handshake.NewLine(os.Stdin); err != nil {
		p.log.Debug("the host does not hold sockets for plugins", "error", err)
	}
	// Signals are received and dropped, not ignored: child processes of the plugin would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT)
	stdlog.SetFlags(0)
	stdlog.SetOutput(standardLog{p.log})

	served := make(chan error, 1)
	go func() { served <- p.serveHost() }()
	parent := time.NewTicker(parentPoll)
	defer parent.Stop()
	for host := os.Getppid(); ; {
		select {
		case err := <-served:
			if err != nil {
				p.log.Error("cannot serve the host", "error", err)
				return 1
			}
			return 0
		case err := <-p.Failed():
			p.log.Error("plugin failed", "error", err)
			return 1
		case <-parent.C:
			if os.Getppid() != host {
				return 1
			}
		}
	}
}
