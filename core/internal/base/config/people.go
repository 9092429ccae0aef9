package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/access"
)

// refuseChannel reports a channel that does not exist.
func (v value) refuseChannel(channel string) {
	v.d.report(v.at(), "Unknown channel", fmt.Sprintf("%s names %q, and no plugin block has this label.%s",
		v.name, channel, suggestion(channel, v.d.channels)))
}

// person parses a user, written channel:user.
func (v value) person() (string, bool) {
	s, ok := v.text()
	if !ok {
		return "", false
	}
	channel, user, found := strings.Cut(s, ":")
	switch {
	case user == "*", s == "*":
		v.refuse(`names people one by one; dm and groups have "open" for everybody`)
	case !found || channel == "" || strings.TrimSpace(user) == "":
		v.refuse(`must name people as "channel:user", such as "telegram:123"`)
	case strings.HasPrefix(user, access.GroupPrefix):
		v.refuse("names people one by one, not groups")
	case !slices.Contains(v.d.channels, channel):
		v.refuseChannel(channel)
	default:
		return s, true
	}
	return "", false
}

// commandUser parses who may use commands: a user, a group as channel:group:id, or everybody.
func (v value) commandUser() (string, bool) {
	s, ok := v.text()
	if !ok || s == access.Everybody {
		return s, ok
	}
	channel, group, _ := strings.Cut(s, ":")
	id, isGroup := strings.CutPrefix(group, access.GroupPrefix)
	switch {
	case group == "*":
		v.refuse(`has "*" for everybody who may write, on any channel`)
	case !isGroup:
		return v.person()
	case strings.TrimSpace(id) == "":
		v.refuse(`must name groups as "channel:group:id", such as "telegram:group:-100123"`)
	case !slices.Contains(v.d.channels, channel):
		v.refuseChannel(channel)
	default:
		return s, true
	}
	return "", false
}

func people(to *[]string) setter { return everyOne(to, value.person) }

func commandUsers(to *[]string) setter { return everyOne(to, value.commandUser) }

// everyOne stores the elements of a list, as parse returns them.
func everyOne(to *[]string, parse func(value) (string, bool)) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			if s, ok := parse(e); ok {
				list = append(list, s)
			}
		}
		*to = list
	}
}

// identities stores people with their users.
func identities(to *map[string][]string) setter {
	return func(v value) {
		names, ok := v.object()
		if !ok {
			return
		}
		links, taken := map[string][]string{}, map[string]string{}
		for _, name := range names {
			if !identityName(name.key()) {
				name.refuse("contains a name that is not 1 to 64 letters, digits, - and _")
				continue
			}
			users, _ := name.list()
			for _, u := range users {
				s, ok := u.person()
				if !ok {
					continue
				}
				if other, twice := taken[s]; twice {
					u.refuse("names %s for %s already", s, other)
					continue
				}
				taken[s] = name.key()
				links[name.key()] = append(links[name.key()], s)
			}
		}
		*to = links
	}
}
