package config

import (
	"net"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Admin configures the HTTP interface for programs.
type Admin struct {
	Listen string   // host:port, of which the host may be empty; empty (default): there is no such interface
	Token  string   // what programs must present; ASCII without spaces, at least [minToken] bytes
	Hosts  []string // further host names that requests may be for, in lower case; none by default
}

// minToken is what a random token has at least, in bytes: it cannot be guessed.
const minToken = 16

func (a *Admin) block() block {
	return block{path: "admin", needs: []string{"listen", "token"}, attrs: []attr{
		{"listen", listenAddress(&a.Listen)},
		{"token", accessToken(&a.Token)},
		{"hosts", everyOne(&a.Hosts, value.hostName)},
	}}
}

// listenAddress stores an address to listen at.
func listenAddress(to *string) setter {
	return func(v value) {
		s, ok := v.filled()
		if !ok {
			return
		}
		_, port, err := net.SplitHostPort(s)
		n, notANumber := strconv.ParseUint(port, 10, 16)
		if err != nil || notANumber != nil || n == 0 {
			v.refuse(`must be an address with a port, such as "127.0.0.1:8765"`)
			return
		}
		*to = s
	}
}

// hostNames matches the names of hosts.
var hostNames = lazyregexp.New(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// hostName returns the name of a host in lower case.
func (v value) hostName() (string, bool) {
	s, ok := v.filled()
	if ok && !hostNames().MatchString(s) {
		v.refuse(`must be the name of a host without a port, such as "claw.example.com"`)
		return "", false
	}
	return strings.ToLower(s), ok
}

// accessToken stores a secret that programs present. Errors do not contain it.
func accessToken(to *string) setter {
	return func(v value) {
		s, ok := v.filled()
		switch {
		case !ok:
		case len(s) < minToken || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
			v.refuse("must have at least %d ASCII characters without spaces, such as what `openssl rand -hex 32` prints", minToken)
		default:
			*to = s
		}
	}
}

// exposed reports whether an address to listen at can be reached from other machines.
func exposed(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback())
}
