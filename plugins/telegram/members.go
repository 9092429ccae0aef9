package main

import (
	"context"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// Members implements sdk.MemberLister. Telegram tells bots the administrators, and how many members there are. An administrator
// who is anonymous is left out.
func (c *channel) Members(ctx context.Context, of chat.Address, limit int) (chat.Members, error) {
	var admins []struct {
		User      *tgbotapi.User `json:"user"`
		Anonymous bool           `json:"is_anonymous"`
	}
	members := chat.Members{AdminsOnly: true}
	if err := c.api.callChat(ctx, "getChatAdministrators", tgbotapi.Params{"chat_id": string(of.Chat)}, &admins, nil); err != nil {
		return chat.Members{}, network.Failure(err)
	}
	if err := c.api.callChat(ctx, "getChatMemberCount", tgbotapi.Params{"chat_id": string(of.Chat)}, &members.Total, nil); err != nil {
		return chat.Members{}, network.Failure(err)
	}
	self, _, _ := strings.Cut(c.api.token, ":") // a token begins with the bot's id
	for _, a := range admins {
		if a.User == nil || a.Anonymous || len(members.List) == limit {
			continue
		}
		sender := inbound{}.sender(a.User)
		sender.IsSelf = string(sender.ID) == self
		members.List = append(members.List, chat.Member{Sender: sender, IsAdmin: true})
	}
	return members, nil
}
