package sdktest

import (
	"errors"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func changes(t testing.TB, s Setup) {
	n, h := s.connect(t)
	edits, deletes := h.can("EDIT"), h.can("DELETE")
	if !edits && !deletes {
		return
	}
	network := as[EditNetwork](t, n, "edits or deletions")
	shows := func(what string, texts ...string) {
		t.Helper()
		eventually(t, what, sentTo(network, s.Chats[0]), are(texts...))
	}
	to, first := s.post(t, h, "the first")
	_, second := s.post(t, h, "the second")
	if edits {
		for range 2 { // the second time there is nothing to change, which is as well
			if err := h.Edit(to, first, "changed", nil); err != nil {
				t.Fatalf("edit: %v", err)
			}
		}
		shows("the edited message is shown", "changed", "the second")
	}
	if deletes {
		if err := h.Delete(to, first); err != nil {
			t.Fatalf("delete: %v", err)
		}
		shows("the deleted message is gone", "the second")
	}
	network.Remove(s.Chats[0], second)
	if edits {
		err := h.Edit(to, second, "too late", nil)
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.TargetGone || f.MaybeDelivered {
			t.Errorf("an edit of what is gone gives %v, want a failure: %s", err, chat.TargetGone)
		}
	}
	if deletes {
		err := h.Delete(to, second)
		if f, ok := errors.AsType[*chat.Failure](err); err != nil && (!ok || f.Reason != chat.TargetGone) {
			t.Errorf("a deletion of what is gone gives %v, want none or a failure: %s", err, chat.TargetGone)
		}
	}
}

func marks(t testing.TB, s Setup) {
	n, config := s.network(t)
	h, _ := s.start(t, config)
	if !h.can("REACT") {
		return
	}
	network := as[MarkNetwork](t, n, "reactions")
	network.Deliver(s.Chats[0], "well done")
	m, ok := h.NextEvent().Body.(chat.Message)
	if !ok {
		t.Fatal("no message came")
	}
	for _, emoji := range []string{"👍", "👀", ""} {
		if err := h.React(s.first(), m.ID, emoji); err != nil {
			t.Fatalf("react with %q: %v", emoji, err)
		}
		eventually(t, "the reaction is "+emoji, func() string { return network.Mark(s.Chats[0], m.ID) }, is(emoji))
	}
}

func pins(t testing.TB, s Setup) {
	n, h := s.connect(t)
	if !h.can("PIN") {
		return
	}
	network := as[PinNetwork](t, n, "pinned messages")
	to, id := s.post(t, h, "the question")
	s.post(t, h, "another message")
	pinned := func() []string { return network.Pinned(s.Chats[0]) }
	for _, pin := range []bool{true, true, false, false} { // the second time there is nothing to change, which is as well
		if err := h.Pin(to, id, pin); err != nil {
			t.Fatalf("pin, %t: %v", pin, err)
		}
		if pin {
			eventually(t, "the message is pinned", pinned, are("the question"))
		} else {
			eventually(t, "the message is pinned no longer", pinned, are())
		}
	}
}

func showsTyping(t testing.TB, s Setup) {
	n, h := s.connect(t)
	limits := h.Limits(chat.Direct)
	if !h.can("TYPING") {
		return
	}
	if limits.TypingTTL <= 0 {
		t.Error("the channel shows typing, and its limits do not say for how long")
	}
	network := as[TypingNetwork](t, n, "typing signals")
	if network.Typed(s.Chats[0]) {
		t.Error("typing is shown without a reason")
	}
	if err := h.Typing(s.first(), true); err != nil {
		t.Fatalf("typing: %v", err)
	}
	eventually(t, "typing is shown", func() bool { return network.Typed(s.Chats[0]) }, is(true))
	if err := h.Typing(s.first(), false); err != nil {
		t.Fatalf("no more typing: %v", err)
	}
}

func showsDrafts(t testing.TB, s Setup) {
	n, h := s.connect(t)
	native := h.Limits(chat.Direct).Draft == chat.NativeDraft
	if can := h.can("DRAFT"); can != native && (native || h.Limits(chat.Group).Draft != chat.NativeDraft) {
		t.Fatalf("the channel has drafts: %t; its limits name native ones: %t", can, native)
	}
	if !native {
		return
	}
	network := as[DraftNetwork](t, n, "drafts")
	for _, text := range []string{"", "half of", "half of the answer and"} {
		if err := h.Draft(s.first(), 1, text); err != nil {
			t.Fatalf("draft %q: %v", text, err)
		}
		eventually(t, "the draft is "+text, func() string { return network.Draft(s.Chats[0]) }, is(text))
	}
	s.say(t, h, "half of the answer and the rest")
	eventually(t, "the message takes the draft's place", func() []string {
		return append(network.Sent(s.Chats[0]), "draft: "+network.Draft(s.Chats[0]))
	}, are("half of the answer and the rest", "draft: "))
}
