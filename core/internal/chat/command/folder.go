package command

import (
	"cmp"
	"context"
	"path/filepath"
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
		if other := d.workspaceOf(call, agent); !ok && other != nil {
			return Answer{Text: wording.FolderOfAgent(other.Label)}, nil
		}
		if !ok {
			return Answer{Text: wording.NoFolder(call.Args)}, nil
		}
		return Answer{Text: wording.FolderEntered(found.Path, call.Session.Worktree, !call.Session.ClaudeStarted)}, nil
	}
	list := folders.List()
	var buttons []chat.Button
	for _, f := range list {
		if f.Path != now {
			buttons = append(buttons, chat.Button{Label: f.Name, Data: "/cd " + f.Name})
		}
	}
	return Answer{
		Text:    wording.Folders(list, now, call.Session.Worktree, len(agent.Folders) > 0, call.Caller.Authority >= chat.Owner),
		Buttons: buttons,
	}, nil
}

// workspaceOf is the other agent, of those that the caller may choose, whose workspace the arguments name by its path or its last
// part; nil: none.
func (d hostCommands) workspaceOf(call Call, agent *config.Agent) *config.Agent {
	for _, other := range d.host.Conversations.Agents() {
		named := call.Args == other.Workspace || call.Args == filepath.Base(other.Workspace) || call.Args == other.Label
		if other != agent && named && d.host.Conversations.MayChoose(other, call.Caller) {
			return other
		}
	}
	return nil
}

// hasFolders reports whether an agent may work in other folders than its workspace.
func (d hostCommands) hasFolders() bool {
	return d.host.Conversations != nil &&
		slices.ContainsFunc(d.host.Conversations.Agents(), func(a *config.Agent) bool { return len(a.Folders) > 0 })
}
