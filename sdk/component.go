// Package sdk is the API for clawhost plugins, together with the vocabulary of package chat. A channel is a type with two
// methods:
//
//	func main() {
//		sdk.Serve("echo", "0.1.0", sdk.NewChannel(chat.Limits{Text: chat.TextLimit{Max: 2000, Unit: chat.Runes}}, open))
//	}
//
//	func open(ctx context.Context, env sdk.Env, cfg config) (*channel, error)
//
// The config struct becomes a JSON Schema (see [Secret], [Duration] and the jsonschema struct tag). The host checks the
// plugin's block against it before the plugin sees it. Optional capabilities are found by the interfaces that a type
// implements.
//
// Package sdktest tests a plugin and contains the tests that every channel must pass. A channel may use these packages:
// network has what network clients share, such as retries and connection state; markdown converts an answer's Markdown to
// what networks show; upload builds multipart forms with files; album joins the files of one message; and voice measures
// voice messages. Packages handshake and wire are for the host.
package sdk

import (
	"context"
	"errors"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Errors that plugins return or receive.
var (
	// ErrBadCredentials, wrapped in the error of Run, says that the network refused the account's credentials.
	ErrBadCredentials = errors.New("bad credentials")
	// ErrLoggedOut, wrapped in the error of Run, says that the account must be paired again.
	ErrLoggedOut = errors.New("logged out")
	// ErrNotFound is returned by State and Media for a key or ref that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict is returned by State.PutIf if the key has another revision.
	ErrConflict = errors.New("revision conflict")
	// ErrNotGranted is returned if the plugin's block has no grant for the other channel.
	ErrNotGranted = errors.New("not granted")
)

// CommandSpec describes a slash command.
type CommandSpec = chat.CommandSpec

// CommandCall is one use of a slash command.
type CommandCall struct {
	// ID identifies this use of the command. After a crash the host may repeat the call, with the same id, so that what must happen once
	// can be recognised. It has at most 256 bytes; empty if the host is too old to tell.
	ID     string
	Name   string
	Args   string // untrusted
	Caller chat.Caller
}

// CommandFunc answers a command with Markdown for the chat. For an empty reply nothing is sent.
type CommandFunc func(ctx context.Context, call CommandCall) (reply string, err error)

// AgentStart describes a turn to a before_agent_start hook.
type AgentStart struct {
	TurnID string
	Caller chat.Caller
	Prompt string // what people wrote, untrusted
	// TakesConversation says that the host takes the Conversation of the answer; an older one ignores it.
	TakesConversation bool
}

// AgentContext is what a before_agent_start hook adds to a turn.
type AgentContext struct {
	Prepend string // put before the prompt; at most 64 KiB
	// Conversation is what the agent's conversation should contain once; at most 64 KiB. The host puts it before the prompt
	// if the conversation does not have this text yet: it is new, was compacted, or has another text of this hook. So return
	// it at each turn.
	Conversation string
}

// BeforeAgentStartFunc adds context to a turn before the agent runs.
type BeforeAgentStartFunc func(ctx context.Context, start AgentStart) (AgentContext, error)

// Runner is a service with a background task. Run is called once after the component was opened and ends with its context.
// If it returns an error before that, the host restarts the plugin.
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
