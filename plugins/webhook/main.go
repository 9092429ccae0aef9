// Command clawhost-webhook starts turns of the agent from signed requests by HTTP, such as GitHub's webhooks.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// version is set at build time.
var version = "dev"

func main() { sdk.Serve("webhook", version, sdk.Service(open)) }

// open binds the address, if there is one.
func open(ctx context.Context, env sdk.Env, c config) (*server, error) {
	hooks, err := c.hooks()
	if err != nil {
		return nil, err
	}
	for _, h := range hooks {
		if err := reach(ctx, env.History, h); err != nil {
			return nil, err
		}
	}
	if c.Listen == "" && !env.ServesHTTP {
		return nil, sdk.ConfigError("listen", errors.New("is empty, and the block does not say serve_http = true, so that nothing would be received"))
	}
	if c.Listen == "" {
		return newServer(env, nil, c.MaxBody, hooks), nil
	}
	listener, err := listen(ctx, env, c.Listen)
	if err != nil {
		return nil, sdk.ConfigError("listen", err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		env.Log.Warn("webhooks are received in plain HTTP from other machines; a proxy with TLS protects what is sent",
			"address", listener.Addr().String())
	}
	return newServer(env, listener, c.MaxBody, hooks), nil
}

// listenTime limits the wait for an address that a killed host's plugin still holds.
const listenTime = 2 * time.Second

// listen binds the address. Each request is authenticated by its signature, and all may come from one proxy, which is another user.
func listen(ctx context.Context, env sdk.Env, address string) (net.Listener, error) {
	late := time.After(listenTime)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		listener, err := env.ListenUnchecked(ctx, "tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
		select {
		case <-again.C:
		case <-late:
			return nil, fmt.Errorf("%w: stop what listens there, or set listen to another port", err)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reach checks that the plugin may run turns in the chat of a hook. Other errors may pass; each delivery meets them again.
func reach(ctx context.Context, history sdk.History, h *hook) error {
	if _, err := history.Read(ctx, h.to, h.kind, 1, 0); errors.Is(err, sdk.ErrNotGranted) {
		return sdk.ConfigError("hooks."+h.name+".to",
			fmt.Errorf("the plugin may not run turns in this channel: add grants = [%q] to its block", h.to.Channel))
	}
	return nil
}
