package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// Members implements sdk.MemberLister: the members of the server. Discord lists them only for bots with the intent "Server Members".
func (c *channel) Members(ctx context.Context, of chat.Address, limit int) (chat.Members, error) {
	var members chat.Members
	err := c.at(ctx, of, func(id string) error {
		var here discordgo.Channel
		if err := c.rest.call(ctx, "GET channel", http.MethodGet, "channels/"+id, nil, &here); err != nil {
			return err
		}
		if parseID(here.GuildID) == 0 {
			return network.Refuse(chat.Invalid, "a direct channel has no members")
		}
		var server struct {
			Total int    `json:"approximate_member_count"`
			Owner string `json:"owner_id"`
		}
		if err := c.rest.call(ctx, "GET guild", http.MethodGet, "guilds/"+here.GuildID+"?with_counts=true", nil, &server); err != nil {
			return err
		}
		var list []*discordgo.Member
		if err := c.rest.call(ctx, "GET members", http.MethodGet,
			fmt.Sprintf("guilds/%s/members?limit=%d", here.GuildID, limit), nil, &list); err != nil {
			return err
		}
		members = chat.Members{Total: server.Total}
		for _, m := range list {
			if m != nil && m.User != nil {
				members.List = append(members.List, chat.Member{Sender: inbound{}.sender(m.User, m), IsAdmin: m.User.ID == server.Owner})
			}
		}
		return nil
	})
	return members, err
}
