// Package web fetches what other people name from the public web, and from nowhere else: files, and the text of pages.
package web

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

const (
	// maxURL limits an address that is fetched, in bytes.
	maxURL = 2048
	// lookupTime limits resolving a name.
	lookupTime = 5 * time.Second
)

// special are networks within the public ranges that are not reachable in public, or lead elsewhere: carrier networks, test
// networks, reserved ones, and those that embed an IPv4 address.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// global is the public range of IPv6.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// public reports whether an address is on the public internet, as opposed to this machine or its networks.
func public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !global.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Guard restricts fetching to the public web.
type Guard struct {
	Resolver Resolver
	Ports    []string     // as in addresses; empty: the usual one of the scheme
	Besides  []netip.Addr // addresses that count as public
}

// Resolver finds the addresses of hosts; network is "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// allowed reports whether files may be fetched from an address.
func (g Guard) allowed(a netip.Addr) bool { return public(a) || slices.Contains(g.Besides, a) }

// NewGuard returns the guard of the public web, with the system's resolver.
func NewGuard() Guard {
	return Guard{Resolver: net.DefaultResolver, Ports: []string{"", "80", "443"}}
}

// form checks an address without resolving it.
func (g Guard) form(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, wording.AddressNotWeb
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return nil, wording.AddressNotWeb
	}
	switch {
	case u.User != nil:
		return nil, wording.AddressLogin
	case !slices.Contains(g.Ports, u.Port()):
		return nil, wording.AddressPort
	}
	switch literal, err := netip.ParseAddr(u.Hostname()); {
	case err == nil && !g.allowed(literal):
		return nil, wording.AddressNotPublic
	case err != nil && strings.ContainsAny(u.Host, "[]{}"):
		return nil, wording.AddressNotWeb
	}
	return u, nil
}

// check also resolves the address's host: all its IP addresses must be public.
func (g Guard) check(ctx context.Context, text string) (*url.URL, error) {
	u, err := g.form(text)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return u, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := g.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(found) == 0 {
		return nil, wording.AddressUnresolved
	}
	if !slices.ContainsFunc(found, func(a netip.Addr) bool { return !g.allowed(a) }) {
		return u, nil
	}
	return nil, wording.AddressNotPublic
}

// dialled refuses a connection to a non-public IP address: a name may resolve differently than when it was checked. It is
// called with the actual IP address of the connection.
func (g Guard) dialled(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s: %w", address, wording.AddressNotPublic)
	}
	if !g.allowed(to.Addr()) {
		return wording.AddressNotPublic
	}
	return nil
}
