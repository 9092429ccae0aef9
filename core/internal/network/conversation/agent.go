package conversation

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Several reports whether there is more than one agent.
func (r *Resolver) Several() bool { return len(r.Config().Agents) > 0 }

// Agents returns all agents, main first.
func (r *Resolver) Agents() []*config.Agent { return r.Config().AllAgents() }

// Agent returns the agent with a label, or nil.
func (r *Resolver) Agent(label string) *config.Agent { return r.Config().AgentNamed(label) }

// Caller returns the caller in a session, without a person. Its agent is that of the session; an agent that the config does not
// have any more has no workspace.
func (r *Resolver) Caller(key string, to chat.Address, kind chat.Kind) chat.Caller {
	c := chat.Caller{Session: key, Address: to, Kind: kind, Agent: session.AgentOf(key)}
	if a := r.Config().AgentNamed(c.Agent); a != nil {
		c.Workspace = a.Workspace
	}
	return c
}

// Routed returns the label of the agent that answers where nobody has chosen another one: by the first route that fits, else by the
// group's block, else main.
func (r *Resolver) Routed(to chat.Address, kind chat.Kind, person chat.Sender) string {
	c := r.Config()
	if len(c.Agents) == 0 {
		return session.MainAgent
	}
	place := config.Place{Address: to, Origin: r.chats.Origin(to.Channel, to.Chat), Kind: kind, Person: person.IDs()}
	for _, route := range c.Routes {
		if route.Fits(place) {
			return route.Agent
		}
	}
	if kind != chat.Direct {
		if g, _ := r.Group(to.Channel, to.Chat); g.Agent != "" {
			return g.Agent
		}
	}
	return session.MainAgent
}

// Chosen returns the agent that the argument of /agent chooses, or nil for the one that the conversation is routed to. False: it names
// none that the caller may choose.
func (r *Resolver) Chosen(name string, caller chat.Caller) (*config.Agent, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	a := r.Agent(name)
	if a != nil {
		return a, r.MayChoose(a, caller)
	}
	return nil, name == DefaultAgent && caller.Authority >= chat.Authorised
}

// Folders are those in which an agent may work.
func (r *Resolver) Folders(a *config.Agent) *folder.Folders { return r.folders.Get()[a.Label] }

// DefaultAgent is the name that chooses the agent that a conversation is routed to.
const DefaultAgent = "default"

// MayChoose reports whether a caller may choose an agent for the conversation that they write in. The agent that it is routed to
// may be chosen by everyone who may use commands there.
func (r *Resolver) MayChoose(a *config.Agent, caller chat.Caller) bool {
	return OpenTo(a, caller) || caller.Authority >= chat.Authorised && a.Label == r.Routed(caller.Address, caller.Kind, caller.Sender)
}

// OpenTo reports whether an agent is open to a caller: they may choose it anywhere, and its folder.
func OpenTo(a *config.Agent, caller chat.Caller) bool {
	switch a.OpenTo {
	case config.OpenToEveryone:
		return true
	case config.OpenToAllowed:
		return caller.Authority >= chat.Authorised
	default:
		return caller.Authority >= chat.Owner
	}
}
