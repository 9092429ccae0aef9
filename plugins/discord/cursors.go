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

// cursors know up to which message the host has what was written in each channel, over restarts. Discord confirms nothing
// and keeps nothing for a bot: this is what a bot that was away goes on from. One goroutine uses it.
//
// A channel is written down before its first message is submitted, so that a message that the host could not take is not
// forgotten with the channel. How far the host is in it is written later: what comes twice the host knows by its id.
type cursors struct {
	state   sdk.State
	at      map[string]cursor // by channel
	dirty   map[string]bool
	present snowflake // up to this moment the bot has heard all that it may read
	saved   snowflake // present as it is written down
}

// cursor is how far the host is in a channel.
type cursor struct {
	last  snowflake // the last message that it has
	guild string    // whose the channel is; empty: it is a direct one
	heard bool      // in this life it has gone on
}

const (
	cursorPrefix = "channel/"
	presentKey   = "present"
	// slack is by how much Discord's clock and the order of its ids may differ from what one expects.
	slack = 5 * time.Second
	// presentEvery is how often the bot's presence is written down.
	presentEvery = time.Minute
	// maxCursors is how many channels are known. Anybody may open a direct one.
	maxCursors = 5000
)

func newCursors(state sdk.State) cursors {
	return cursors{state: state, at: map[string]cursor{}, dirty: map[string]bool{}}
}

// load reads what was saved, or begins.
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

// meet writes a channel down that is new, as one whose next message is this one. Of too many that has been silent for the
// longest is forgotten.
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

// first tells whether a message is the one that its channel was met with.
func (c *cursors) first(channel string, id snowflake) bool {
	at := c.at[channel]
	return !at.heard && at.last == id-1
}

// passed notes that the host has a message.
func (c *cursors) passed(channel string, id snowflake) {
	if at := c.at[channel]; id > at.last {
		c.at[channel], c.dirty[channel] = cursor{id, at.guild, true}, true
	}
}

// drop forgets a channel that is gone.
func (c *cursors) drop(ctx context.Context, channel string) error {
	delete(c.at, channel)
	delete(c.dirty, channel)
	return c.state.Delete(ctx, cursorPrefix+channel)
}

// there notes that up to a moment the bot has heard all.
func (c *cursors) there(at time.Time) { c.present = max(c.present, snowflakeAt(at.Add(-2*slack))) }

// save writes what has changed. What could not be written stays changed.
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

// close saves all.
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

// after is from where a channel that the bot knows is asked: a little before the last message that the host has, for a
// message may come after one with a higher id.
func (c *cursors) after(channel string) snowflake {
	last := c.at[channel].last
	return last - min(last, snowflakes(slack))
}
