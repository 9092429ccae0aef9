package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// standing is what a connection has shown.
type standing int

const (
	stranger standing = iota // nothing yet
	program                  // the token
)

// most is how many connections there are of each standing.
var most = map[standing]int{stranger: 512, program: 64}

// maxProbes is how many requests for the host's health are answered at a time. The others wait their turn.
const maxProbes = 32

const (
	// strangerTime is how long a request without the token may take, and what is left of its body.
	strangerTime = 2 * time.Second
	// bodyTime is how long a program may take for the next bytes of a request's body.
	bodyTime = 30 * time.Second
	// writeTime is how long a client may take to read the next writeSize bytes of a response.
	writeTime = 30 * time.Second
	writeSize = 64 << 10
)

// visitors are the connections of a listener. Each begins as a stranger. If there are too many of one standing, a new one
// takes the place of the oldest that is not being answered: a stranger never waits for other strangers, nor a program for
// any of them.
type visitors struct {
	net.Listener
	probes chan struct{} // has a value for each probe that is being answered

	mu    sync.Mutex
	there []*visitor // oldest in their standing first; programs by their last request
}

func newVisitors(l net.Listener) *visitors {
	return &visitors{Listener: l, probes: make(chan struct{}, maxProbes)}
}

// visitor is a connection.
type visitor struct {
	net.Conn
	visitors *visitors

	// Guarded by the visitors' mutex.
	standing standing
	busy     bool // it is being answered, as a probe or a program
}

// Accept returns the next connection.
func (vs *visitors) Accept() (net.Conn, error) {
	conn, err := vs.Listener.Accept()
	if err != nil {
		return nil, err
	}
	v := &visitor{Conn: conn, visitors: vs}
	vs.place(v, stranger)
	return v, nil
}

// of returns the connection of a request, by the pointer to its address; nil for one that is closed.
func (vs *visitors) of(r *http.Request) *visitor {
	local := r.Context().Value(http.LocalAddrContextKey)
	vs.mu.Lock()
	defer vs.mu.Unlock()
	i := slices.IndexFunc(vs.there, func(v *visitor) bool { return v.LocalAddr() == local })
	if i < 0 {
		return nil
	}
	return vs.there[i]
}

// place gives a connection a standing. False: there are too many of it, and all are being answered.
func (vs *visitors) place(v *visitor, as standing) bool {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	count, oldest := 0, -1
	for i, other := range vs.there {
		if other == v || other.standing != as {
			continue
		}
		if count++; oldest < 0 && !other.busy {
			oldest = i
		}
	}
	if count >= most[as] {
		if oldest < 0 {
			return false
		}
		_ = vs.there[oldest].Conn.Close() // net/http then ends its work
		vs.there = slices.Delete(vs.there, oldest, oldest+1)
	}
	vs.remove(v)
	v.standing, v.busy = as, as == program
	vs.there = append(vs.there, v)
	return true
}

// answering notes whether a connection is being answered.
func (vs *visitors) answering(v *visitor, busy bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v.busy = busy
}

func (vs *visitors) remove(v *visitor) {
	vs.there = slices.DeleteFunc(vs.there, func(other *visitor) bool { return other == v })
}

// is reports whether the connection has the standing.
func (v *visitor) is(s standing) bool {
	v.visitors.mu.Lock()
	defer v.visitors.mu.Unlock()
	return v.standing == s
}

// Write implements net.Conn. It fails if the client does not read.
func (v *visitor) Write(b []byte) (n int, err error) {
	for {
		if err := v.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return n, err
		}
		written, err := v.Conn.Write(b[n:min(len(b), n+writeSize)])
		if n += written; err != nil || n == len(b) {
			return n, err
		}
	}
}

// CloseWrite lets net/http end a response before it closes the connection, so that the client can read it.
func (v *visitor) CloseWrite() error {
	if half, ok := v.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.visitors.mu.Lock()
	v.visitors.remove(v)
	v.visitors.mu.Unlock()
	return v.Conn.Close()
}

// addresses returns the ends of the connection; false: it is none of TCP.
func (v *visitor) addresses() (local, remote netip.AddrPort, ok bool) {
	l, isTCP := v.LocalAddr().(*net.TCPAddr)
	r, alsoTCP := v.RemoteAddr().(*net.TCPAddr)
	if !isTCP || !alsoTCP {
		return local, remote, false
	}
	return l.AddrPort(), r.AddrPort(), true
}
