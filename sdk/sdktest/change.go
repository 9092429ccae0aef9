package sdktest

import (
	"errors"
	"slices"
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
		eventually(t, what, func() bool { return slices.Equal(network.Sent(s.Chats[0]), texts) })
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
