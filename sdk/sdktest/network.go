package sdktest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Network is what an author writes to have a channel exercised: the network's other end, simulated. Texts name messages:
// the suite never uses one twice. The methods are called from one goroutine at a time; Deliver may be called before the
// channel runs and while none does.
//
// What the channel's description and limits say it can, the network must be able to show: it is then one of the other
// networks of this package too.
type Network interface {
	// Deliver has a person write a message in a chat. It does not wait: the network delivers the message until the channel
	// acknowledges it, as often and to as many lives of the channel as that takes, and the chat's messages in order.
	Deliver(to chat.ID, text string)
	// Acknowledged tells whether the channel has told the network that it need not deliver the message again.
	Acknowledged(text string) bool
	// Sent returns the texts that reached the people of a chat, in order.
	Sent(to chat.ID) []string
	// Refuse has the network refuse what is sent to a chat from now on, and returns the reason that the channel must give.
	Refuse(to chat.ID) chat.Reason
}

// EditNetwork is a [Network] whose Sent returns messages as they are now: edited, and without those that were deleted. That
// of an [sdk.Editor] or [sdk.Deleter] must be one.
type EditNetwork interface {
	Network
	// Remove has somebody delete a message of the channel's behind its back.
	Remove(to chat.ID, id chat.MessageID)
}

// FailNetwork is a [Network] that can refuse in several ways. Each must be one, but for a channel that is never refused for
// any reason.
type FailNetwork interface {
	Network
	// Fail has the network refuse the next message to a chat for a reason, as only it words it; a limit of the rate tells
	// how long to wait. The message has a file if the reason is [chat.MediaRejected], else a text alone. False: it never
	// refuses for this reason, which Setup.Never must then say too.
	Fail(to chat.ID, reason chat.Reason) bool
}

// ButtonNetwork is a [Network] whose messages can have buttons. That of a channel with limits of buttons must be one.
type ButtonNetwork interface {
	Network
	// Press has a person press the button with a label under a message of the channel's. It does not wait.
	Press(to chat.ID, id chat.MessageID, label string)
}

// MenuNetwork is a [Network] with a menu of commands. That of an [sdk.CommandMenu] must be one.
type MenuNetwork interface {
	Network
	// Menu returns the names of the commands that people are shown, in order.
	Menu() []string
}

// File is a file beside a message.
type File struct {
	Name, MIMEType string
	Content        []byte
}

// MediaNetwork is a [Network] whose messages can have files. That of a channel with limits of media must be one.
type MediaNetwork interface {
	Network
	// Attach has a person send a file with a caption, which names the message, as Deliver has one write.
	Attach(to chat.ID, caption string, file File)
	// Files returns the contents of the files that reached the people of a chat, in order. Their captions are in Sent.
	Files(to chat.ID) []string
}

// TypingNetwork is a [Network] that shows who is writing. That of an [sdk.Typer] must be one.
type TypingNetwork interface {
	Network
	// Typed tells whether the people of a chat were shown that the channel writes.
	Typed(to chat.ID) bool
}

// DraftNetwork is a [Network] that shows what is about to be sent. That of an [sdk.Drafter] must be one.
type DraftNetwork interface {
	Network
	// Draft returns what the people of a chat are shown now; empty: nothing.
	Draft(to chat.ID) string
}

// MarkNetwork is a [Network] that shows the channel's own reactions. That of an [sdk.Reactor] must be one.
type MarkNetwork interface {
	Network
	// Mark returns the emoji that the channel has put on a message of a person's; empty: none.
	Mark(to chat.ID, id chat.MessageID) string
}

// Feature is something that a chat network may have without that the description of its channel tells.
type Feature string

// The features, each with the [Network] that shows it.
const (
	Absences  Feature = "absences"  // it can be away for a while: [AbsentNetwork]
	Accounts  Feature = "accounts"  // its account can be taken away: [AccountNetwork]
	Groups    Feature = "groups"    // chats of several people: [GroupNetwork]
	Threads   Feature = "threads"   // of a chat: [ThreadNetwork]
	Reactions Feature = "reactions" // people's, of which it tells: [ReactionNetwork]
	Edits     Feature = "edits"     // people's, of which it tells: [RevisionNetwork]
	Deletions Feature = "deletions" // people's, of which it tells: [RetractionNetwork]
	Cuts      Feature = "cuts"      // connections that break before an answer: [CutNetwork]
	Repeats   Feature = "repeats"   // of a key, which show one message: the limits name IdempotentSend
	Answers   Feature = "answers"   // of people's to messages with files, which the channel gets at: [AnswerNetwork]
)

// AbsentNetwork is a [Network] that can be away. Its channel must be an [sdk.HealthChecker].
type AbsentNetwork interface {
	Network
	// Leave cuts the channel off and takes no new connection. Deliver may be called meanwhile.
	Leave()
	// Return has the network be there again.
	Return()
}

// AccountNetwork is a [Network] that can take the channel's account away.
type AccountNetwork interface {
	Network
	// Revoke ends what the channel's credentials are good for.
	Revoke()
}

// GroupNetwork is a [Network] with groups.
type GroupNetwork interface {
	Network
	// Group returns a group that the channel is in. Deliver and Sent take it too.
	Group() chat.ID
	// Mention has a person write in the group and name the channel's account in front of the text.
	Mention(text string)
}

// ThreadNetwork is a [Network] with threads.
type ThreadNetwork interface {
	Network
	// Thread returns a thread that is there.
	Thread() (chat.ID, chat.ThreadID)
	// DeliverThread has a person write in it, as Deliver has one.
	DeliverThread(text string)
	// SentThread returns the texts that reached the people of the thread, in order.
	SentThread() []string
}

// CutNetwork is a [Network] whose connection can break while something is sent.
type CutNetwork interface {
	Network
	// Cut has the next message to a chat arrive, and the connection break before the channel is told so.
	Cut(to chat.ID)
}

// ReactionNetwork is a [Network] that tells the channel of reactions.
type ReactionNetwork interface {
	Network
	// React has a person put an emoji on a message of the channel's, or take theirs back where it is empty.
	React(to chat.ID, id chat.MessageID, emoji string)
}

// RevisionNetwork is a [Network] that tells the channel when people change their messages.
type RevisionNetwork interface {
	Network
	// Revise has a person change a message that they wrote.
	Revise(to chat.ID, text, changed string)
}

// RetractionNetwork is a [Network] that tells the channel when people delete their messages.
type RetractionNetwork interface {
	Network
	// Retract has a person delete a message that they wrote.
	Retract(to chat.ID, text string)
}

// AnswerNetwork is a [MediaNetwork] on which people answer messages, and the channel gets at the files of those. With groups,
// Attach takes the group too.
type AnswerNetwork interface {
	MediaNetwork
	// Answer has a person answer a message of a chat that is named by its text, the channel's own too. In a group the answer
	// names the channel's account if that is asked.
	Answer(to chat.ID, answered, text string, asked bool)
}

// as returns the network as an N, which shows what the channel says it has.
func as[N Network](t testing.TB, n Network, what string) N {
	t.Helper()
	shows, ok := n.(N)
	if !ok {
		t.Fatalf("the channel has %s, and nothing shows that they work: its Network must be a sdktest.%s", what, reflect.TypeFor[N]().Name())
	}
	return shows
}

// feature returns the network as an N, which shows a feature; false: the network does not have it, and the setup says so.
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
