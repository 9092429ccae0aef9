package postgrestest

import (
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	maxConnections = 500 // through a proxy, counted at both ends
	pieceBytes     = 32 << 10
)

// Proxy is the network between a test and a server, which can fail. Its methods are safe for concurrent use.
type Proxy struct {
	server   *Server
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	weather weather
	ends    map[net.Conn]struct{} // open connections, at both ends
}

// weather is what the network does with what it gets. The zero value passes it on.
type weather struct {
	cut, hole bool
	delay     time.Duration
	changed   chan struct{} // closed when there is another one
}

// NewProxy returns a network that works, until the test ends.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &Proxy{server: s, listener: listener, ends: map[net.Conn]struct{}{}, weather: weather{changed: make(chan struct{})}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// DSN returns the DSN of the same database through the proxy.
func (p *Proxy) DSN(of string) string { return p.server.tcp(of, p.listener.Addr().(*net.TCPAddr).Port) }

// Cut resets all connections, and resets new ones at once.
func (p *Proxy) Cut() {
	p.become(weather{cut: true})
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.ends {
		reset(conn)
	}
}

// BlackHole accepts connections and passes nothing on, in neither direction, not even that a connection was closed.
func (p *Proxy) BlackHole() { p.become(weather{hole: true}) }

// Delay passes on each piece of data later, in both directions.
func (p *Proxy) Delay(by time.Duration) { p.become(weather{delay: by}) }

// Heal passes everything on again, also what a black hole has held back.
func (p *Proxy) Heal() { p.become(weather{}) }

func (p *Proxy) become(w weather) {
	w.changed = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.weather.changed)
	p.weather = w
}

// ready waits until something may be passed on, and reports whether it may: not, if the network is cut.
func (p *Proxy) ready() bool {
	for {
		p.mu.Lock()
		now := p.weather
		p.mu.Unlock()
		switch {
		case now.cut:
			return false
		case now.hole:
			<-now.changed
		case now.delay > 0:
			select {
			case <-time.After(now.delay):
				return true
			case <-now.changed:
			}
		default:
			return true
		}
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the test ends
		}
		if p.open(client) {
			p.running.Go(func() { p.serve(client) })
		}
	}
}

// open takes note of a connection, or resets it.
func (p *Proxy) open(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.weather.cut || len(p.ends) >= maxConnections {
		reset(conn)
		return false
	}
	p.ends[conn] = struct{}{}
	return true
}

func (p *Proxy) close(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ends, conn)
	_ = conn.Close()
}

func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// serve connects a client with the server, until one of them ends.
func (p *Proxy) serve(client net.Conn) {
	defer p.close(client)
	if !p.ready() {
		return
	}
	server, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.server.port)), patience)
	if err != nil || !p.open(server) {
		return
	}
	p.running.Go(func() { p.pass(server, client) })
	p.pass(client, server)
}

// pass passes on what comes, and closes both when the connection ends.
func (p *Proxy) pass(from, to net.Conn) {
	piece := make([]byte, pieceBytes)
	for {
		n, err := from.Read(piece)
		if !p.ready() {
			break
		}
		if _, failed := to.Write(piece[:n]); err != nil || failed != nil {
			break
		}
	}
	p.close(from)
	p.close(to)
}
