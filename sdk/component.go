// Package sdk is what a clawhost plugin is written against, together with the vocabulary of package chat. A channel is a
// type with two methods:
//
//	func main() {
//		sdk.Serve("echo", "0.1.0", sdk.NewChannel(chat.Limits{Text: chat.TextLimit{Max: 2000, Unit: chat.Runes}}, open))
//	}
//
//	func open(ctx context.Context, env sdk.Env, cfg config) (*channel, error)
//
// The config struct becomes a JSON Schema (see [Secret], [Duration] and the jsonschema struct tag), by which the host
// checks the plugin's block before the plugin sees it. What a type can do beyond the required methods is found by the
// interfaces that it has.
//
// Package sdktest tests a plugin, and holds what each channel must pass. A channel may need some of these: network has
// what clients of a network share, from trying again to telling the state of the connection, markdown turns an answer's
// Markdown into what networks show, upload makes forms with files, album puts the files of one message together, and voice
// measures voice messages. Packages handshake and wire are for the host.
package sdk

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Errors that plugins return or meet.
var (
	// ErrBadCredentials, wrapped in what Run returns, says that the account's credentials are refused.
	ErrBadCredentials = errors.New("bad credentials")
	// ErrLoggedOut, wrapped in what Run returns, says that the account has to be paired again.
	ErrLoggedOut = errors.New("logged out")
	// ErrNotFound is returned by State and Media for what is not there.
	ErrNotFound = errors.New("not found")
	// ErrConflict is returned by State.PutIf when the revision is another one.
	ErrConflict = errors.New("revision conflict")
	// ErrNotGranted is returned when the plugin's block lacks the grant for another channel.
	ErrNotGranted = errors.New("not granted")
)

// CommandSpec describes a slash command.
type CommandSpec = chat.CommandSpec

// CommandCall is a slash command that somebody used.
type CommandCall struct {
	Name   string
	Args   string // untrusted
	Caller chat.Caller
}

// CommandFunc answers a command with Markdown for the chat; an empty answer sends nothing.
type CommandFunc func(ctx context.Context, call CommandCall) (reply string, err error)

// AgentStart is what a before_agent_start hook is told of a turn.
type AgentStart struct {
	TurnID string
	Caller chat.Caller
	Prompt string // what the people wrote, untrusted
}

// AgentContext is what a before_agent_start hook adds to a turn.
type AgentContext struct {
	Prepend string // put before the prompt; at most 64 KiB
}

// BeforeAgentStartFunc adds context to a turn before the agent runs.
type BeforeAgentStartFunc func(ctx context.Context, start AgentStart) (AgentContext, error)

// Runner is a service that works by itself. Run is called once after the component was opened and ends with its context;
// an error that it returns earlier has the host restart the plugin.
type Runner interface {
	Run(ctx context.Context) error
}

// CommandRunner is a service that answers the commands given to [Service].
type CommandRunner interface {
	RunCommand(ctx context.Context, call CommandCall) (reply string, err error)
}

// AgentStarter is a service with a before_agent_start hook.
type AgentStarter interface {
	BeforeAgentStart(ctx context.Context, start AgentStart) (AgentContext, error)
}
