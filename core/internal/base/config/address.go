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

// Address is one at which the host or a plugin will listen.
type Address struct {
	Who    string // such as admin.listen, or plugin "webchat"
	Listen string // as it is in the file

	host, port string
	at         Problem // its place in the file
}

// CannotListen returns the problem of an address.
func (a Address) CannotListen(err error) Problem {
	return a.problem("Cannot listen", fmt.Sprintf("%s: %s: %s. Stop what listens there, or choose another address.", a.Who, a.Listen, err))
}

func (a Address) problem(summary, detail string) Problem {
	p := a.at
	p.Summary, p.Detail = summary, detail
	return p
}

// CannotListen returns the problem of the address of the HTTP interface.
func (c *Config) CannotListen(err error) Problem { return c.admin().CannotListen(err) }

func (c *Config) admin() Address {
	return Address{Who: "admin.listen", Listen: c.Admin.Listen, at: c.Place("admin.listen", "", "")}
}

// Addresses returns the addresses of the host and of its plugins, in the order of the file. Configs are those of the plugins with their
// defaults, as [Plugin.Decode] returns them.
func (c *Config) Addresses(configs map[*Plugin][]byte) []Address {
	list := c.admin().parsed()
	for _, p := range c.Plugins {
		var has map[string]any
		if json.Unmarshal(configs[p], &has) == nil {
			at, _ := has[listenArgument].(string)
			a := Address{Who: fmt.Sprintf("plugin %q", p.Label), Listen: at, at: p.Place([]string{listenArgument}, "", "")}
			list = append(list, a.parsed()...)
		}
	}
	slices.SortStableFunc(list, func(a, b Address) int { return cmp.Compare(a.at.Line, b.at.Line) })
	return list
}

// UsedTwice returns a problem for each address that another one before it takes.
func UsedTwice(list []Address) (found Problems) {
	for i, a := range list {
		if other := slices.IndexFunc(list[:i], a.overlaps); other >= 0 {
			found = append(found, a.problem("Address used twice", fmt.Sprintf("%s listens at port %s, and %s in line %d does, too. "+
				"Choose another port for one of them.", a.Who, a.port, list[other].Who, list[other].at.Line)))
		}
	}
	return found
}

// parsed returns the address with its parts, or none if the text is none or the system chooses its port.
func (a Address) parsed() []Address {
	host, port, err := net.SplitHostPort(a.Listen)
	if err != nil || port == "0" {
		return nil
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	a.host, a.port = host, port
	return []Address{a}
}

func (a Address) overlaps(b Address) bool {
	return a.port == b.port && (a.host == b.host || a.everywhere() || b.everywhere())
}

// everywhere reports whether it is an address of every interface.
func (a Address) everywhere() bool {
	ip := net.ParseIP(a.host)
	return a.host == "" || ip != nil && ip.IsUnspecified()
}
