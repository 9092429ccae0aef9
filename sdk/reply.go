package sdk

import (
	"context"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Reply is the answer to a command.
type Reply struct {
	Text string // Markdown; empty: nothing is sent
	// Buttons are shown below the text, in chats that have them. Their data are command lines of the plugin, as those of [Post].
	Buttons [][]chat.Button
}

// CommandReplier is a service that answers the commands given to [Service] with buttons. It takes the place of a [CommandRunner]. A host
// that is too old for buttons shows the text only.
type CommandReplier interface {
	ReplyCommand(ctx context.Context, call CommandCall) (Reply, error)
}
