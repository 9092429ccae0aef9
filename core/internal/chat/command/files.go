package command

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/sdk/chat"
)

// files lists the folder in which the agent works, or a folder in it.
func (d hostCommands) files(_ context.Context, call Call) (string, error) {
	if gone := d.gone(call); gone != "" {
		return gone, nil
	}
	c := d.effective(call)
	entries, more, err := d.host.Outgoing[c.Agent.Label].List(c.Folder, call.Args, call.Caller.Kind == chat.Direct)
	if why, ok := errors.AsType[wording.Reason](err); ok {
		return wording.NotListed(call.Args, why), nil
	}
	if err != nil {
		return "", err
	}
	return wording.FolderContent(cmp.Or(call.Args, c.Folder, c.Agent.Workspace), entries, more), nil
}

// get sends a file of the folder in which the agent works, by the same rules as one that the agent sends.
func (d hostCommands) get(ctx context.Context, call Call) (Answer, error) {
	c := d.effective(call)
	switch {
	case call.Args == "":
		return Answer{Text: wording.GetUsage}, nil
	case len(c.Limits.MediaOut) == 0:
		return Answer{Text: wording.NoFilesHere}, nil
	}
	if gone := d.gone(call); gone != "" {
		return Answer{Text: gone}, nil
	}
	found, err := d.host.Outgoing[c.Agent.Label].Collect(ctx, outgoing.Wanted{
		Channel: call.Caller.Address.Channel, Folder: c.Folder, Paths: []string{"file://" + escaped(call.Args)}, Named: true,
		Private: call.Caller.Kind == chat.Direct, Limits: c.Limits.MediaOut,
	})
	if err != nil {
		return Answer{}, err
	}
	return Answer{Text: strings.Join(found.Problems, " "), Media: found.Media}, nil
}

// escaped is a path as a part of an address, so that a name that looks like one, such as "http:x", is a file.
func escaped(path string) string { return strings.ReplaceAll(path, "%", "%25") }
