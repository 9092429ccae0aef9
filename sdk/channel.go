package sdk

import (
	"context"
	"io"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Channel connects one account of one chat network. A channel may also be an [Editor], [Deleter], [Reactor], [Typer],
// [Drafter], [CommandMenu], [LoginFlow], [FileFetcher], [Historian], [MemberLister], [Pinner], [Limiter], [HealthChecker],
// [StatusReporter] or [Stopper]; the host learns of it from the plugin's description.
//
// All methods but Run may be called at the same time, from any goroutine, while Run runs.
type Channel interface {
	// Run connects, submits what arrives and reports the connection's state, until ctx ends; then it returns within 5
	// seconds. If it returns an error while ctx is active, the host restarts the plugin with backoff, unless the error
	// wraps [ErrBadCredentials] or [ErrLoggedOut], which only a person can fix.
	Run(ctx context.Context, in Inbox) error
	// Send sends one message. A chat id that is a person's id means their direct chat: the host knows no other id for
	// a person who has not written. An error that is not a [*chat.Failure] counts as temporary with an unknown outcome.
	// Calls for one destination are made one after the other.
	Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error)
}

// Inbox is a channel's way into the host.
type Inbox interface {
	// Submit delivers an event to the host. When it returns nil the event may be acknowledged upstream, whatever the
	// verdict. While the host cannot accept events, Submit waits and retries. An error means that ctx ended or the host is
	// gone, and the network must deliver the event again.
	Submit(ctx context.Context, e chat.Event) (chat.Verdict, error)
	// Typing tells the host that a person is writing, or has stopped, each time that the network says so. The host then starts
	// Claude before the message comes, and may wait for the rest of what the person writes. Typing returns at once. It is a hint: it is
	// dropped if the host is busy or too old, or has learned the same of the person in the chat in the last 3 seconds and no message
	// of theirs since, and it lets nobody in who may not write.
	Typing(t chat.Typing)
	// Report reports the connection's state. Detail is one line for the operator and must not contain secrets.
	Report(s chat.State, detail string)
	// ReportURL is Report for a channel that serves a web page of its own; url is the page's address. The url may contain a
	// secret: the host shows it to its operator and never logs it.
	ReportURL(s chat.State, detail, url string)
}

// Editor is a channel that can edit a message that it sent. An edit without buttons removes the message's buttons.
type Editor interface {
	Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error
}

// Deleter is a channel that can delete a message that it sent.
type Deleter interface {
	Delete(ctx context.Context, to chat.Address, id chat.MessageID) error
}

// Reactor is a channel that can react to a message with an emoji; an empty emoji removes the reaction.
type Reactor interface {
	React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error
}

// Pinner is a channel that can pin a message that it sent, without a notification, and unpin it. The host has the questions of Claude
// pinned while they are open. It does not mind a refusal, such as where the channel lacks the right; a message that is pinned
// already, or not pinned any more, is a success.
type Pinner interface {
	Pin(ctx context.Context, to chat.Address, id chat.MessageID, pinned bool) error
}

// Typer is a channel that can show that an answer is being written. The host calls it again before the limits' TypingTTL
// has passed, and with active false when the answer is complete.
type Typer interface {
	Typing(ctx context.Context, to chat.Address, active bool) error
}

// Drafter is a channel whose network can show a message that a bot is about to send. Its limits name [chat.NativeDraft] for
// the kinds of chat that support it.
//
// All calls of Draft for one answer have the same nonzero id. Each has the whole text so far: CommonMark that fits the text
// limit and may be cut off anywhere; an empty text means that the answer has just begun. Calls are made no more often than
// the limits' [chat.EditLimits] allow. The draft ends with the message that follows it, or expires: the network shows it
// for a while only, and nothing depends on it. If that message was not part of the answer, the host shows the draft again.
// An error does not affect the answer.
type Drafter interface {
	Draft(ctx context.Context, to chat.Address, draftID int64, text string) error
}

// CommandMenu is a channel whose network has a menu of slash commands.
//
// The host calls SetCommands with the complete list: once the plugin has been configured, possibly before Run has
// connected, and again when the list changes. Commands that are not in the list are removed from the menu; an empty list
// clears it. The host may send the same list again. Names are unique and consist of 1 to 32 lower-case ASCII letters,
// digits and underscores; a summary may be empty. The list is ordered by importance: if it is too long for the network (it
// may have 500 entries), the channel shows the first ones. Nil means that the menu is up to date. After an error the menu
// may be unchanged; the host logs the error, and nothing else depends on it. Ctx ends after 30 seconds.
//
// The network decides how a picked command arrives: as a [chat.NativeCommand], or as the text of a [chat.Message].
type CommandMenu interface {
	SetCommands(ctx context.Context, commands []chat.CommandSpec) error
}

// LoginFlow is a channel whose account a person logs in to in steps, such as scanning a code with the network's app. They
// run `clawhost plugin login`, which calls Login.
//
// Login shows the steps one after the other and returns the account once it is logged in. Run, which may wait for the
// login, then continues. An input step is the last step of a call: Login returns no account and no error after it, and is
// called again with all answers so far, keyed by step id. The first call may already have answers. An error that a person
// can fix is a [*chat.Failure]. Ctx ends when the person gives up. Login may be called while Run runs, and several calls
// may run at the same time.
type LoginFlow interface {
	Login(ctx context.Context, answers map[string]string, show func(chat.LoginStep)) (account chat.UserID, err error)
}

// FileFetcher is a channel that fetches files when the host needs them. It submits messages at once, with tokens in place
// of the files, and fetches nothing by itself. So files from strangers, and files in group messages that the agent does not
// answer, are never fetched.
//
// FetchFile opens the file of a token that this or a previous process of the plugin created, possibly days ago. The host
// reads it to its end at once and closes it. The host accepts at most the given number of bytes; FetchFile may refuse a
// larger file before it starts. If an error of FetchFile or of Read is a [*chat.FileError] with a Problem, the file is
// permanently unavailable; after any other error the host retries for a while. Ctx ends when no data has arrived for a
// while, when the transfer takes too long, or when the turn was stopped. Calls may be concurrent.
//
// For an older host, which does not ask for files, the sdk fetches and uploads them before it submits their message.
type FileFetcher interface {
	FetchFile(ctx context.Context, token chat.FileToken, maxBytes int64) (io.ReadCloser, error)
}

// Historian is a channel that can read what was said before it came.
//
// History returns the newest messages of a chat or thread before one of them, oldest first and at most so many: the events, with a
// [chat.Message] each, that the channel submits for such messages. Their files are not fetched. The host calls it when a
// conversation of a group begins, for groups that the agent may read, and goes on without it after a few seconds, when ctx ends,
// or after an error.
type Historian interface {
	History(ctx context.Context, of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error)
}

// MemberLister is a channel that can list the members of a group.
//
// Members returns at most so many. The host calls it when the agent asks for the members of the group in which it answers.
type MemberLister interface {
	Members(ctx context.Context, of chat.Address, limit int) (chat.Members, error)
}

// Limiter is a channel whose limits depend on the kind of chat. It overrides the limits given to [NewChannel]. It is called
// before the channel is opened, on a zero T, and must be pure.
type Limiter interface {
	Limits(kind chat.Kind) chat.Limits
}

// HealthChecker is a component that knows its health. Health must return at once, without I/O; nil means healthy.
type HealthChecker interface {
	Health(ctx context.Context) error
}

// StatusReporter is a component that says what it is doing, such as how far a long task is: one line, which the host shows its
// operator in /status and `clawhost plugin list`. It must not contain secrets; empty: nothing of note. Status must return at once,
// without I/O. The host asks every 30 seconds.
type StatusReporter interface {
	Status() string
}

// Stopper is a component that needs to clean up. Stop is called once, after Run's context has ended and Run has returned;
// ctx ends when the grace period is over.
type Stopper interface {
	Stop(ctx context.Context) error
}
