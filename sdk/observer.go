package sdk

import (
	"context"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// MessageReceived describes a message to a message observer.
type MessageReceived struct {
	// Caller is who wrote, in which session and chat, and with what authority.
	Caller chat.Caller
	// Message is the message as its channel submitted it: untrusted. The refs of its files are valid for the channel only.
	Message chat.Message
}

// MessageObserver is a service that receives the messages of all channels.
//
// The host calls MessageReceived after it has stored the message, while it processes the message: the call neither delays
// nor changes a turn. It is made at most once. A plugin that is down misses messages, and so does one that is too slow (the
// host keeps the newest 256 for each plugin) or returns an error, which is logged. Calls are made one after the other, in
// the order in which the messages were received. Ctx ends after 10 seconds.
type MessageObserver interface {
	MessageReceived(ctx context.Context, received MessageReceived) error
}

// MessageFunc is a function that is a [MessageObserver].
type MessageFunc func(ctx context.Context, received MessageReceived) error

// MessageReceived calls f.
func (f MessageFunc) MessageReceived(ctx context.Context, received MessageReceived) error {
	return f(ctx, received)
}

// OnMessage returns a [MessageObserver] that needs no config.
func OnMessage(f MessageFunc) Component {
	c := plain("message_received hook", f)
	c.capabilities = []pluginv1.Capability{pluginv1.Capability_CAPABILITY_HOOK_MESSAGE_RECEIVED}
	return c
}

// TranscriptAppended contains the entries that were added to a session's history.
type TranscriptAppended struct {
	Agent   string // the label of the agent whose session it is; empty if the host is too old to tell
	Session string // the session key
	// Entries has at least one entry, in order. Ids increase within a session, even across calls, except for entries that
	// are sent again.
	Entries []chat.TranscriptEntry
}

// TranscriptObserver is a service that follows the histories of all sessions.
//
// The host calls TranscriptAppended soon after entries were added, at least once for each entry and in order within a
// session. It stores the position of each plugin, across restarts of both: entries that are added while the plugin is down
// are sent later. A plugin that follows for the first time starts with the entries added from then on. Calls are made one
// after the other.
//
// Nil acknowledges the entries. After an error, or when ctx has ended (after 30 seconds), the same entries are sent again
// before any others, after a wait that doubles from one second to five minutes. Entries that were already acknowledged may
// be sent with them; a plugin recognises those by their ids.
type TranscriptObserver interface {
	TranscriptAppended(ctx context.Context, appended TranscriptAppended) error
}

// TranscriptFunc is a function that is a [TranscriptObserver].
type TranscriptFunc func(ctx context.Context, appended TranscriptAppended) error

// TranscriptAppended calls f.
func (f TranscriptFunc) TranscriptAppended(ctx context.Context, appended TranscriptAppended) error {
	return f(ctx, appended)
}

// OnTranscript returns a [TranscriptObserver] that needs no config.
func OnTranscript(f TranscriptFunc) Component {
	c := plain("transcript_appended hook", f)
	c.capabilities = []pluginv1.Capability{pluginv1.Capability_CAPABILITY_HOOK_TRANSCRIPT_APPENDED}
	return c
}
