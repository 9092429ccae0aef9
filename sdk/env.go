package sdk

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
)

// Env is the environment that the host gives a plugin instance. A component's open function receives it.
type Env struct {
	// Log writes to the host's log under the instance's name, with levels and fields. Records below slog.LevelDebug are
	// dropped. The config's secrets are redacted; do not log other secrets or what people write.
	Log *slog.Logger
	// Instance is the label of the plugin's block: the channel's name in session keys.
	Instance string
	// StateDir is a folder (0700) private to the instance, for data that does not fit State.
	StateDir string
	// Workspace is the working folder of the agent main, an absolute path; it is empty if the host is too old to tell. Callers
	// have that of their agent.
	Workspace string
	// Demo says that a stand-in answers, not Claude. It is false if the host is too old to tell.
	Demo bool
	// ServesHTTP says that the host passes on requests for an [HTTPServer]. It is false if the host is too old to tell.
	ServesHTTP bool

	State   State
	Media   Media
	Outbox  Outbox
	Turns   Turns
	WakeUps WakeUps
	History History
	// Transcripts reads all conversations, for plugins that follow them.
	Transcripts Transcripts

	line *handshake.Line // to the host; nil if the host has none
}

// State is a durable key-value store, private to the instance. A key has at most 256 bytes, a value at most 1 MiB. Put
// fails beyond 10,000 keys or 64 MiB of values.
type State interface {
	// Get returns [ErrNotFound] if the key does not exist.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put writes unconditionally.
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// PutIf writes only if the key has the given revision (zero: only if it does not exist); otherwise it returns
	// [ErrConflict].
	PutIf(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
	// Delete returns nil for a key that does not exist.
	Delete(ctx context.Context, key string) error
	// List returns up to 1,000 keys, in order, that have the prefix and sort after the given key.
	List(ctx context.Context, prefix, after string) ([]string, error)
}

// Media is the host's file store. Refs are valid for this instance only.
type Media interface {
	// Upload stores r to its end. It keeps m's kind, type and name as far as the content matches them. The error is a
	// [*RefusedError] if the host's config forbids the file: it is too large, or of another type.
	Upload(ctx context.Context, m chat.Media, r io.Reader) (chat.Media, error)
	// Download returns [ErrNotFound] for an unknown ref. The caller closes the reader.
	Download(ctx context.Context, ref chat.MediaRef) (chat.Media, io.ReadCloser, error)
}

// Outbox sends messages through the host, which splits them, keeps their order and retries. Chats of other channels need a
// grant in the config.
type Outbox interface {
	// Post returns once the message is durable, not when it is delivered. A second call with the same key has no effect.
	Post(ctx context.Context, key string, to chat.Address, text string) error
	// PostMessage is Post for a message with files or buttons. If the host is too old for them the error is [errors.ErrUnsupported],
	// and nothing is sent.
	PostMessage(ctx context.Context, key string, to chat.Address, p Post) error
}

// Post is a message of the plugin.
type Post struct {
	Text  string       // Markdown; may be empty with files
	Media []chat.Media // that [Media.Upload] has returned; at most 10
	// Buttons are shown below the text, in chats that have them. The data of a button is a line with one of the plugin's own commands,
	// such as "/remind delete 3". Whoever presses it uses that command, so the text should say how to do that without buttons.
	Buttons [][]chat.Button
}

// Turns runs the agent for the plugin.
type Turns interface {
	// Run queues the prompt in the address's session, waits for the answer and returns it. After a restart the plugin may
	// call Run again with the same key and gets the same turn. The error of a failed turn is a [*TurnError].
	Run(ctx context.Context, t Turn) (answer string, err error)
	// Begin queues the prompt as Run does and returns once the host has it on disk: the turn then runs, whatever dies
	// meanwhile. A second call with the same key begins nothing.
	Begin(ctx context.Context, t Turn) error
	// Follow queues the prompt as Run does and yields what is new of the turn, at last its end. An error is the last value, too; that of
	// a failed turn is a [*TurnError].
	Follow(ctx context.Context, t Turn) iter.Seq2[TurnProgress, error]
}

// TurnProgress is what is known of a turn.
type TurnProgress struct {
	Text  string // the whole answer so far
	Held  string // why the turn cannot begin or end yet; empty: nothing prevents it
	Ended bool   // this is the last value, and Text is the answer
}

// Turn is a prompt for the agent.
type Turn struct {
	Key     string // identifies the turn; at most 200 bytes
	To      chat.Address
	Kind    chat.Kind
	Prompt  string
	Deliver bool          // also send the answer to the address
	Timeout time.Duration // zero: the host's; at most a day
	// Untrusted must be set if others have written the prompt or parts of it. The turn then runs as nobody's, in a direct chat, too:
	// it may do what a stranger's turn may, and owners are asked about the rest. Otherwise it runs as the person whose direct
	// chat it is. If the host is too old for this field, the error is [errors.ErrUnsupported], and nothing runs.
	Untrusted bool

	// If the host is too old for one of the following fields, the error is [errors.ErrUnsupported], and nothing runs.

	// Context is what others have written, and the agent should know for the prompt: the host marks it as text whose instructions are
	// not to be followed. That does not keep every model from following them, so set Untrusted unless the agent has nothing to lose.
	// At most 64 KiB.
	Context string
	Media   []chat.Media // files for the agent, that [Media.Upload] has returned; at most 10
	// Conversation is the name of a conversation of the plugin's own, beside that of the chat, in which the turn runs: 1 to 64
	// lower-case letters, digits and hyphens. The chat's conversation learns what was delivered. Empty: the chat's conversation.
	Conversation string
	Agent        string // the label of the agent that answers; empty: the one that answers in the chat
}

// TurnError is the error of a failed turn. Message is what a user would read.
type TurnError struct{ Message string }

// Error returns the message.
func (e *TurnError) Error() string { return e.Message }

// History reads transcripts. Chats of other channels need a grant in the config.
type History interface {
	// Read returns up to limit (at most 200; zero means 50) of the newest entries whose id is less than before (zero: no
	// bound), oldest first.
	Read(ctx context.Context, to chat.Address, kind chat.Kind, limit int, before int64) ([]chat.TranscriptEntry, error)
}

// Transcripts reads the conversations of all channels, for a plugin that is a [TranscriptObserver]: what was said before it
// began to follow them. It needs read_transcripts in the plugin's block.
type Transcripts interface {
	// After returns up to limit (at most 200; zero means 200) entries whose id is greater than after, oldest first; none:
	// there are no more. The error is [ErrNotGranted] without the block's permission, and [errors.ErrUnsupported] if the host
	// is too old.
	After(ctx context.Context, after int64, limit int) ([]SessionEntry, error)
}

// SessionEntry is an entry of a session's history.
type SessionEntry struct {
	Agent   string // the label of the agent whose session it is; empty if the host is too old to tell
	Session string
	Entry   chat.TranscriptEntry
}
