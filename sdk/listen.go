package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/clawhost/clawhost/sdk/handshake"
)

// admitWithin is how long the host may take to look who is at the other end of a connection, which is refused then.
const admitWithin = 10 * time.Second

// Listen listens at a TCP address, such as ("tcp", "127.0.0.1:7080"). The host holds the socket: when the plugin's process
// ends, connections wait for the next one, and no other program can take the address meanwhile. Until the host ends, the same
// network and address are the same socket, also with port 0. At most eight are held for a plugin.
//
// Connections from this machine are taken only if they do not come from the agent or from what it has started: whoever tells
// people by a secret in a file, or trusts the whole machine, need not fear that the agent's tools speak for them. This takes Linux.
//
// Without a host, as in a test, or with one that does not offer this, the socket is the process's own, and all connections are
// taken. The error of an address that is taken is [syscall.EADDRINUSE] in each case.
func (e Env) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if e.line == nil {
		return new(net.ListenConfig).Listen(ctx, network, address)
	}
	held, err := e.line.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &listener{Listener: held, line: e.line, within: admitWithin, log: e.Log}, nil
}

// listener takes the connections that the host admits.
type listener struct {
	net.Listener

	line   *handshake.Line
	within time.Duration // for the host to look
	log    *slog.Logger
}

// Accept waits for the next connection that is admitted.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		err = l.admit(conn)
		if err == nil {
			return conn, nil
		}
		_ = conn.Close() // nothing was read of it, so its end says nothing either
		if _, refused := errors.AsType[*handshake.Refusal](err); !refused && !errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("ask the host who is at the other end of a connection: %w", err)
		}
		l.log.Warn("connection refused", "error", err)
	}
}

func (l *listener) admit(conn net.Conn) error {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	local, ok2 := conn.LocalAddr().(*net.TCPAddr)
	if !ok || !ok2 || !remote.IP.IsLoopback() && !remote.IP.Equal(local.IP) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.within)
	defer cancel()
	return l.line.Admit(ctx, local.AddrPort(), remote.AddrPort())
}
