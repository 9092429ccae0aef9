package command

import (
	"context"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Tools are the tools of the host and of plugins.
type Tools interface {
	// Offered returns the names of the tools by the plugin that they are from; those of the host are under "".
	Offered(ctx context.Context) map[string][]string
}

// tools lists the agent's tools and where they are from. Only owners see why an MCP server failed.
func (d hostCommands) tools(ctx context.Context, call Call) (string, error) {
	inventory := d.host.Claude.Inventory(d.effective(call).Agent.Label)
	shown := wording.Tools{Known: len(inventory.Tools) > 0, Offered: d.host.Tools.Offered(ctx)}
	byServer := map[string][]string{}
	for _, name := range inventory.Tools {
		rest, external := strings.CutPrefix(name, "mcp__")
		server, tool, _ := strings.Cut(rest, "__")
		switch {
		case !external:
			shown.Claude = append(shown.Claude, name)
		case server != cli.ServerName:
			byServer[server] = append(byServer[server], tool)
		}
	}
	for _, s := range inventory.Servers {
		server := wording.Server{Name: s.Name, State: s.State, Failed: s.Failed(), Tools: byServer[s.Name]}
		if call.Caller.Authority >= chat.Owner {
			server.Error = s.Error
		}
		shown.Servers = append(shown.Servers, server)
	}
	slices.Sort(shown.Claude)
	slices.SortFunc(shown.Servers, func(a, b wording.Server) int { return strings.Compare(a.Name, b.Name) })
	return shown.String(), nil
}
