//go:build unix

package handshake

import (
	"errors"
	"os"
	"syscall"
)

// NewPair returns the host's end of a line, and the file that becomes the plugin's standard input.
func NewPair() (host *Line, plugin *os.File, err error) {
	syscall.ForkLock.RLock() // so that no other child inherits them
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	plugin = os.NewFile(uintptr(ends[1]), "line")
	own := os.NewFile(uintptr(ends[0]), "line")
	defer own.Close()
	if host, err = NewLine(own); err != nil {
		return nil, nil, errors.Join(err, plugin.Close())
	}
	return host, plugin, nil
}

// rights returns the control message that carries a descriptor.
func rights(fd int) []byte {
	if fd < 0 {
		return nil
	}
	return syscall.UnixRights(fd)
}

// read reads the available bytes, and the descriptor that came with them. A descriptor that is not wanted is not received.
func (l *Line) read(b []byte, wantsFile bool) (int, *os.File, error) {
	var oob []byte
	if wantsFile {
		oob = make([]byte, syscall.CmsgSpace(4))
	}
	n, oobn, _, _, err := l.conn.ReadMsgUnix(b, oob)
	if err != nil || oobn == 0 {
		return n, nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return n, nil, err
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return n, nil, err
	}
	return n, os.NewFile(uintptr(fds[0]), "listener"), nil
}
