package supervisor_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a plugin listens at is held by the host: what comes while it is down waits for its next process, and no other process can take the
// address. It is free once the host ends.
func TestASocketOutlivesThePlugin(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "listen"))
	url := r.next(t, r.opened)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "listen http://"), "/")
	pid := r.status("listen").PID
	if got := ask(t, address); got != pid {
		t.Errorf("process %d answers, want %d", got, pid)
	}
	if detail := r.status("listen").Detail; detail != "taken: true" {
		t.Errorf("of an address that is taken the plugin says %q", detail)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(patience); !dead(pid); { // until then it may take a connection
		if time.Now().After(late) {
			t.Fatal("the process does not end")
		}
	}
	// In each moment from here on the address is served.
	if listener, err := net.Listen("tcp", address); err == nil {
		listener.Close()
		t.Error("another program can take the address")
	}
	if got := ask(t, address); got == pid || got == 0 {
		t.Errorf("after its end process %d answers, that of before was %d", got, pid)
	}
	r.await(t, "listen", pid)
	if again := r.next(t, r.opened); again != url {
		t.Errorf("the new process opens %s, want %s", again, url)
	}
	r.stop()
	// A process that another test starts may have inherited the socket, until it executes its program.
	for late := time.Now().Add(patience); ; {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		conn.Close()
		if time.Now().After(late) {
			t.Fatal("the address is held after the host's end")
		}
	}
}

// dead reports whether a process has ended, even if nobody has waited for it.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

// ask returns the pid of the process that answers at an address.
func ask(t *testing.T, address string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Error(err)
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Error(err)
	}
	return pid
}
