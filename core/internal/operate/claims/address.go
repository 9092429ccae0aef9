package claims

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// listenArgument is the name by which plugins call the address at which they listen.
const listenArgument = "listen"

// An address is one at which the host or a plugin will listen.
type address struct {
	who        string
	host, port string
	clash      func(detail string) config.Problem // at its place in the file
	line       int
}

// ofHost returns the address of the HTTP interface, if there is one.
func ofHost(c *config.Config) []address {
	return newAddress("admin.listen", c.Admin.Listen, func(detail string) config.Problem {
		return c.Place("admin.listen", "Address used twice", detail)
	})
}

// ofPlugin returns the address in a plugin's config, if there is one.
func ofPlugin(p *config.Plugin, own []byte) []address {
	var has map[string]any
	if len(own) == 0 || json.Unmarshal(own, &has) != nil {
		return nil
	}
	at, _ := has[listenArgument].(string)
	return newAddress(fmt.Sprintf("plugin %q", p.Label), at, func(detail string) config.Problem {
		return p.Place([]string{listenArgument}, "Address used twice", detail)
	})
}

func newAddress(who, at string, clash func(string) config.Problem) []address {
	host, port, err := net.SplitHostPort(at)
	if err != nil || port == "0" {
		return nil
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return []address{{who, host, port, clash, clash("").Line}}
}

// everywhere reports whether it is an address of every interface.
func (a address) everywhere() bool {
	ip := net.ParseIP(a.host)
	return a.host == "" || ip != nil && ip.IsUnspecified()
}

// usedTwice returns a problem for each address that another one before it in the file takes.
func usedTwice(list []address) (found config.Problems) {
	slices.SortStableFunc(list, func(a, b address) int { return cmp.Compare(a.line, b.line) })
	for i, a := range list {
		other := slices.IndexFunc(list[:i], func(b address) bool {
			return a.port == b.port && (a.host == b.host || a.everywhere() || b.everywhere())
		})
		if other >= 0 {
			found = append(found, a.clash(fmt.Sprintf("%s listens at port %s, and %s in line %d does, too. Choose another port for one of them.",
				a.who, a.port, list[other].who, list[other].line)))
		}
	}
	return found
}
