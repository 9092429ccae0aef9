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

// HoldBelow reports whether a TCP connection of this machine is held, at its end local, by a descendant of this process that is
// none of others, or may be.
//
// A descendant that cannot be looked at counts as a holder where nobody else is found. Of connections that nobody holds who
// can be looked at, those of this user count as held by a process that cannot be looked at, such as an ssh server's, if there is
// one; else as held by a descendant, which may have put the socket where nobody sees it.
func HoldBelow(local, remote netip.AddrPort, others []int) (bool, error) {
	const looks = 3 // a holder that starts another one may be overlooked once
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

// ConnectionUser returns the user id of whoever made the end of a TCP connection of this machine whose own address is local.
func ConnectionUser(local, remote netip.AddrPort) (int, error) {
	held, err := socketOf(local, remote)
	return held.uid, err
}

// holders are where the processes are that have a socket, and those of its user that cannot be looked at.
type holders struct{ below, outside, hiddenBelow, hiddenOutside bool }

func find(held socket, others []int) (found holders, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return found, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // no process
		}
		holds, hidden := holds(pid, held.inode)
		other := slices.Contains(others, pid)
		if !holds && (!hidden || other || !runsAs(pid, held.uid)) {
			continue
		}
		below, err := Below(pid, os.Getpid())
		switch {
		case err != nil: // it has ended, or nobody can tell
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
	uid   int // of who made it
}

// socketOf finds the end of a connection whose own address is local.
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
			return socket{}, errNoSocket // closed: the kernel sends what is left
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

// inTable writes an address as the kernel's tables do: in words of the machine's own byte order. In the table of IPv6 those of
// IPv4 stand as mapped ones.
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

// runsAs reports whether a process, of which not more may be known, is alive and has a user's id.
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
