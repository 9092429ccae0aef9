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

// Address is one at which the host or a plugin will listen.
type Address struct {
	Who    string // such as admin.listen, or plugin "webchat"
	Listen string // as in the file

	host, port string
	at         config.Problem // its place
}

// Problem returns a problem at the address's place in the file.
func (a Address) Problem(summary, detail string) config.Problem {
	p := a.at
	p.Summary, p.Detail = summary, detail
	return p
}

// ofHost returns the address of the HTTP interface, if there is one.
func ofHost(c *config.Config) []Address {
	return newAddress("admin.listen", c.Admin.Listen, c.Place("admin.listen", "", ""))
}

// ofPlugin returns the address in a plugin's config, if there is one.
func ofPlugin(p *config.Plugin, own []byte) []Address {
	var has map[string]any
	if len(own) == 0 || json.Unmarshal(own, &has) != nil {
		return nil
	}
	listen, _ := has[listenArgument].(string)
	return newAddress(fmt.Sprintf("plugin %q", p.Label), listen, p.Place([]string{listenArgument}, "", ""))
}

func newAddress(who, listen string, at config.Problem) []Address {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return nil
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return []Address{{who, listen, host, port, at}}
}

// everywhere reports whether it is an address of every interface.
func (a Address) everywhere() bool {
	ip := net.ParseIP(a.host)
	return a.host == "" || ip != nil && ip.IsUnspecified()
}

// usedTwice returns a problem for each address that another one before it in the file takes.
func usedTwice(list []Address) (found config.Problems) {
	slices.SortStableFunc(list, func(a, b Address) int { return cmp.Compare(a.at.Line, b.at.Line) })
	for i, a := range list {
		other := slices.IndexFunc(list[:i], func(b Address) bool {
			return a.port == b.port && (a.host == b.host || a.everywhere() || b.everywhere())
		})
		if other >= 0 {
			found = append(found, a.Problem("Address used twice", fmt.Sprintf("%s listens at port %s, and %s in line %d does, too. "+
				"Choose another port for one of them.", a.Who, a.port, list[other].Who, list[other].at.Line)))
		}
	}
	return found
}
