// Package command implements what people ask of the host itself: slash commands, its own and those of plugins,
// directives within a message, and stop words. Parsing, /help, /commands and the networks' menus read the same
// registry.
package command

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Call is a command that a person used.
type Call struct {
	Name    string
	Args    string
	And     []domain.Command // further commands of the same message
	Caller  chat.Caller
	Session domain.Session
	At      time.Time // when it was received
	ID      string    // of the message, the same in each attempt
	Attempt int       // how often it was begun, with this time
}

// Answer is what the chat gets of a command.
type Answer struct {
	Text    string        // Markdown; empty: nothing
	Buttons []chat.Button // below the text, where the chat has enough of them
	// Rows are buttons of a plugin, as it has arranged them. Where there are some, others are not shown.
	Rows  [][]chat.Button
	Media []chat.Media
}

// Command is a slash command.
type Command struct {
	Name         string // lower case, digits and underscores, without a slash; a person may write "-" for "_"
	Aliases      []string
	Usage        string
	Summary      string
	Group        string         // the heading in /commands; default "Plugins"
	MinAuthority chat.Authority // the minimum authority
	Menu         bool           // shown in the networks' menus and in /help
	Private      bool           // answers only in direct chats, because the answer is private
	// Turn marks a command that is run as a turn of the agent, not by the registry. It has no Run.
	Turn bool
	// Slow marks a command that may take long: the host's other commands do not wait for it.
	Slow bool
	// Shell marks the command that runs a line of the shell: it takes as long as the line, in a lane of its own, and /stop ends
	// it. It has no Run.
	Shell bool
	// Overrides is set if a plugin's command takes the place of the host's of the same name, where that one allows it.
	Overrides bool
	plugin    string // that answers; empty: the host does
	// Run answers; an empty answer sends nothing. Its error is logged, and the user learns that the command failed.
	Run func(ctx context.Context, call Call) (Answer, error)
}

// says makes the Run of a command that answers with a text only.
func says(run func(ctx context.Context, call Call) (string, error)) func(context.Context, Call) (Answer, error) {
	return func(ctx context.Context, call Call) (Answer, error) {
		text, err := run(ctx, call)
		return Answer{Text: text}, err
	}
}

// groups are the groups of commands in the order in which /commands lists them.
var groups = []string{
	wording.GroupConversation, wording.GroupSettings, wording.GroupInformation, wording.GroupOwners, wording.GroupPlugins,
	wording.GroupSkills,
}
