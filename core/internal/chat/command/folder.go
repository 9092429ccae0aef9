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
func (d hostCommands) cd(_ context.Context, call Call) (string, error) {
	agent := d.effective(call).Agent
	if !conversation.Open(agent, call.Caller) {
		return wording.FolderNotOpen, nil
	}
	folders := d.host.Conversations.Folders(agent)
	if call.Args == "" {
		var names, paths []string
		for _, f := range folders.List() {
			names, paths = append(names, f.Name), append(paths, f.Path)
		}
		return wording.Folders(names, paths, cmp.Or(call.Session.Folder, agent.Workspace)), nil
	}
	found, ok := folders.Find(call.Args)
	if !ok {
		return wording.NoFolder(call.Args), nil
	}
	return wording.FolderEntered(found.Path, !call.Session.ClaudeStarted), nil
}

// folderButtons are the other folders, if the caller may go there.
func (d hostCommands) folderButtons(call Call) (list []chat.Button) {
	agent := d.effective(call).Agent
	if !conversation.Open(agent, call.Caller) {
		return nil
	}
	for _, f := range d.host.Conversations.Folders(agent).List() {
		if f.Path != cmp.Or(call.Session.Folder, agent.Workspace) {
			list = append(list, chat.Button{Label: f.Name, Data: "/cd " + f.Name})
		}
	}
	return list
}

// hasFolders reports whether an agent may work in other folders than its workspace.
func (d hostCommands) hasFolders() bool {
	return d.host.Conversations != nil &&
		slices.ContainsFunc(d.host.Conversations.Agents(), func(a *config.Agent) bool { return len(a.Folders) > 0 })
}
