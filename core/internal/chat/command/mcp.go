package command

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/project"
)

// mcp lists the MCP servers of the workspace, or records an owner's decision about one.
func (d hostCommands) mcp(ctx context.Context, call Call) (string, error) {
	words := strings.Fields(call.Args)
	if len(words) == 0 {
		var list []wording.AskedServer
		for _, a := range d.host.Projects[d.effective(call).Agent.Label].In(call.Session.Folder, call.Session.Worktree).Servers(ctx) {
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
	folders := []*project.Folder{d.host.Projects[d.effective(call).Agent.Label].In(call.Session.Folder, call.Session.Worktree)}
	for _, a := range d.host.Conversations.Agents() { // owners are asked in their direct chats, whatever agent answers there
		folders = append(folders, d.host.Projects[a.Label])
	}
	for _, f := range folders {
		name, known, err := f.Decide(ctx, words[1], allow, who(call.Caller))
		if err != nil {
			return "", err
		}
		if known {
			return wording.ServerDecided(name, allow), nil
		}
	}
	return wording.NoServerWithCode, nil
}
