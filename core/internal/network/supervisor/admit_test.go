package supervisor

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/time/rate"
)

// Connections of another user are looked at up to a bound, those of the host's user always. The test is not parallel: a child of
// another test holds the connection too until it executes its program.
func TestOtherUsersAreLookedAtSoOftenOnly(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	theirs, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	local, remote := conn.LocalAddr().(*net.TCPAddr).AddrPort(), conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	if err := newSockets(&pids{}).Admit(local, remote); err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip(err) // the system does not say whose a connection is
	}
	other := newSockets(&pids{})
	other.user, other.others = os.Geteuid()+1, rate.NewLimiter(0, 1)
	if err := other.Admit(local, remote); err != nil {
		t.Errorf("a connection of another user: %v", err)
	}
	if err := other.Admit(local, remote); err == nil || !strings.Contains(err.Error(), "connect too often") {
		t.Errorf("one too many: %v", err)
	}
	for name, user := range map[string]int{"the host's user": os.Geteuid(), "any user under root": 0} {
		own := newSockets(&pids{})
		own.user, own.others = user, rate.NewLimiter(0, 0)
		if err := own.Admit(local, remote); err != nil {
			t.Errorf("a connection of %s: %v", name, err)
		}
	}
}
