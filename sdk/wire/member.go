package wire

import (
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// MaxMembers is the maximum number of members of a group that are listed.
const MaxMembers = 200

// MembersToProto converts members, of which the first [MaxMembers] are kept.
func MembersToProto(m chat.Members) *pluginv1.ListMembersResponse {
	return &pluginv1.ListMembersResponse{
		Members: each(m.List[:min(len(m.List), MaxMembers)], func(one chat.Member) *pluginv1.Member {
			return &pluginv1.Member{Sender: SenderToProto(one.Sender), IsAdmin: one.IsAdmin}
		}),
		Total: unsigned(m.Total), AdminsOnly: m.AdminsOnly,
	}
}

// MembersFromProto converts members. Those without a valid id are left out.
func MembersFromProto(p *pluginv1.ListMembersResponse) (chat.Members, error) {
	if err := count("members", len(p.GetMembers()), MaxMembers); err != nil {
		return chat.Members{}, err
	}
	m := chat.Members{Total: signed(p.GetTotal()), AdminsOnly: p.GetAdminsOnly()}
	for _, one := range p.GetMembers() {
		if sender, err := SenderFromProto(one.GetSender()); err == nil && sender.ID != "" {
			m.List = append(m.List, chat.Member{Sender: sender, IsAdmin: one.GetIsAdmin()})
		}
	}
	return m, nil
}
