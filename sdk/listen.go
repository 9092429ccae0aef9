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

// admitWithin limits the host's check of who is at the other end of a connection. After that the connection is refused.
const admitWithin = 10 * time.Second

// Listen listens on a TCP address, such as ("tcp", "127.0.0.1:7080"). The host holds the socket: when the plugin's process
// ends, connections wait for the next process, and no other program can take the address. Until the host ends, the same
// network and address give the same socket, even with port 0. The host holds at most eight sockets for a plugin.
//
// Connections from this machine are refused if they come from the agent or from a process that it started. So a plugin that
// identifies people by a secret in a file, or trusts the whole machine, is safe from the agent's tools. This requires
// Linux.
//
// Without a host, as in a test, or with one that does not offer this, the socket belongs to the plugin's process and all
// connections are accepted. In each case the error for an address in use is [syscall.EADDRINUSE].
func (e Env) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	held, err := e.ListenUnchecked(ctx, network, address)
	if err != nil || e.line == nil {
		return held, err
	}
	return &listener{Listener: held, line: e.line, within: admitWithin, log: e.Log}, nil
}

// ListenUnchecked listens as [Env.Listen] does, but accepts all connections, for a server that authenticates each request by
// itself. The check that it leaves out limits the connections of other users of this machine, such as a reverse proxy's.
func (e Env) ListenUnchecked(ctx context.Context, network, address string) (net.Listener, error) {
	if e.line == nil {
		return new(net.ListenConfig).Listen(ctx, network, address)
	}
	return e.line.Listen(ctx, network, address)
}

// listener accepts the connections that the host admits.
type listener struct {
	net.Listener

	line   *handshake.Line
	within time.Duration // limits the host's check
	log    *slog.Logger
}

// Accept waits for the next admitted connection.
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
		_ = conn.Close() // nothing was read from it, so its error does not matter
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
