package client

import (
	"encoding/json"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// Bounds of what an MCP server asks people for, in bytes. A request that exceeds them is not asked: people could not see all of it.
const (
	maxServer = 200
	maxSchema = 64 << 10
	maxLink   = 2 << 10
)

// maxForms bounds what MCP servers ask people for in a turn: a server may ask in a loop.
const maxForms = 20

// elicited asks people for what an MCP server wants of them. The CLI 2.1.331 offers servers forms and links without being told to, sends
// this request while the server's tool runs, and takes an error for "cancel", which says that nobody has answered. The caller holds the lock.
func (rs *requests) elicited(e *protocol.Event) {
	server := cut(e.Request.Asks, maxServer)
	asked, ok := elicitation(e.Request)
	switch {
	case rs.serving == nil || rs.serving.closed || rs.serving.turn.Asker == nil:
		rs.log.Info("nobody was asked for an MCP server, because no turn runs in which people can be", "server", server)
	case !ok:
		rs.log.Info("nobody was asked for an MCP server: what it asks for is too large, or has another form", "server", server)
	case rs.serving.forms >= maxForms:
		rs.log.Info("nobody was asked for an MCP server: servers have asked too often in this turn", "server", server, "most", maxForms)
	default:
		input, err := json.Marshal(asked)
		if err != nil {
			rs.log.Error("what an MCP server asks for cannot be passed on", "server", server, "error", err)
			break
		}
		q := agent.Question{Elicits: &asked, Input: input}
		r := &request{id: e.RequestID, question: true}
		if rs.begin(r, func(s *service) { rs.conclude(s, r, rs.elicits(asked, s.turn.Asker.Ask(r.ctx, q))) }) {
			rs.serving.forms++
			return
		}
		rs.log.Info("nobody was asked for an MCP server: too many questions are open at once", "server", server)
	}
	rs.respond(e.RequestID, map[string]any{"action": "cancel"}, "")
}

// elicitation reads what an MCP server asks for. It reports whether that is within the bounds.
func elicitation(r *protocol.Request) (asked agent.Elicitation, ok bool) {
	asked.Server, asked.URL = r.Asks, r.URL
	if r.Asks == "" || len(r.Asks) > maxServer || len(r.Message) > maxSchema || json.Unmarshal(r.Message, &asked.Message) != nil {
		return asked, false
	}
	switch {
	case r.Mode == "url":
		return asked, r.URL != "" && len(r.URL) <= maxLink
	case r.Mode != "" && r.Mode != "form" || len(r.Schema) > maxSchema || r.URL != "":
		return asked, false
	case len(r.Schema) > 0 && string(r.Schema) != "null":
		asked.Schema = r.Schema
		return asked, isObject(r.Schema)
	default:
		return asked, true
	}
}

// elicits converts a decision for an MCP server.
func (rs *requests) elicits(asked agent.Elicitation, d agent.Decision) map[string]any {
	switch {
	case d.Allow && d.Input == nil:
		return map[string]any{"action": "accept"}
	case d.Allow && isObject(d.Input):
		return map[string]any{"action": "accept", "content": d.Input}
	case d.Allow:
		rs.log.Error("what people answer an MCP server is no object", "server", asked.Server)
		return map[string]any{"action": "cancel"}
	case d.Declined:
		return map[string]any{"action": "decline"}
	default:
		return map[string]any{"action": "cancel"}
	}
}
