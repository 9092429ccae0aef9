package sdk

import (
	"context"

	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
)

// MessageReceived is what a message observer is told of a message.
type MessageReceived struct {
	// Caller is who wrote, in which session and chat, and with what authority.
	Caller chat.Caller
	// Message is the message as its channel submitted it: untrusted. The refs of its files are the channel's own.
	Message chat.Message
}

// MessageObserver is a service that is told of the messages that the host receives, of all channels.
//
// The host calls MessageReceived once it has stored the message, while the message goes on its way: the call delays no
// turn and changes none. It is made at most once. A message is not told to a plugin that is down, and is dropped for one
// that is too slow (the host keeps the newest 256 for each plugin) or returns an error, which is logged. Calls come one
// after the other, in the order in which the messages were received. Ctx ends after 10 seconds.
type MessageObserver interface {
	MessageReceived(ctx context.Context, received MessageReceived) error
}

// MessageFunc makes a function a [MessageObserver].
type MessageFunc func(ctx context.Context, received MessageReceived) error

// MessageReceived calls f.
func (f MessageFunc) MessageReceived(ctx context.Context, received MessageReceived) error {
	return f(ctx, received)
}

// OnMessage is a [MessageObserver] that needs no config.
func OnMessage(f MessageFunc) Component {
	c := plain("message_received hook", f)
	c.capabilities = []pluginv1.Capability{pluginv1.Capability_CAPABILITY_HOOK_MESSAGE_RECEIVED}
	return c
}

// TranscriptAppended is what was added to a session's history.
type TranscriptAppended struct {
	Session string // the session key
	// Entries are at least one and in order. Their ids rise within a session, also over several calls, but for entries that
	// are told again.
	Entries []chat.TranscriptEntry
}

// TranscriptObserver is a service that follows the histories of all sessions.
//
// The host calls TranscriptAppended soon after entries were added, at least once for each entry and in order within a
// session. It remembers how far a plugin has come, over restarts of both: what is added while the plugin is down is told
// later. A plugin that follows for the first time begins with what is added from then on. Calls come one after the other.
//
// Nil says that the entries are taken and need not come again. After an error, or when ctx has ended (after 30 seconds),
// the same entries come again, with a wait that doubles from a second to five minutes, and no others before them; some
// that were taken may come with them. A plugin knows those by their ids.
type TranscriptObserver interface {
	TranscriptAppended(ctx context.Context, appended TranscriptAppended) error
}

// TranscriptFunc makes a function a [TranscriptObserver].
type TranscriptFunc func(ctx context.Context, appended TranscriptAppended) error

// TranscriptAppended calls f.
func (f TranscriptFunc) TranscriptAppended(ctx context.Context, appended TranscriptAppended) error {
	return f(ctx, appended)
}

// OnTranscript is a [TranscriptObserver] that needs no config.
func OnTranscript(f TranscriptFunc) Component {
	c := plain("transcript_appended hook", f)
	c.capabilities = []pluginv1.Capability{pluginv1.Capability_CAPABILITY_HOOK_TRANSCRIPT_APPENDED}
	return c
}
