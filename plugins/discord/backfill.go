package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"
)

const (
	pageSize      = 100
	backfillTries = 5
)

// catchUp asks for what was written, since the host had the last of it, in the channels where the bot has heard somebody.
// It is done at the beginning of each session: Discord sends nothing again that was written between two.
func (r *receiver) catchUp(ctx context.Context) error {
	for _, channel := range slices.Sorted(maps.Keys(r.cursors.at)) {
		if err := r.backfill(ctx, channel); err != nil {
			return fmt.Errorf("catch up in channel %s: %w", channel, err)
		}
	}
	return nil
}

// meetGuild learns a server's channels, and catches up in those where somebody wrote and the bot has heard nobody yet.
func (r *receiver) meetGuild(ctx context.Context, g *discordgo.Guild) error {
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		r.places.learn(c, g.ID)
	}
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		if _, known := r.cursors.at[c.ID]; known || parseID(c.LastMessageID) <= r.cursors.start {
			continue
		}
		if c.Type != discordgo.ChannelTypeGuildText && c.Type != discordgo.ChannelTypeGuildNews && !isThread(c.Type) {
			continue
		}
		if err := r.backfill(ctx, c.ID); err != nil {
			return fmt.Errorf("catch up in channel %s: %w", c.ID, err)
		}
	}
	return nil
}

// backfill submits what was written in a channel since the host had the last of it.
func (r *receiver) backfill(ctx context.Context, channel string) error {
	for after := r.cursors.after(channel); ; {
		page, err := r.page(ctx, channel, after)
		if e, ok := errors.AsType[*callError](err); ok && e.gone() {
			r.log.Info("a channel is gone, or the bot may not read it", "channel", channel, "error", e)
			return r.cursors.drop(ctx, channel)
		}
		if err != nil {
			return err
		}
		for _, m := range slices.Backward(page) { // The newest comes first.
			id := parseID(m.ID)
			if id <= after {
				return errors.New("the channel's messages do not go on")
			}
			after = id
			if err := r.message(ctx, m); err != nil {
				if _, ok := errors.AsType[*unreadableError](err); !ok {
					return err
				}
				r.log.Error("skipping a message that cannot be read", "message", m.ID, "error", err)
			}
		}
		if len(page) < pageSize {
			return nil
		}
	}
}

// page asks for the next messages, again if that may help.
func (r *receiver) page(ctx context.Context, channel string, after snowflake) ([]*discordgo.Message, error) {
	path := fmt.Sprintf("channels/%s/messages?after=%s&limit=%d", channel, after, pageSize)
	wait := r.pace.first
	for try := 1; ; try, wait = try+1, 2*wait {
		var page []*discordgo.Message
		err := r.rest.call(ctx, "GET messages", http.MethodGet, path, nil, &page)
		if err == nil {
			return page, nil
		}
		e, ok := errors.AsType[*callError](err)
		if !ok || !e.mayPass() || try == backfillTries || !pause(ctx, max(wait, e.retryAfter)) {
			return nil, err
		}
	}
}
