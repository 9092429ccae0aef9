package admin

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peer is the process at the other end of a connection.
type peer struct {
	pid    int
	handle *os.File // of this process, not a later one with the same pid; nil: Linux before 6.5
}

// peerOf returns the process that opened a connection, and an error if it is another user's or gone.
func peerOf(conn net.Conn) (peer, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return peer{}, errors.New("no unix socket")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return peer{}, fmt.Errorf("look at the peer: %w", err)
	}
	var cred *unix.Ucred
	var handle int
	var noCred, noHandle error
	if err := raw.Control(func(fd uintptr) {
		cred, noCred = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		handle, noHandle = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	}); err != nil {
		return peer{}, fmt.Errorf("look at the peer: %w", err)
	}
	if noCred != nil {
		return peer{}, fmt.Errorf("look at the peer: %w", noCred)
	}
	p := peer{pid: int(cred.Pid)}
	if noHandle == nil {
		p.handle = os.NewFile(uintptr(handle), "peer")
	} else if !errors.Is(noHandle, unix.ENOPROTOOPT) {
		return p, fmt.Errorf("look at the peer: it is gone: %w", noHandle)
	}
	if int(cred.Uid) != os.Getuid() {
		p.close()
		return p, errors.New("another user's process")
	}
	return p, nil
}

// gone reports whether the process has ended: its pid may belong to another one.
func (p peer) gone() bool {
	return p.handle != nil && unix.PidfdSendSignal(int(p.handle.Fd()), 0, nil, 0) != nil
}

func (p peer) close() { _ = p.handle.Close() }
