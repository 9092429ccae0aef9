package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"slices"
)

// listenArgument is the name by which the host and plugins call the address at which they listen.
const listenArgument = "listen"

// CannotListen returns the problem of the address of the HTTP interface.
func (c *Config) CannotListen(err error) Problem {
	return c.Place("admin.listen", "Cannot listen",
		fmt.Sprintf("admin.listen: %s: %s. Stop what listens there, or choose another address.", c.Admin.Listen, err))
}

// UsedTwice returns a problem for each address at which the host or a plugin would listen, and another one before it in the file
// does. Configs are those of the plugins with their defaults, as [Plugin.Decode] returns them.
func (c *Config) UsedTwice(configs map[*Plugin][]byte) (found Problems) {
	const summary = "Address used twice"
	list := newAddress("admin.listen", c.Admin.Listen, c.Place("admin.listen", summary, ""))
	for _, p := range c.Plugins {
		var has map[string]any
		if json.Unmarshal(configs[p], &has) == nil {
			at, _ := has[listenArgument].(string)
			list = append(list, newAddress(fmt.Sprintf("plugin %q", p.Label), at, p.Place([]string{listenArgument}, summary, ""))...)
		}
	}
	slices.SortStableFunc(list, func(a, b address) int { return cmp.Compare(a.problem.Line, b.problem.Line) })
	for i, a := range list {
		if other := slices.IndexFunc(list[:i], a.overlaps); other >= 0 {
			a.problem.Detail = fmt.Sprintf("%s listens at port %s, and %s in line %d does, too. Choose another port for one of them.",
				a.who, a.port, list[other].who, list[other].problem.Line)
			found = append(found, a.problem)
		}
	}
	return found
}

// An address is one at which the host or a plugin will listen.
type address struct {
	who        string
	host, port string
	problem    Problem // at its place in the file
}

// newAddress returns an address, or none if the text is none or the system chooses its port.
func newAddress(who, text string, problem Problem) []address {
	host, port, err := net.SplitHostPort(text)
	if err != nil || port == "0" {
		return nil
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return []address{{who, host, port, problem}}
}

func (a address) overlaps(b address) bool {
	return a.port == b.port && (a.host == b.host || a.everywhere() || b.everywhere())
}

// everywhere reports whether it is an address of every interface.
func (a address) everywhere() bool {
	ip := net.ParseIP(a.host)
	return a.host == "" || ip != nil && ip.IsUnspecified()
}
