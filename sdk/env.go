package sdk

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
)

// Env is what a plugin instance has from its host. It is handed to a component's open function.
type Env struct {
	// Log goes to the host's log under the instance's name, with its levels and fields. What is below slog.LevelDebug is
	// dropped. The config's secrets are taken out; what else is secret, and what people write, does not belong there.
	Log *slog.Logger
	// Instance is the label of the plugin's block: the channel's name in session keys.
	Instance string
	// StateDir is a folder (0700) of the instance's own, for what does not fit State.
	StateDir string

	State   State
	Media   Media
	Outbox  Outbox
	Turns   Turns
	History History

	line *handshake.Line // to the host; nil where it has none
}

// State is a durable key-value store of the instance's own. Keys are at most 256 bytes, values at most 1 MiB; together they
// are at most 10,000 keys and 64 MiB of values, beyond which Put fails.
type State interface {
	// Get returns [ErrNotFound] where there is no such key.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put writes in any case.
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// PutIf writes only if the key's revision is this one (zero: only if it is absent) and returns [ErrConflict] if not.
	PutIf(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
	// Delete is nil for an absent key.
	Delete(ctx context.Context, key string) error
	// List returns up to 1,000 keys in order that have the prefix and sort after the given key.
	List(ctx context.Context, prefix, after string) ([]string, error)
}

// Media is the host's store of files. Refs are the instance's own.
type Media interface {
	// Upload stores r to its end; m's kind, type and name are kept as far as the content is of these. Its error is a
	// [*RefusedError] where the host's config does not let such a file in: one that is too large, or of another type.
	Upload(ctx context.Context, m chat.Media, r io.Reader) (chat.Media, error)
	// Download returns [ErrNotFound] for a ref that is not there. The caller closes the reader.
	Download(ctx context.Context, ref chat.MediaRef) (chat.Media, io.ReadCloser, error)
}

// Outbox sends through the host: chunked, in order, retried. Chats of other channels need a grant in the config.
type Outbox interface {
	// Post returns once the message is durable, not when it is delivered. The same key again posts nothing.
	Post(ctx context.Context, key string, to chat.Address, text string) error
}

// Turns runs the agent for the plugin.
type Turns interface {
	// Run queues the prompt in the address's session, waits for the answer and returns it. A plugin that was restarted
	// may ask again under the same key and gets the same turn. The error of a turn that failed is a [*TurnError].
	Run(ctx context.Context, t Turn) (answer string, err error)
}

// Turn is a prompt that a plugin has the agent run.
type Turn struct {
	Key     string // names the turn; at most 200 bytes
	To      chat.Address
	Kind    chat.Kind
	Prompt  string
	Deliver bool          // also send the answer to the address
	Timeout time.Duration // zero: the host's
}

// TurnError is a turn that failed. Message is what a user would be told.
type TurnError struct{ Message string }

// Error returns the message.
func (e *TurnError) Error() string { return e.Message }

// History reads what was said. Chats of other channels need a grant in the config.
type History interface {
	// Read returns up to limit (at most 200; zero means 50) of the newest entries with an id below before (zero: the
	// newest of all), oldest first.
	Read(ctx context.Context, to chat.Address, kind chat.Kind, limit int, before int64) ([]chat.TranscriptEntry, error)
}
