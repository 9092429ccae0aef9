package main

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// maxDirects limits the people whose direct channels are remembered.
const maxDirects = 1000

// directs are the direct channels of people whom the host addresses by their own ids, because they have not written yet.
type directs struct {
	mu sync.Mutex
	of map[string]string // by the person's id
}

func (d *directs) known(person string) (channel string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	channel, ok = d.of[person]
	return channel, ok
}

func (d *directs) learn(person, channel string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil || len(d.of) >= maxDirects {
		d.of = map[string]string{}
	}
	d.of[person] = channel
}

// at calls do with the channel of an address. If that does not exist, the id may be a person's: then do is called with
// their direct channel.
func (c *channel) at(ctx context.Context, to chat.Address, do func(channel string) error) error {
	id, err := target(to)
	if err != nil {
		return err
	}
	if direct, known := c.directs.known(id); known {
		return network.Failure(do(direct))
	}
	err = do(id)
	if e, ok := errors.AsType[*callError](err); !ok || e.code != unknownChannel || to.Thread != "" {
		return network.Failure(err)
	}
	var direct struct{ ID string }
	switch open := c.rest.call(ctx, "POST direct channel", http.MethodPost, "users/@me/channels",
		map[string]string{"recipient_id": id}, &direct); {
	case refused(open) || open == nil && parseID(direct.ID) == 0:
		return network.Failure(err) // not a person either
	case open != nil:
		return network.Failure(open)
	}
	c.directs.learn(id, direct.ID)
	return network.Failure(do(direct.ID))
}
