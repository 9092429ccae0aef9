package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// maxSockets limits the addresses on which a plugin may listen.
const maxSockets = 8

// sockets are a plugin's listening sockets. They stay open across its processes, so that connections wait during a restart
// and no other program can take the address.
type sockets struct {
	plugins *pids // processes of all instances, which are not the agent's
	user    int   // the host's

	others *rate.Limiter // limits checks for connections of other users

	mu   sync.Mutex
	held map[string]int // descriptors, by requested network and address
}

// newSockets returns the sockets of a plugin, initially none.
func newSockets(plugins *pids) *sockets {
	return &sockets{plugins: plugins, user: os.Geteuid(), others: rate.NewLimiter(looksPerSecond, maxLooks)}
}

// Listen returns the socket for an address.
func (s *sockets) Listen(network, address string) (int, error) {
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return -1, fmt.Errorf("the host listens for TCP, not for %q", network)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := network + " " + address
	if fd, ok := s.held[name]; ok {
		return fd, nil
	}
	if len(s.held) == maxSockets {
		return -1, fmt.Errorf("the host listens at %d addresses for a plugin at most", maxSockets)
	}
	fd, err := listen(network, address)
	if err != nil {
		return -1, err
	}
	if s.held == nil {
		s.held = map[string]int{}
	}
	s.held[name] = fd
	return fd, nil
}

// listen returns the plain descriptor of a new socket, which the Go runtime does not poll.
func listen(network, address string) (fd int, err error) {
	listener, err := process.Listen(context.Background(), network, address) // plugins ask for sockets without one
	if err != nil {
		return -1, err
	}
	defer listener.Close()
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		return -1, err
	}
	var failed error
	err = raw.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, syscall.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		return -1, fmt.Errorf("hold the socket: %w", err)
	}
	return fd, nil
}

// Admit returns an error if the agent, or what it has started, may be at the remote end of a connection on this machine.
//
// A check takes milliseconds. So that other users cannot delay the host's user, the rate of checks for their connections is
// limited. Under root, whose tools may run as any user, no process counts as another user's.
func (s *sockets) Admit(local, remote netip.AddrPort) error {
	user, err := process.ConnectionUser(remote, local)
	if err != nil {
		return fmt.Errorf("the owner of the connection is unknown: %w", err)
	}
	if s.user != 0 && user != s.user && !s.others.Allow() {
		return fmt.Errorf("other users of this machine, such as %d, connect too often", user)
	}
	below, err := process.HoldBelow(remote, local, s.plugins.all())
	if err != nil {
		return fmt.Errorf("the peer of the connection is unknown: %w", err)
	}
	if below {
		return errors.New("the connection comes from the agent or its processes")
	}
	return nil
}

// close closes all sockets.
func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fd := range s.held {
		_ = unix.Close(fd) // nothing to flush on a listening socket
	}
	s.held = nil
}

const (
	// looksPerSecond is the long-term rate of checks for connections of other users, and maxLooks the burst.
	looksPerSecond = 10
	maxLooks       = 50
)

// pids are the pids of the plugins' processes.
type pids struct {
	mu   sync.Mutex
	live map[int]bool
}

func (p *pids) add(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil {
		p.live = map[int]bool{}
	}
	p.live[pid] = true
}

func (p *pids) remove(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, pid)
}

func (p *pids) all() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []int
	for pid := range p.live {
		all = append(all, pid)
	}
	return all
}
