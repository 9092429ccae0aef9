package sdktest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Network is a simulated chat network, which an author implements for [Exercise]. Texts identify messages: the suite never
// uses a text twice. The methods are called from one goroutine at a time; Deliver may be called before the channel runs and
// while it is stopped.
//
// The network must be able to show every capability that the channel's description and limits declare: it then implements
// further interfaces of this package.
type Network interface {
	// Deliver makes a person write a message in a chat. It does not wait: the network delivers the message repeatedly,
	// across restarts of the channel, until the channel acknowledges it, and delivers a chat's messages in order.
	Deliver(to chat.ID, text string)
	// Acknowledged reports whether the channel has confirmed to the network that it need not deliver the message again.
	Acknowledged(text string) bool
	// Sent returns the texts that reached the people of a chat, in order.
	Sent(to chat.ID) []string
	// Refuse makes the network refuse all further messages to a chat, and returns the reason that the channel must give.
	Refuse(to chat.ID) chat.Reason
}

// EditNetwork is a [Network] whose Sent returns messages as they are now: edited, and without deleted ones. It is required
// for an [sdk.Editor] or [sdk.Deleter].
type EditNetwork interface {
	Network
	// Remove makes a user delete a message of the channel without the channel knowing.
	Remove(to chat.ID, id chat.MessageID)
}

// FailNetwork is a [Network] that can refuse messages for different reasons. It is required unless the channel is never
// refused.
type FailNetwork interface {
	Network
	// Fail makes the network refuse the next message to a chat for a reason, with the network's own error; a rate limit
	// says how long to wait. The message has a file if the reason is [chat.MediaRejected], otherwise only text. It returns
	// false if the network never refuses for this reason, which Setup.Never must then list.
	Fail(to chat.ID, reason chat.Reason) bool
}

// ButtonNetwork is a [Network] whose messages can have buttons. It is required for a channel with limits for buttons.
type ButtonNetwork interface {
	Network
	// Press makes a person press the button with the given label on a message of the channel. It does not wait.
	Press(to chat.ID, id chat.MessageID, label string)
}

// PollNetwork is a [Network] with polls. It is required for a channel with limits for polls.
type PollNetwork interface {
	Network
	// Polls returns the polls that reached the people of a chat, in order.
	Polls(to chat.ID) []chat.Poll
}

// MenuNetwork is a [Network] with a menu of commands. It is required for an [sdk.CommandMenu].
type MenuNetwork interface {
	Network
	// Menu returns the names of the commands in the menu, in order.
	Menu() []string
}

// File is a file of a message.
type File struct {
	Name, MIMEType string
	Content        []byte
}

// MediaNetwork is a [Network] whose messages can have files. It is required for a channel with limits for media.
type MediaNetwork interface {
	Network
	// Attach makes a person send a file with a caption, which identifies the message, as the text does in Deliver.
	Attach(to chat.ID, caption string, file File)
	// Files returns the contents of the files that reached the people of a chat, in order. Their captions are in Sent.
	Files(to chat.ID) []string
}

// TypingNetwork is a [Network] that shows who is writing. It is required for an [sdk.Typer].
type TypingNetwork interface {
	Network
	// Typed reports whether the people of a chat have seen that the channel is writing.
	Typed(to chat.ID) bool
}

// DraftNetwork is a [Network] that shows drafts. It is required for an [sdk.Drafter].
type DraftNetwork interface {
	Network
	// Draft returns the draft that the people of a chat see now; empty: none.
	Draft(to chat.ID) string
}

// MarkNetwork is a [Network] that shows the channel's own reactions. It is required for an [sdk.Reactor].
type MarkNetwork interface {
	Network
	// Mark returns the channel's emoji on a person's message; empty: none.
	Mark(to chat.ID, id chat.MessageID) string
}

// PinNetwork is a [Network] that shows pinned messages. It is required for an [sdk.Pinner].
type PinNetwork interface {
	Network
	// Pinned returns the texts of the channel's messages that are pinned in a chat.
	Pinned(to chat.ID) []string
}

// Feature is a feature of a chat network that the channel's description does not declare.
type Feature string

// The features, each with the [Network] that shows it.
const (
	Absences  Feature = "absences"  // it can be down for a while: [AbsentNetwork]
	Accounts  Feature = "accounts"  // its account can be revoked: [AccountNetwork]
	Groups    Feature = "groups"    // chats with several people: [GroupNetwork]
	Threads   Feature = "threads"   // within a chat: [ThreadNetwork]
	Reactions Feature = "reactions" // by people, which it reports: [ReactionNetwork]
	Edits     Feature = "edits"     // by people, which it reports: [RevisionNetwork]
	Deletions Feature = "deletions" // by people, which it reports: [RetractionNetwork]
	Typists   Feature = "typists"   // who are seen writing: [TypistNetwork]
	Cuts      Feature = "cuts"      // connections that break before the response: [CutNetwork]
	Repeats   Feature = "repeats"   // of a key show one message: the limits name IdempotentSend
	Answers   Feature = "answers"   // by people to messages with files that the channel can fetch: [AnswerNetwork]
)

// AbsentNetwork is a [Network] that can be down. Its channel must be an [sdk.HealthChecker].
type AbsentNetwork interface {
	Network
	// Leave breaks the channel's connection and accepts no new one. Deliver may be called meanwhile.
	Leave()
	// Return makes the network reachable again.
	Return()
}

// AccountNetwork is a [Network] that can revoke the channel's account.
type AccountNetwork interface {
	Network
	// Revoke invalidates the channel's credentials.
	Revoke()
}

// GroupNetwork is a [Network] with groups.
type GroupNetwork interface {
	Network
	// Group returns a group that the channel is in. Deliver and Sent also accept it.
	Group() chat.ID
	// Mention makes a person write in the group and mention the channel's account before the text.
	Mention(text string)
}

// MemberNetwork is a [GroupNetwork] that lists the members of its group. It is required for an [sdk.MemberLister].
type MemberNetwork interface {
	GroupNetwork
	// Members returns at least two people whom the network lists, and whether there are others.
	Members() (listed []chat.UserID, others bool)
}

// ThreadNetwork is a [Network] with threads.
type ThreadNetwork interface {
	Network
	// Thread returns an existing thread.
	Thread() (chat.ID, chat.ThreadID)
	// DeliverThread makes a person write in the thread; otherwise it is like Deliver.
	DeliverThread(text string)
	// SentThread returns the texts that reached the people of the thread, in order.
	SentThread() []string
}

// CutNetwork is a [Network] whose connection can break while something is sent.
type CutNetwork interface {
	Network
	// Cut makes the next message to a chat arrive, and breaks the connection before the channel receives the response.
	Cut(to chat.ID)
}

// ReactionNetwork is a [Network] that reports reactions to the channel.
type ReactionNetwork interface {
	Network
	// React makes a person react to a message of the channel, or remove the reaction if emoji is empty.
	React(to chat.ID, id chat.MessageID, emoji string)
}

// RevisionNetwork is a [Network] that reports people's edits to the channel.
type RevisionNetwork interface {
	Network
	// Revise makes a person edit their message.
	Revise(to chat.ID, text, changed string)
}

// RetractionNetwork is a [Network] that reports people's deletions to the channel.
type RetractionNetwork interface {
	Network
	// Retract makes a person delete their message.
	Retract(to chat.ID, text string)
}

// AnswerNetwork is a [MediaNetwork] on which people reply to messages, and the channel can fetch the files of those
// messages. On a network with groups, Attach also accepts the group.
type AnswerNetwork interface {
	MediaNetwork
	// Answer makes a person reply to a message of a chat, identified by its text; it may be the channel's own. In a group
	// the reply mentions the channel's account if asked is set.
	Answer(to chat.ID, answered, text string, asked bool)
}

// TypistNetwork is a [Network] that tells the channel who is writing.
type TypistNetwork interface {
	Network
	// Type makes a person write in a chat, and not send it yet. It does not wait.
	Type(in chat.ID)
}

// as returns the network as an N, which the channel's declared capability requires.
func as[N Network](t testing.TB, n Network, what string) N {
	t.Helper()
	shows, ok := n.(N)
	if !ok {
		t.Fatalf("the channel has %s, and nothing shows that they work: its Network must be a sdktest.%s", what,
			reflect.TypeFor[N]().Name())
	}
	return shows
}

// feature returns the network as an N, which shows a feature, or false if the setup says that the network does not have it.
func feature[N Network](t testing.TB, s Setup, n Network, f Feature) (N, bool) {
	t.Helper()
	shows, ok := n.(N)
	switch without, name := slices.Contains(s.Without, f), reflect.TypeFor[N]().Name(); {
	case ok && without:
		t.Fatalf("the setup says that the network is without %s, but it is a sdktest.%s", f, name)
	case !ok && !without:
		t.Fatalf("nothing shows how the channel takes %s: its Network must be a sdktest.%s, or Setup.Without name them", f, name)
	}
	return shows, ok
}
