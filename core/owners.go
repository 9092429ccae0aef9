package core

import (
	"context"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// owners tells those who run the host what they must know, in each direct chat of theirs that has a channel.
type owners struct{ host *Host }

// Tell tells them a text, once for each key.
func (o owners) Tell(key, text string) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := o.host
	for _, owner := range h.config.Access.Owners {
		channel, user, _ := strings.Cut(owner, ":")
		if p := h.config.Plugin(channel); p == nil || !p.Enabled {
			continue
		}
		to := h.likelyChat(ctx, channel, chat.UserID(user))
		if _, err := h.store.Post(ctx, key+":"+owner, h.told(to, chat.Direct, text)...); err != nil {
			h.log.Error("tell an owner", "channel", channel, "error", err)
		}
	}
}
