package sdktest

import (
	"errors"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// EditNetwork is a [Network] whose Sent returns messages as they are now: edited, and without those that were deleted. It
// has [Exercise] hold an [sdk.Editor] and an [sdk.Deleter] to what they promise.
type EditNetwork interface {
	Network
	// Remove has somebody delete a message of the channel's behind its back.
	Remove(to chat.ID, id chat.MessageID)
}

// FailNetwork is a [Network] that can refuse in several ways.
type FailNetwork interface {
	Network
	// Fail has the network refuse the next message to a chat for a reason, as only it words it; a limit of the rate tells
	// how long to wait. False: it never refuses for this reason.
	Fail(to chat.ID, reason chat.Reason) bool
}

// ButtonNetwork is a [Network] whose messages can have buttons.
type ButtonNetwork interface {
	Network
	// Press has a person press the button with a label under a message of the channel's. It does not wait.
	Press(to chat.ID, id chat.MessageID, label string)
}

// ReactionNetwork is a [Network] that tells the channel of reactions.
type ReactionNetwork interface {
	Network
	// React has a person put an emoji on a message of the channel's, or take theirs back where it is empty.
	React(to chat.ID, id chat.MessageID, emoji string)
}

// post sends a text to the first chat and returns the id of the message.
func (s Setup) post(t *testing.T, h *Harness, text string, buttons ...[]chat.Button) (chat.Address, chat.MessageID) {
	t.Helper()
	to := chat.Address{Channel: Instance, Chat: s.Chats[0]}
	receipt, err := h.Send(chat.Outgoing{Key: "key of " + text, To: to, Text: text, Buttons: buttons})
	if err != nil || len(receipt.IDs) != 1 {
		t.Fatalf("send %q: ids %v, %v; want one", text, receipt.IDs, err)
	}
	return to, receipt.IDs[0]
}

func changes(t *testing.T, s Setup) {
	n, h := s.connect(t)
	network, ok := n.(EditNetwork)
	can := func(capability string) bool { return slices.Contains(h.Describe().Capabilities, capability) }
	if !ok || !can("CAPABILITY_CHANNEL_EDIT") && !can("CAPABILITY_CHANNEL_DELETE") {
		return // the network cannot change what was sent, or the test not see it
	}
	shows := func(what string, texts ...string) {
		t.Helper()
		eventually(t, what, func() bool { return slices.Equal(network.Sent(s.Chats[0]), texts) })
	}
	to, first := s.post(t, h, "the first")
	_, second := s.post(t, h, "the second")
	if can("CAPABILITY_CHANNEL_EDIT") {
		for range 2 { // the second time there is nothing to change, which is as well
			if err := h.Edit(to, first, "changed", nil); err != nil {
				t.Fatalf("edit: %v", err)
			}
		}
		shows("the edited message is shown", "changed", "the second")
	}
	if can("CAPABILITY_CHANNEL_DELETE") {
		if err := h.Delete(to, first); err != nil {
			t.Fatalf("delete: %v", err)
		}
		shows("the deleted message is gone", "the second")
	}
	network.Remove(s.Chats[0], second)
	if can("CAPABILITY_CHANNEL_EDIT") {
		err := h.Edit(to, second, "too late", nil)
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.TargetGone || f.MaybeDelivered {
			t.Errorf("an edit of what is gone gives %v, want a failure: %s", err, chat.TargetGone)
		}
	}
	if can("CAPABILITY_CHANNEL_DELETE") {
		err := h.Delete(to, second)
		if f, ok := errors.AsType[*chat.Failure](err); err != nil && (!ok || f.Reason != chat.TargetGone) {
			t.Errorf("a deletion of what is gone gives %v, want none or a failure: %s", err, chat.TargetGone)
		}
	}
}

func tellsEachReason(t *testing.T, s Setup) {
	for reason := chat.Temporary; reason <= chat.Invalid; reason++ {
		t.Run(reason.String(), func(t *testing.T) {
			n, h := s.connect(t)
			network, ok := n.(FailNetwork)
			if !ok || !network.Fail(s.Chats[0], reason) {
				return // the network does not refuse so
			}
			_, err := h.Send(chat.Outgoing{Key: "refused", To: chat.Address{Channel: Instance, Chat: s.Chats[0]}, Text: "refused"})
			f, ok := errors.AsType[*chat.Failure](err)
			if !ok || f.Reason != reason {
				t.Fatalf("got %v, want a failure: %s", err, reason)
			}
			if reason == chat.RateLimited && (f.RetryAfter <= 0 || f.MaybeDelivered) {
				t.Errorf("the limit says to wait %v, maybe delivered %t; want how long the network told, and not delivered", f.RetryAfter, f.MaybeDelivered)
			}
			if !reason.Retryable() && f.MaybeDelivered {
				t.Error("what the network refused for good may be delivered")
			}
		})
	}
}

func handsOverPresses(t *testing.T, s Setup) {
	n, h := s.connect(t)
	network, ok := n.(ButtonNetwork)
	limits := h.Limits(chat.Direct).Buttons
	if !ok || limits == (chat.ButtonLimits{}) {
		return // the network has no buttons
	}
	data := longest(limits.DataBytes)
	_, id := s.post(t, h, "may I?", []chat.Button{{Label: "Yes", Data: data}, {Label: "No", Data: "n"}})
	before := len(h.Host.Submissions())
	h.Host.OnSubmit(Unavailable)
	network.Press(s.Chats[0], id, "Yes")
	h.awaitHost("the press is submitted twice", func() bool { return len(h.Host.submitted) >= before+2 })
	h.Host.OnSubmit(nil)
	e := h.NextEvent()
	if e.Body != (chat.ButtonPress{MessageID: id, Data: data}) || e.Chat.ID != s.Chats[0] || e.Sender.ID == "" {
		t.Errorf("the press comes as %+v, want one under message %s with the data as it was sent", e, id)
	}
	if first := h.Host.Submissions()[before]; first.ID != e.ID {
		t.Errorf("the press came as event %q and again as %q: the host cannot know it as the same", first.ID, e.ID)
	}
}

// longest is data of a button that is as long as it may be.
func longest(bytes int) string {
	data := make([]byte, max(1, bytes))
	for i := range data {
		data[i] = 'a' + byte(i%26)
	}
	return string(data)
}

func handsOverReactions(t *testing.T, s Setup) {
	n, h := s.connect(t)
	network, ok := n.(ReactionNetwork)
	if !ok {
		return // the network has no reactions
	}
	_, id := s.post(t, h, "well?")
	for _, emoji := range []string{"👍", ""} {
		network.React(s.Chats[0], id, emoji)
		e := h.NextEvent()
		if e.Body != (chat.Reaction{MessageID: id, Emoji: emoji}) || e.Chat.ID != s.Chats[0] {
			t.Errorf("the reaction %q comes as %+v", emoji, e)
		}
	}
}
