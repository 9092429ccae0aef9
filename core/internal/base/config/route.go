package config

import (
	"slices"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Route says which agent answers in the conversations that it fits. An empty field fits all. A message goes by the first route that
// fits.
type Route struct {
	Channel string // a plugin's label
	Kind    string // direct, group (with its threads), thread (of any chat)
	Chat    chat.ID
	Thread  chat.ThreadID
	User    string // as channel:user
	Agent   string // the agent's label
}

// Place is where a message was written, and by whom.
type Place struct {
	Address chat.Address
	Origin  chat.ID // the chat's first id, if it has moved; otherwise its id
	Kind    chat.Kind
	Person  []chat.UserID // all ids of the writer
}

// Fits reports whether the route applies to a place.
func (r Route) Fits(p Place) bool {
	in := p.Address
	switch {
	case r.Channel != "" && r.Channel != in.Channel,
		r.Kind == "direct" && p.Kind != chat.Direct,
		r.Kind == "group" && p.Kind == chat.Direct,
		r.Kind == "thread" && in.Thread == "",
		r.Chat != "" && r.Chat != in.Chat && r.Chat != p.Origin,
		r.Thread != "" && r.Thread != in.Thread:
		return false
	}
	return r.User == "" || slices.ContainsFunc(p.Person, func(id chat.UserID) bool { return r.User == in.Channel+":"+string(id) })
}

// routeBlock adds a route and returns its block.
func (c *Config) routeBlock() block {
	c.Routes = append(c.Routes, Route{})
	r := &c.Routes[len(c.Routes)-1]
	return block{
		path: "route",
		attrs: []attr{
			{"channel", channel(&r.Channel)},
			{"kind", oneOf(&r.Kind, "direct", "group", "thread")},
			{"chat", identifier(&r.Chat)},
			{"thread", identifier(&r.Thread)},
			{"user", person(&r.User)},
			{"agent", agentName(&r.Agent)},
		},
		needs: []string{"agent"},
	}
}

// identifier stores a network's id.
func identifier[T ~string](to *T) setter {
	return func(v value) {
		if s, ok := v.filled(); ok {
			*to = T(s)
		}
	}
}

func person(to *string) setter {
	return func(v value) {
		if s, ok := v.person(); ok {
			*to = s
		}
	}
}
