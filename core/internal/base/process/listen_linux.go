package process

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listening is the state of a listening socket in the kernel's tables.
const listening = "0A"

// listener returns the process that listens at an address, or at all addresses with its port; zero: it is unknown.
func listener(at netip.AddrPort) (pid int, name string) {
	var inodes []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		inodes = append(inodes, listeners(table, at)...)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, ""
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		for _, inode := range inodes {
			if holds, _ := holds(pid, inode); holds {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
				return pid, strings.TrimSpace(string(name))
			}
		}
	}
	return 0, ""
}

// listeners returns the inodes of the sockets in a table that keep others from listening at an address.
func listeners(table string, at netip.AddrPort) (inodes []string) {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	six := strings.HasSuffix(table, "6")
	any4, any6 := netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()), netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
	taken := []string{inTable(at, six), inTable(any4, six), inTable(any6, six)}
	everywhere := !at.Addr().IsValid() || at.Addr().Unmap().IsUnspecified()
	port := fmt.Sprintf(":%04X", at.Port())
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		if slices.Contains(taken, fields[1]) || everywhere && strings.HasSuffix(fields[1], port) {
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
}
