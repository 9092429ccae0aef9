package sdktest

import (
	"slices"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func listsMembers(t testing.TB, s Setup) {
	n, h := s.connect(t)
	if !h.can("MEMBERS") {
		return
	}
	network := as[MemberNetwork](t, n, "members")
	group := chat.Address{Channel: Instance, Chat: network.Group()}
	want, others := network.Members()
	got, err := h.Members(group, 100)
	if err != nil {
		t.Fatalf("list members: %v", err)
	}
	for _, id := range want {
		if !slices.ContainsFunc(got.List, func(m chat.Member) bool { return m.ID == id }) {
			t.Errorf("%s is not among the members: %s", id, shown(got.List))
		}
	}
	if got.AdminsOnly != others || got.Total > 0 && got.Total < len(got.List) {
		t.Errorf("the members are told as %s", shown(got))
	}
	if got, err := h.Members(group, 1); err != nil || len(got.List) != 1 {
		t.Errorf("of at most one member come %d, %v", len(got.List), err)
	}
	if got, err := h.Members(chat.Address{Channel: Instance, Chat: "there is no such chat"}, 1); err == nil {
		t.Errorf("a chat that does not exist has the members %s", shown(got.List))
	}
}
