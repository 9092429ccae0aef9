package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/sdk"
)

const defaultListen = "127.0.0.1:7080"

// checkListen takes only addresses that this machine alone can reach. Whoever holds the token is the host's owner, and
// plain HTTP would show it to the network.
func checkListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address such as %q", address, defaultListen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is no port", port)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return fmt.Errorf("%q is not a loopback address: the web chat serves this machine only; "+
			"from another one reach it by ssh -L", address)
	}
	return nil
}

// listen binds the address. A host that has just ended may hold it for a moment.
func listen(ctx context.Context, env sdk.Env, address string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var listener net.Listener
	err := insist(ctx, syscall.EADDRINUSE, func() (err error) {
		listener, err = env.Listen(ctx, "tcp", address)
		return err
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another program: stop it, or choose another port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return listener, nil
}

// insist calls try until its error is not the one that passes by itself, or ctx ends.
func insist(ctx context.Context, passing error, try func() error) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if !errors.Is(err, passing) {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

// lock takes the folder for this process. The host may start the plugin anew while a process of its predecessor is about
// to end; two must never write one journal. The lock goes with the process.
func lock(ctx context.Context, file uintptr) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := insist(ctx, unix.EWOULDBLOCK, func() error {
		return unix.Flock(int(file), unix.LOCK_EX|unix.LOCK_NB)
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errors.New("another web chat uses this state folder")
	}
	return err
}

// names returns the one value of the Host header that this listener's page has, and the name that leads there. The port of HTTP
// is left out, as browsers do.
func names(addr net.Addr) (authority, alias string) {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String(), ""
	}
	authority, alias = net.JoinHostPort(host, port), net.JoinHostPort("localhost", port)
	if port == "80" {
		authority, alias = strings.TrimSuffix(authority, ":80"), "localhost"
	}
	return authority, alias
}
