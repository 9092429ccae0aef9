package command

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// mcp lists the MCP servers of the workspace, or records an owner's decision about one.
func (d hostCommands) mcp(ctx context.Context, call Call) (string, error) {
	words := strings.Fields(call.Args)
	if len(words) == 0 {
		var list []wording.AskedServer
		for _, a := range d.host.Projects[d.effective(call).Agent.Label].In(call.Session.Folder).Servers(ctx) {
			list = append(list, wording.AskedServer{
				Name: a.Server.Name, Content: a.Content, Code: a.Code,
				Decided: a.Decided, Allowed: a.Allowed, By: a.By,
			})
		}
		return wording.AskedServers(list), nil
	}
	action := strings.ToLower(words[0])
	if len(words) != 2 || action != "allow" && action != "deny" {
		return wording.UnknownArgument("mcp", call.Args, wording.ServerOptions), nil
	}
	allow := action == "allow"
	name, known, err := d.host.Projects[d.effective(call).Agent.Label].In(call.Session.Folder).Decide(ctx, words[1], allow, who(call.Caller))
	if err != nil || !known {
		return wording.NoServerWithCode, err
	}
	return wording.ServerDecided(name, allow), nil
}
