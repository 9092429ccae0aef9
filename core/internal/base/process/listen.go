package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Listen listens on a TCP address as [net.ListenConfig] does. The error for an address in use is an [InUse].
func Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	failed, ok := errors.AsType[*net.OpError](err)
	if !ok {
		return l, err
	}
	if at, ok := failed.Addr.(*net.TCPAddr); ok && errors.Is(err, syscall.EADDRINUSE) {
		pid, name := listener(at.AddrPort())
		return nil, &InUse{PID: pid, Name: name}
	}
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		return nil, cause // without the address, which the caller knows
	}
	return nil, failed.Err
}

// InUse says that an address is in use, and by which process, as far as that is known.
type InUse struct {
	PID  int    // zero: unknown
	Name string // of the program
}

// Error names the process.
func (u *InUse) Error() string {
	switch u.PID {
	case 0:
		return syscall.EADDRINUSE.Error()
	case os.Getpid():
		return syscall.EADDRINUSE.Error() + ", by this host itself"
	}
	return fmt.Sprintf("%s, by %s (process %d)", syscall.EADDRINUSE, u.Name, u.PID)
}

// Unwrap returns the system's error.
func (u *InUse) Unwrap() error { return syscall.EADDRINUSE }
