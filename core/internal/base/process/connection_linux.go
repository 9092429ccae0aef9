package process

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// HoldBelow reports whether the local end of a TCP connection on this machine is held, or may be held, by a descendant of
// this process that is not one of others.
//
// A descendant that cannot be inspected counts as a holder if no other holder is found. If no inspectable process holds a
// connection of this user, it counts as held by an uninspectable process outside, such as an ssh server, if there is one;
// otherwise as held by a descendant, which may have hidden the socket.
func HoldBelow(local, remote netip.AddrPort, others []int) (bool, error) {
	const looks = 3 // a holder that starts another one may be missed once
	var found holders
	var uid int
	for range looks {
		held, err := socketOf(local, remote)
		if err != nil {
			return false, err
		}
		uid = held.uid
		if found, err = find(held, others); err != nil {
			return false, err
		}
		if found.below || found.outside {
			return found.below, nil
		}
	}
	if found.hiddenBelow || found.hiddenOutside {
		return found.hiddenBelow, nil
	}
	return uid == os.Geteuid(), nil
}

// ConnectionUser returns the user id of the process that created the local end of a TCP connection on this machine.
func ConnectionUser(local, remote netip.AddrPort) (int, error) {
	held, err := socketOf(local, remote)
	return held.uid, err
}

// holders says where the processes with a socket are, and the processes of its user that cannot be inspected.
type holders struct{ below, outside, hiddenBelow, hiddenOutside bool }

func find(held socket, others []int) (found holders, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return found, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		holds, hidden := holds(pid, held.inode)
		other := slices.Contains(others, pid)
		if !holds && (!hidden || other || !runsAs(pid, held.uid)) {
			continue
		}
		below, err := Below(pid, os.Getpid())
		switch {
		case err != nil: // it has ended, or cannot be inspected
		case holds && below && !other:
			found.below = true
		case holds:
			found.outside = true
		case below:
			found.hiddenBelow = true
		default:
			found.hiddenOutside = true
		}
	}
	return found, nil
}

// socket is one end of a connection.
type socket struct {
	inode string
	uid   int // of its creator
}

// socketOf returns the local end of a connection.
func socketOf(local, remote netip.AddrPort) (socket, error) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		found, err := lookUp(table, local, remote)
		if !errors.Is(err, errNoSocket) {
			return found, err
		}
	}
	return socket{}, errNoSocket
}

var errNoSocket = errors.New("its socket is gone")

func lookUp(table string, local, remote netip.AddrPort) (socket, error) {
	f, err := os.Open(table)
	if errors.Is(err, fs.ErrNotExist) {
		return socket{}, errNoSocket // a kernel without IPv6
	}
	if err != nil {
		return socket{}, fmt.Errorf("list connections: %w", err)
	}
	defer f.Close()
	six := strings.HasSuffix(table, "6")
	own, other := inTable(local, six), inTable(remote, six)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[1] != own || fields[2] != other {
			continue
		}
		if fields[9] == "0" {
			return socket{}, errNoSocket // closed: the kernel sends the remaining data
		}
		uid, err := strconv.Atoi(fields[7])
		if err != nil {
			return socket{}, fmt.Errorf("list connections: %w", err)
		}
		return socket{inode: fields[9], uid: uid}, nil
	}
	if err := lines.Err(); err != nil {
		return socket{}, fmt.Errorf("list connections: %w", err)
	}
	return socket{}, errNoSocket
}

// inTable formats an address as in the kernel's tables: in words of the machine's byte order. The IPv6 table has IPv4
// addresses as mapped ones.
func inTable(a netip.AddrPort, six bool) string {
	var raw []byte
	if addr := a.Addr().Unmap(); six {
		sixteen := addr.As16()
		raw = sixteen[:]
	} else if addr.Is4() {
		four := addr.As4()
		raw = four[:]
	}
	var s strings.Builder
	for len(raw) > 0 {
		fmt.Fprintf(&s, "%08X", binary.NativeEndian.Uint32(raw))
		raw = raw[4:]
	}
	fmt.Fprintf(&s, ":%04X", a.Port())
	return s.String()
}

// holds reports whether a process has a socket, and whether that is hidden.
func holds(pid int, inode string) (holds, hidden bool) {
	path := fmt.Sprintf("/proc/%d/fd", pid)
	folder, err := os.Open(path)
	if err != nil {
		return false, errors.Is(err, fs.ErrPermission)
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return false, errors.Is(err, fs.ErrPermission)
	}
	want := "socket:[" + inode + "]"
	for _, name := range names {
		target, err := os.Readlink(path + "/" + name)
		if errors.Is(err, fs.ErrPermission) {
			return false, true
		}
		if target == want {
			return true, false
		}
	}
	return false, false
}

// runsAs reports whether a process, about which nothing else may be known, is alive and runs as a user.
func runsAs(pid, uid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	runs := false
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case name == "State" && len(fields) > 0 && (fields[0] == "Z" || fields[0] == "X"):
			return false
		case name == "Uid":
			runs = slices.Contains(fields, strconv.Itoa(uid))
		}
	}
	return runs
}
