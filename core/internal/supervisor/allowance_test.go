package supervisor

import (
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Connections of another user are looked at up to a bound, those of the host's user always.
func TestOtherUsersAreLookedAtSoOftenOnly(t *testing.T) {
	t.Parallel()
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
		t.Skip(err) // nobody can tell here
	}
	other := newSockets(&pids{})
	other.user = os.Geteuid() + 1
	if err := other.Admit(local, remote); err != nil {
		t.Errorf("a connection of another user: %v", err)
	}
	const farTooMany = 1e9
	other.others.used = farTooMany
	if err := other.Admit(local, remote); err == nil || !strings.Contains(err.Error(), "connect too often") {
		t.Errorf("one too many: %v", err)
	}
	for name, user := range map[string]int{"the host's user": os.Geteuid(), "any user under root": 0} {
		own := newSockets(&pids{})
		own.user, own.others.used, own.others.at = user, farTooMany, time.Now()
		if err := own.Admit(local, remote); err != nil {
			t.Errorf("a connection of %s: %v", name, err)
		}
	}
}

func TestAllowance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a allowance
		const seconds = 100
		taken := 0
		for range seconds * 1000 {
			if a.take() {
				taken++
			}
			time.Sleep(time.Millisecond)
		}
		if most := seconds*looksASecond + maxLooks; taken > most || taken < most-looksASecond {
			t.Errorf("%d of a flood of %d seconds, want %d", taken, seconds, most)
		}
	})
}
