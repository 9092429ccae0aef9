package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// cursors know up to which message the host has what was written in each channel, over restarts. Discord confirms nothing
// and keeps nothing for a bot: this is what a bot that was away goes on from. One goroutine uses it.
//
// A channel is written down before its first message is submitted, so that a message that the host could not take is not
// forgotten with the channel. How far the host is in it is written later: what comes twice the host knows by its id.
type cursors struct {
	state sdk.State
	start snowflake            // when the bot first came; what was written before is not for it
	at    map[string]snowflake // by channel
	dirty map[string]bool
}

const (
	cursorPrefix = "channel/"
	startKey     = "start"
)

// load reads what was saved, or begins.
func (c *cursors) load(ctx context.Context) error {
	raw, _, err := c.state.Get(ctx, startKey)
	switch {
	case errors.Is(err, sdk.ErrNotFound):
		// Some seconds early: Discord's clock is another one.
		c.start = snowflakeAt(time.Now().Add(-10 * time.Second))
		if _, err := c.state.Put(ctx, startKey, []byte(c.start.String())); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		c.start = parseID(string(raw))
	}
	for after := ""; ; {
		keys, err := c.state.List(ctx, cursorPrefix, after)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		for _, key := range keys {
			raw, _, err := c.state.Get(ctx, key)
			if err != nil && !errors.Is(err, sdk.ErrNotFound) {
				return err
			}
			if id := parseID(string(raw)); id != 0 {
				c.at[strings.TrimPrefix(key, cursorPrefix)] = id
			}
			after = key
		}
	}
}

// meet writes a channel down that is new, as one whose next message is this one.
func (c *cursors) meet(ctx context.Context, channel string, next snowflake) error {
	if _, known := c.at[channel]; known {
		return nil
	}
	if _, err := c.state.Put(ctx, cursorPrefix+channel, []byte((next - 1).String())); err != nil {
		return err
	}
	c.at[channel] = next - 1
	return nil
}

// passed notes that the host has a message.
func (c *cursors) passed(channel string, id snowflake) {
	if id > c.at[channel] {
		c.at[channel], c.dirty[channel] = id, true
	}
}

// drop forgets a channel that is gone.
func (c *cursors) drop(ctx context.Context, channel string) error {
	delete(c.at, channel)
	delete(c.dirty, channel)
	return c.state.Delete(ctx, cursorPrefix+channel)
}

// save writes what has changed. What could not be written stays changed.
func (c *cursors) save(ctx context.Context) {
	for channel := range c.dirty {
		if _, err := c.state.Put(ctx, cursorPrefix+channel, []byte(c.at[channel].String())); err != nil {
			return
		}
		delete(c.dirty, channel)
	}
}

// close saves though ctx has ended.
func (c *cursors) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	c.save(ctx)
}

// after is the last message of a channel that the host has.
func (c *cursors) after(channel string) snowflake {
	if id, known := c.at[channel]; known {
		return id
	}
	return c.start
}
