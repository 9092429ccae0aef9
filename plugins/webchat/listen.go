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

// checkListen accepts loopback addresses only. Anybody with the token is the host's owner, and plain HTTP would show it to
// the network.
func checkListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address such as %q", address, defaultListen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port", port)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return fmt.Errorf("%q is not a loopback address: the web chat serves this machine only; "+
			"from another one reach it by ssh -L", address)
	}
	return nil
}

// listen binds the address. A previous host may hold it for a moment.
func listen(ctx context.Context, env sdk.Env, address string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var listener net.Listener
	err := insist(ctx, syscall.EADDRINUSE, func() (err error) {
		listener, err = env.Listen(ctx, "tcp", address)
		return err
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: stop what listens there, or set listen to another port", err)
	}
	return listener, err
}

// insist retries while the error is the given temporary one and ctx is active.
func insist(ctx context.Context, passing error, try func() error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var passed error
	for {
		err := try()
		if passed != nil && errors.Is(err, context.DeadlineExceeded) {
			return passed // it says more
		}
		if !errors.Is(err, passing) {
			return err
		}
		passed = err
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

// lock locks the folder for this process. The host may start the plugin again while its previous process is still ending;
// two must never write one journal. The lock is released with the process.
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

// names returns the Host header of this listener's pages, and the name that redirects there. Like browsers, it omits port
// 80.
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
