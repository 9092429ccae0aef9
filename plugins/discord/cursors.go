package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// cursors records the last message that the host has of each channel, across restarts. Discord confirms nothing and keeps
// nothing for a bot: a bot that was offline catches up from here. It is used by one goroutine.
//
// A channel is stored before its first message is submitted, so that a message that the host could not accept is not lost
// with the channel. The position in it is stored later: the host recognises repeated messages by their ids.
type cursors struct {
	state   sdk.State
	at      map[string]cursor // by channel
	dirty   map[string]bool
	present snowflake // up to this time the bot has received everything
	saved   snowflake // present as it is stored
}

// cursor is the host's position in a channel.
type cursor struct {
	last  snowflake // the last message that the host has
	guild string    // the channel's server; empty: a direct channel
	heard bool      // whether it has advanced in this process
}

const (
	cursorPrefix = "channel/"
	presentKey   = "present"
	// slack is the tolerance for Discord's clock and the order of its ids.
	slack = 5 * time.Second
	// presentEvery is how often present is stored.
	presentEvery = time.Minute
	// maxCursors limits the known channels. Anybody may open a direct one.
	maxCursors = 5000
)

func newCursors(state sdk.State) cursors {
	return cursors{state: state, at: map[string]cursor{}, dirty: map[string]bool{}}
}

// load reads the stored positions, or starts with none.
func (c *cursors) load(ctx context.Context) error {
	raw, _, err := c.state.Get(ctx, presentKey)
	switch {
	case errors.Is(err, sdk.ErrNotFound):
		c.present = snowflakeAt(time.Now().Add(-2 * slack))
		if err := c.savePresent(ctx); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		c.present = parseID(string(raw))
		c.saved = c.present
	}
	return each(ctx, c.state, cursorPrefix, func(channel string, value []byte) error {
		last, guild, _ := strings.Cut(string(value), " ")
		if id := parseID(last); id != 0 {
			c.at[channel] = cursor{last: id, guild: guild}
		}
		return nil
	})
}

// each reads all values whose keys have a prefix.
func each(ctx context.Context, state sdk.State, prefix string, f func(name string, value []byte) error) error {
	for after := ""; ; {
		keys, err := state.List(ctx, prefix, after)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		for _, key := range keys {
			value, _, err := state.Get(ctx, key)
			if err != nil && !errors.Is(err, sdk.ErrNotFound) {
				return err
			}
			if err == nil {
				if err := f(strings.TrimPrefix(key, prefix), value); err != nil {
					return err
				}
			}
			after = key
		}
	}
}

// meet stores a new channel, whose next message is the given one. If there are too many, the one that has been silent
// longest is evicted.
func (c *cursors) meet(ctx context.Context, channel, guild string, next snowflake) error {
	if _, known := c.at[channel]; known {
		return nil
	}
	if len(c.at) >= maxCursors {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(c.at)), func(a, b string) int { return cmp.Compare(c.at[a].last, c.at[b].last) })
		if err := c.drop(ctx, oldest); err != nil {
			return err
		}
	}
	first := cursor{last: next - 1, guild: guild}
	if err := c.put(ctx, channel, first); err != nil {
		return err
	}
	c.at[channel] = first
	return nil
}

func (c *cursors) put(ctx context.Context, channel string, at cursor) error {
	_, err := c.state.Put(ctx, cursorPrefix+channel, []byte(strings.TrimSpace(at.last.String()+" "+at.guild)))
	return err
}

// first reports whether a message is the one with which its channel was added.
func (c *cursors) first(channel string, id snowflake) bool {
	at := c.at[channel]
	return !at.heard && at.last == id-1
}

// passed records that the host has a message.
func (c *cursors) passed(channel string, id snowflake) {
	if at := c.at[channel]; id > at.last {
		c.at[channel], c.dirty[channel] = cursor{id, at.guild, true}, true
	}
}

// drop removes a deleted channel.
func (c *cursors) drop(ctx context.Context, channel string) error {
	delete(c.at, channel)
	delete(c.dirty, channel)
	return c.state.Delete(ctx, cursorPrefix+channel)
}

// there records that up to a time the bot has received everything.
func (c *cursors) there(at time.Time) { c.present = max(c.present, snowflakeAt(at.Add(-2*slack))) }

// save stores the changes. If that fails they are stored next time.
func (c *cursors) save(ctx context.Context) {
	for channel := range c.dirty {
		if c.put(ctx, channel, c.at[channel]) != nil {
			return
		}
		delete(c.dirty, channel)
	}
	if c.present >= c.saved+snowflakes(presentEvery) {
		_ = c.savePresent(ctx)
	}
}

// close stores all positions.
func (c *cursors) close(ctx context.Context) {
	c.save(ctx)
	if c.present != c.saved {
		_ = c.savePresent(ctx)
	}
}

func (c *cursors) savePresent(ctx context.Context) error {
	_, err := c.state.Put(ctx, presentKey, []byte(c.present.String()))
	if err == nil {
		c.saved = c.present
	}
	return err
}

// after returns the position from which a known channel is read: a little before the last message that the host has,
// because a message may arrive after one with a higher id.
func (c *cursors) after(channel string) snowflake {
	last := c.at[channel].last
	return last - min(last, snowflakes(slack))
}
