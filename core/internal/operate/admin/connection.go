package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Limits of the connections to the HTTP interface.
const (
	maxUnauthenticated = 512 // connections that have not sent the token
	maxAuthenticated   = 64  // connections that have sent it
	maxProbes          = 32  // concurrent answers to /livez, /healthz and /readyz; further requests wait
)

const (
	// unauthenticatedTime is how long a request without the token may take, including the rest of its body.
	unauthenticatedTime = 2 * time.Second
	// bodyTime is how long a program may take to send the next bytes of a request's body.
	bodyTime = 30 * time.Second
	// writeTime is how long a client may take to read the next writeSize bytes of a response.
	writeTime = 30 * time.Second
	writeSize = 64 << 10
)

// connections is a listener that limits its open connections, separately for those that have sent the token and those that
// have not. When there are too many of a kind, a new one replaces the oldest that is not busy. So connections without the
// token keep out neither one another nor programs.
type connections struct {
	net.Listener
	probes chan struct{} // has a value for each probe that is being answered

	mu   sync.Mutex
	open []*connection // in the order in which they were accepted, or last authenticated
}

func newConnections(l net.Listener) *connections {
	return &connections{Listener: l, probes: make(chan struct{}, maxProbes)}
}

// connection is one of the [connections].
type connection struct {
	net.Conn
	all *connections

	// Guarded by the mutex of all.
	authenticated bool // it has sent the token
	busy          bool // a probe or an authenticated request is being answered; it is not replaced
}

// Accept returns the next connection.
func (cs *connections) Accept() (net.Conn, error) {
	conn, err := cs.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, all: cs}
	cs.admit(c, false, maxUnauthenticated)
	return c, nil
}

// of returns the connection of a request, which it finds by the pointer to its local address; nil for a request that came over
// none. It reports false if the connection is closed.
func (cs *connections) of(r *http.Request) (c *connection, open bool) {
	local := r.Context().Value(http.LocalAddrContextKey)
	if local == nil {
		return nil, true
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	i := slices.IndexFunc(cs.open, func(c *connection) bool { return c.LocalAddr() == local })
	if i < 0 {
		return nil, false
	}
	return cs.open[i], true
}

// authenticate records that a connection has sent the token and that its request is being answered. It reports false if
// the limit is reached and every authenticated connection is busy.
func (cs *connections) authenticate(c *connection) bool { return cs.admit(c, true, maxAuthenticated) }

// admit makes a connection the newest of its kind. If there are as many others as the limit, it closes the oldest of them that
// is not busy, or reports false if all are.
func (cs *connections) admit(c *connection, authenticated bool, limit int) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	count, oldest := 0, -1
	for i, other := range cs.open {
		if other == c || other.authenticated != authenticated {
			continue
		}
		if count++; oldest < 0 && !other.busy {
			oldest = i
		}
	}
	if count >= limit {
		if oldest < 0 {
			return false
		}
		_ = cs.open[oldest].Conn.Close() // net/http then ends its work
		cs.open = slices.Delete(cs.open, oldest, oldest+1)
	}
	cs.remove(c)
	c.authenticated, c.busy = authenticated, authenticated
	cs.open = append(cs.open, c)
	return true
}

// setBusy records whether a request of the connection is being answered.
func (cs *connections) setBusy(c *connection, busy bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.busy = busy
}

// remove forgets a connection. The caller holds the lock.
func (cs *connections) remove(c *connection) {
	cs.open = slices.DeleteFunc(cs.open, func(other *connection) bool { return other == c })
}

// isAuthenticated reports whether the connection has sent the token before.
func (c *connection) isAuthenticated() bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	return c.authenticated
}

// Write implements [net.Conn]. It fails if the client does not read.
func (c *connection) Write(b []byte) (n int, err error) {
	for {
		if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return n, err
		}
		written, err := c.Conn.Write(b[n:min(len(b), n+writeSize)])
		if n += written; err != nil || n == len(b) {
			return n, err
		}
	}
}

// CloseWrite lets net/http end a response before it closes the connection, so that the client can read it.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.all.mu.Lock()
	c.all.remove(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// addresses returns both ends of a TCP connection; false: it is another kind of connection.
func (c *connection) addresses() (local, remote netip.AddrPort, ok bool) {
	l, isTCP := c.LocalAddr().(*net.TCPAddr)
	r, alsoTCP := c.RemoteAddr().(*net.TCPAddr)
	if !isTCP || !alsoTCP {
		return local, remote, false
	}
	return l.AddrPort(), r.AddrPort(), true
}
