package core

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// owners tells those who run the host what they must know, in each direct chat of theirs that has a channel.
type owners struct{ host *Host }

// Tell tells them a text, once for each key.
func (o owners) Tell(key, text string) { o.tell(key, "", text) }

// PluginFails tells them why a plugin does not run and what helps.
func (o owners) PluginFails(name, why, advice string) {
	o.tell("", name, fmt.Sprintf("The plugin %s does not run:\n\n```\n%s\n```\n\n%s", name, quoted(why), advice))
}

// PluginRuns tells them that a plugin runs again.
func (o owners) PluginRuns(name string) {
	o.tell("", name, fmt.Sprintf("The plugin %s runs again.", name))
}

// StrangerAsks tells them that somebody asks to be let in on a channel: once an hour, however many do. Who it is they see in the
// list, which shows nothing that a stranger has written.
func (o owners) StrangerAsks(channel string) {
	hour := time.Now().UTC().Format("2006-01-02T15")
	o.Tell("stranger:"+channel+":"+hour, fmt.Sprintf("Somebody asks to be let in on %s. /approve lists who.", channel))
}

// tell tells them a text, once for each key, or each time where there is none. What is told of a plugin does not go through it.
func (o owners) tell(key, plugin, text string) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := o.host
	for _, owner := range h.config.Access.Owners {
		channel, user, _ := strings.Cut(owner, ":")
		if p := h.config.Plugin(channel); p == nil || !p.Enabled || channel == plugin {
			continue
		}
		once := ""
		if key != "" {
			once = key + ":" + owner
		}
		to := h.likelyChat(ctx, channel, chat.UserID(user))
		if _, err := h.store.Post(ctx, once, h.conversations.Notice(to, chat.Direct, text)...); err != nil {
			h.log.Error("tell an owner", "channel", channel, "error", err)
		}
	}
}
