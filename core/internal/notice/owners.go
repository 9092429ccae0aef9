// Package notice sends what the host finds out by itself: to owners what they must know, and to chats that their
// messages wait.
package notice

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// mostAnHour limits the notices of one kind. Others may control what they are about, such as a file of the workspace.
const mostAnHour = 5

// patience bounds a notice to the owners. The caller does not wait for longer.
const patience = 10 * time.Second

// Owners run the host. They get notices in each direct chat of theirs that has a channel.
type Owners struct {
	store         *store.Store
	conversations *conversation.Resolver
	plugins       *plugins.Registry
	log           hclog.Logger

	mu   sync.Mutex
	sent map[domain.KeyKind]quota // by kind
}

// quota has the keys of the notices of one kind in one hour.
type quota struct {
	hour time.Time
	keys []domain.Key
}

// NewOwners returns the owners of the conversations' config.
func NewOwners(
	s *store.Store, conversations *conversation.Resolver, plugins *plugins.Registry, log hclog.Logger,
) *Owners {
	return &Owners{store: s, conversations: conversations, plugins: plugins, log: log, sent: map[domain.KeyKind]quota{}}
}

// Tell sends the owners a text, once for each key. Of each kind of key, owners get at most five texts in an hour, and then one
// that says that further ones are left out. A text that was left out is sent when Tell is called again with its key in another hour.
func (o *Owners) Tell(key domain.Key, text string) {
	kind, hour := key.Kind(), time.Now().Truncate(time.Hour)
	o.mu.Lock()
	q := o.sent[kind]
	if !q.hour.Equal(hour) {
		q = quota{hour: hour}
	}
	before := len(q.keys)
	if before <= mostAnHour && !slices.Contains(q.keys, key) {
		q.keys = append(q.keys, key)
		o.sent[kind] = q
	}
	o.mu.Unlock()
	switch {
	case len(q.keys) == before: // it was sent, or is left out
	case before == mostAnHour:
		o.log.Warn("owners get no more notices of this kind within the hour", "kind", kind, "most", mostAnHour)
		o.tell(domain.KeyLeftOut.Of(kind, hour.Unix()), "", wording.NoticesLeftOut)
	case !o.tell(key, "", text):
		o.mu.Lock()
		q = o.sent[kind]
		q.keys = slices.DeleteFunc(slices.Clone(q.keys), func(other domain.Key) bool { return other == key }) // it is tried again
		o.sent[kind] = q
		o.mu.Unlock()
	}
}

// StrangerAsks notifies them of pairing requests on a channel, at most once an hour. It does not name the person: they
// see the list, which shows nothing that a stranger has written.
func (o *Owners) StrangerAsks(channel string) {
	hour := time.Now().UTC().Format("2006-01-02T15")
	o.Tell(domain.KeyStranger.Of(channel, hour), wording.StrangerAsks(channel))
}

// Crowding notifies them, until ctx ends, of files that were removed because a folder was full.
func (o *Owners) Crowding(ctx context.Context, crowded <-chan files.Crowded) {
	for {
		select {
		case c := <-crowded:
			o.log.Warn("a folder of files is full; the oldest were removed", "folder", c.Folder, "files", c.Files,
				"bytes", c.Bytes, "most", c.Most)
			o.Tell(domain.KeyFolderFull.Of(c.Folder, time.Now().Unix()), c.String())
		case <-ctx.Done():
			return
		}
	}
}

// Direct returns the direct chat of a person, as channel:user. False: their channel does not run.
func (o *Owners) Direct(ctx context.Context, person string) (to chat.Address, ok bool) {
	channel, user, _ := strings.Cut(person, ":")
	return o.chat(ctx, channel, user), o.plugins.Running(channel)
}

// tell sends a text, once for each key, or always with the zero one. A notice about a plugin does not go through that plugin. It
// reports whether the store has taken all that it sent.
func (o *Owners) tell(key domain.Key, plugin, text string) (all bool) {
	all = true
	ctx, cancel := context.WithTimeout(context.Background(), patience) // it outlives the caller
	defer cancel()
	for _, owner := range o.conversations.Config().Access.Owners {
		channel, user, _ := strings.Cut(owner, ":")
		if !o.plugins.Enabled(channel) || channel == plugin {
			continue
		}
		to := o.chat(ctx, channel, user)
		if _, err := o.store.Post(ctx, key.For(owner), o.conversations.Notice(to, chat.Direct, text)...); err != nil {
			o.log.Error("cannot tell an owner", "channel", channel, "error", err)
			all = false
		}
	}
	return all
}

// chat is the direct chat in which a user wrote last. Before the first message it is their id, by which channels find
// the chat.
func (o *Owners) chat(ctx context.Context, channel, user string) chat.Address {
	if found, err := o.store.DirectChat(ctx, channel, user); err == nil {
		return chat.Address{Channel: channel, Chat: found.Chat}
	}
	return chat.Address{Channel: channel, Chat: chat.ID(user)}
}

// Quote makes a program's output safe for a code block: one line, bounded, without the end of the block.
func Quote(s string) string {
	const most = 300
	line := []rune(strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "'")), " "))
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return string(line)
}
