package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// managed is the socket on which a script hears what a host tells its service manager.
type managed struct{}

// manage makes what the script starts a service of systemd, with a watchdog.
func manage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: manage")
	}
	dir, err := os.MkdirTemp("", "n") // the path of a socket must be short
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	address := &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", address)
	ts.Check(err)
	ts.Defer(func() { _ = socket.Close() })
	ts.Value(managed{}).(chan *net.UnixConn) <- socket
	ts.Setenv("NOTIFY_SOCKET", address.Name)
	ts.Setenv("WATCHDOG_USEC", "4000000")
}

// told PATTERN wants the next thing that the service manager is told to match. It skips what the watchdog is told and does not match.
func told(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: told PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	sockets := ts.Value(managed{}).(chan *net.UnixConn)
	socket := <-sockets
	defer func() { sockets <- socket }()
	ts.Check(socket.SetReadDeadline(time.Now().Add(patience)))
	alive := regexp.MustCompile("^WATCHDOG=1\n")
	for heard := make([]byte, 4096); ; {
		n, err := socket.Read(heard)
		ts.Check(err)
		switch {
		case pattern.Match(heard[:n]):
			return
		case !alive.Match(heard[:n]):
			ts.Fatalf("the service manager is told %q, which does not match %q", heard[:n], args[0])
		}
	}
}
