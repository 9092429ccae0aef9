package command

import (
	"cmp"
	"context"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// cd lists the folders, or says in which one the agent works from now on. The change was made when the command was accepted, so that it
// applies to the next message.
func (d hostCommands) cd(_ context.Context, call Call) (Answer, error) {
	agent := d.effective(call).Agent
	if !conversation.OpenTo(agent, call.Caller) {
		return Answer{Text: wording.FolderNotOpen}, nil
	}
	folders, now := d.host.Conversations.Folders(agent), cmp.Or(call.Session.Folder, agent.Workspace)
	if call.Args != "" {
		found, ok := folders.Find(call.Args)
		if !ok {
			return Answer{Text: wording.NoFolder(call.Args)}, nil
		}
		return Answer{Text: wording.FolderEntered(found.Path, !call.Session.ClaudeStarted)}, nil
	}
	list := folders.List()
	var buttons []chat.Button
	for _, f := range list {
		if f.Path != now {
			buttons = append(buttons, chat.Button{Label: f.Name, Data: "/cd " + f.Name})
		}
	}
	return Answer{Text: wording.Folders(list, now), Buttons: buttons}, nil
}

// hasFolders reports whether an agent may work in other folders than its workspace.
func (d hostCommands) hasFolders() bool {
	return d.host.Conversations != nil &&
		slices.ContainsFunc(d.host.Conversations.Agents(), func(a *config.Agent) bool { return len(a.Folders) > 0 })
}
