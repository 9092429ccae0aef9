// Package command holds what people ask of the host itself: slash commands, its own and those of plugins, directives within
// a message, and words that stop it. One registry of them is what parsing, /help, /commands and the networks' menus read.
package command

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Call is a command that somebody used.
type Call struct {
	Name    string
	Args    string
	And     []domain.Command // further ones of the same message
	Caller  chat.Caller
	Session domain.Session
	At      time.Time // when it was received
}

// Command is a slash command.
type Command struct {
	Name         string // lower case, digits and underscores, without a slash; a person may write "-" for "_"
	Aliases      []string
	Usage        string
	Summary      string
	Group        string         // the heading in /commands; default "Plugins"
	MinAuthority chat.Authority // the least authority that may use it
	Menu         bool           // stands in the networks' menus and in /help
	Private      bool           // answers in direct chats only, because of what the answer tells
	// Turn marks a command that is run as a turn of the agent, not by the registry. It has no Run.
	Turn bool
	// Slow marks a command that may take its time: others of the host's do not wait for it.
	Slow bool
	// Run answers with Markdown; an empty answer sends nothing. Its error is for the log: the user is told that the command
	// failed.
	Run func(ctx context.Context, call Call) (string, error)
}

// groups are the groups of commands in the order in which /commands lists them.
var groups = []string{
	wording.GroupConversation, wording.GroupSettings, wording.GroupInformation, wording.GroupOwners, wording.GroupPlugins, wording.GroupSkills,
}
