package process_test

import (
	"net"
	"net/netip"
	"os/exec"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// whoHolds accepts a connection and asks who is at its other end.
func whoHolds(t *testing.T, listener net.Listener, others ...int) (bool, error) {
	t.Helper()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return process.HoldBelow(addrOf(conn.RemoteAddr()), addrOf(conn.LocalAddr()), others)
}

func addrOf(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

func TestHoldBelow(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp4", "tcp6"} {
		listener, err := net.Listen(network, "localhost:0")
		if err != nil {
			t.Logf("%s: %v", network, err) // a machine without IPv6
			continue
		}
		defer listener.Close()
		host, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// Bash opens the connection itself; who holds it may be its child as well.
		start := func(script string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), "bash", "-c", "exec 3<>/dev/tcp/"+host+"/"+port+"; "+script)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // killed, or ended before
			})
			return cmd
		}
		for name, script := range map[string]string{
			"a child": "read line <&3", "another name": "exec -a sshd cat <&3", "a grandchild": "cat <&3 & exec 3<&-; wait", "a cleared environment": "exec env -i cat <&3",
		} {
			start(script)
			if below, err := whoHolds(t, listener); err != nil || !below {
				t.Errorf("%s, %s: %v, %v, want true", network, name, below, err)
			}
		}
		plugin := start("read line <&3")
		if below, err := whoHolds(t, listener, plugin.Process.Pid); err != nil || below {
			t.Errorf("%s, a process that is named: %v, %v, want false", network, below, err)
		}
		own, err := net.Dial(network, listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		if below, err := whoHolds(t, listener); err != nil || below {
			t.Errorf("%s, this process: %v, %v, want false", network, below, err)
		}
		gone := start("exec 3<&-; read line")
		if below, err := whoHolds(t, listener); err == nil && !below {
			t.Errorf("%s, a connection that %d has closed: %v, want true or an error", network, gone.Process.Pid, below)
		}
	}
}
