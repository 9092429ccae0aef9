package sdk

import (
	"context"
	"io"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Channel connects one account of one chat network. A channel may also be an [Editor], [Deleter], [Reactor], [Typer],
// [Drafter], [CommandMenu], [LoginFlow], [FileFetcher], [Limiter], [HealthChecker] or [Stopper]; the host learns of it from the
// plugin's description.
//
// All methods but Run may be called at the same time, from any goroutine, while Run runs.
type Channel interface {
	// Run connects, submits what arrives and reports the connection's state, until ctx ends; then it returns within 5
	// seconds. An error that it returns while ctx lives has the host restart the plugin with backoff, unless it wraps
	// [ErrBadCredentials] or [ErrLoggedOut], which only a person can mend.
	Run(ctx context.Context, in Inbox) error
	// Send sends one message. A chat that is named by a person's id is their direct chat: of somebody who has not written
	// the host knows no other id. An error that is no [*chat.Failure] counts as a temporary one with unknown outcome. Calls for
	// one destination come one after the other.
	Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error)
}

// Inbox is a channel's way into the host.
type Inbox interface {
	// Submit hands an event over. Once it returns nil the event may be acknowledged upstream, whatever the verdict. It
	// waits and tries again by itself while the host cannot take events; an error means that ctx ended or the host is
	// gone, and the event must come again.
	Submit(ctx context.Context, e chat.Event) (chat.Verdict, error)
	// Report tells the connection's state. Detail is one line for the operator and holds no secret.
	Report(s chat.State, detail string)
	// ReportURL is Report for a channel that serves a page of its own: url is where a person opens it. The url may hold a
	// secret; the host shows it to its operator and never logs it.
	ReportURL(s chat.State, detail, url string)
}

// Editor is a channel that can change a message it sent. No buttons: the message loses those it had.
type Editor interface {
	Edit(ctx context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error
}

// Deleter is a channel that can delete a message it sent.
type Deleter interface {
	Delete(ctx context.Context, to chat.Address, id chat.MessageID) error
}

// Reactor is a channel that can put an emoji on a message; an empty emoji takes it back.
type Reactor interface {
	React(ctx context.Context, to chat.Address, id chat.MessageID, emoji string) error
}

// Typer is a channel that can show that an answer is being written. The host calls it again before the limits' TypingTTL
// is over, and with active false when the answer is there.
type Typer interface {
	Typing(ctx context.Context, to chat.Address, active bool) error
}

// Drafter is a channel whose network shows what a bot is about to send, as a message that is not one yet. Its limits name
// [chat.NativeDraft] for the kinds of chat where it does.
//
// The host calls Draft for one answer with one id, which is not zero, and each time with all of the text so far: CommonMark
// that fits the text limit and may end in the middle of anything; an empty text says that the answer has just begun. No
// more often than the limits' [chat.EditLimits] allow. The draft ends with the message that follows it, or by itself: the
// network shows it for a while only, and nothing depends on it. Where the message was no part of the answer the host shows
// the draft again. An error is none of the answer's.
type Drafter interface {
	Draft(ctx context.Context, to chat.Address, draftID int64, text string) error
}

// CommandMenu is a channel whose network has a menu of slash commands.
//
// The host calls SetCommands with the whole list: once the plugin has been configured, perhaps before Run is connected,
// and again when the list has changed. What is not in the list leaves the menu; an empty list leaves none. The same list
// may come again, and changes nothing. Names are 1 to 32 lower-case ASCII letters, digits and underscores and come once
// each; a summary may be empty. The list is ordered by importance: of one that is too long for the network (the host's
// may have 500 entries) the channel shows the first. Nil says that the menu is as it should be; after an error it may be
// as it was, the error is logged, and nothing else depends on it. Ctx ends after 30 seconds.
//
// How a command that somebody picks comes back is the network's business: as a [chat.NativeCommand], or as the text of a
// [chat.Message].
type CommandMenu interface {
	SetCommands(ctx context.Context, commands []chat.CommandSpec) error
}

// LoginFlow is a channel whose account a person logs in to by steps, such as scanning a code with the network's app. They
// run `clawhost plugin login`, which calls Login.
//
// Login shows one step after the other and returns the account that is logged in then; Run, which may wait for it, goes on
// by itself. An input step is the last one: Login returns no account and no error behind it, and is called anew with all
// answers so far, by the steps' ids. Answers may come with the first call. What a person can mend is a [*chat.Failure].
// Ctx ends when the person gives up. Login may be called while Run runs, and more than once at a time.
type LoginFlow interface {
	Login(ctx context.Context, answers map[string]string, show func(chat.LoginStep)) (account chat.UserID, err error)
}

// FileFetcher is a channel that fetches files when the host needs them. It submits messages with the tokens of their files in
// place of the files, at once, and fetches nothing by itself: what strangers send, and what a group says among itself, is never
// fetched.
//
// FetchFile opens the file of a token that this life of the plugin has minted, or an earlier one, perhaps days ago. The host reads
// it to its end at once and closes it. It takes at most so many bytes: FetchFile may refuse a file that has more before it begins.
// An error of FetchFile or of a Read that is a [*chat.FileError] with a Problem says that the file can never be had; after any
// other the host tries again, for a while. Ctx ends when nothing has come of the file for a while, when it takes too long, or when
// the turn was stopped. Calls come side by side.
//
// For a host of before, which does not ask for files, the sdk fetches and uploads them before it submits their message.
type FileFetcher interface {
	FetchFile(ctx context.Context, token chat.FileToken, most int64) (io.ReadCloser, error)
}

// Limiter is a channel that can different things in different kinds of chat. It overrides the limits given to
// [NewChannel]. It is called before the channel is opened, on a zero T, and must be pure.
type Limiter interface {
	Limits(kind chat.Kind) chat.Limits
}

// HealthChecker is a component that knows how it is. Health answers at once, from what is known; nil is well.
type HealthChecker interface {
	Health(ctx context.Context) error
}

// Stopper is a component with something to finish. Stop is called once, after Run's context has ended and Run has
// returned; ctx ends when the grace is over.
type Stopper interface {
	Stop(ctx context.Context) error
}
