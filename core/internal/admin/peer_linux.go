package admin

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peer returns the process at the other end of a connection, and an error for another user's.
func peer(conn net.Conn) (int, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("no unix socket")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("look at the peer: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, fmt.Errorf("look at the peer: %w", err)
	}
	if credErr != nil {
		return 0, fmt.Errorf("look at the peer: %w", credErr)
	}
	if int(cred.Uid) != os.Getuid() {
		return int(cred.Pid), errors.New("another user's process")
	}
	return int(cred.Pid), nil
}
