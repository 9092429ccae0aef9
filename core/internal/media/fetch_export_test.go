package media

import (
	"context"
	"net"
	"net/netip"
)

// Fetch fetches a file by names of a resolver, at a port of the test. Beside the public addresses, besides may be connected to.
func Fetch(ctx context.Context, names *net.Resolver, port string, besides netip.Addr, address string) error {
	g := newGuard()
	g.resolver, g.ports, g.besides = names, append(g.ports, port), []netip.Addr{besides}
	file, err := newFetcher(g).get(ctx, address)
	if err != nil {
		return err
	}
	return file.Close()
}
