package core

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// tellOfStranger tells the owners that somebody asks to be let in on a channel: once an hour, however many do. Who it is they
// see in the list, which shows nothing that a stranger has written.
func (h *Host) tellOfStranger(ctx context.Context, channel string) {
	text := fmt.Sprintf("Somebody asks to be let in on %s. /approve lists who.", channel)
	hour := time.Now().UTC().Format("2006-01-02T15")
	for _, owner := range h.config.Access.Owners {
		on, user, _ := strings.Cut(owner, ":")
		if h.config.Plugin(on) == nil || !h.config.Plugin(on).Enabled {
			continue
		}
		to := h.likelyChat(ctx, on, chat.UserID(user))
		key := fmt.Sprintf("stranger:%s:%s:%s", channel, hour, owner)
		if _, err := h.store.Post(ctx, key, h.told(to, chat.Direct, text)...); err != nil {
			h.log.Warn("tell an owner of a stranger", "channel", on, "error", err)
		}
	}
}
