package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/network"
)

const (
	pageSize      = 100
	backfillTries = 5
)

// ready is the first event of a session.
type ready struct {
	SessionID string `json:"session_id"`
	URL       string `json:"resume_gateway_url"`
	Guilds    []struct{ ID string }
}

// guild is a server, with the fields that the bot uses.
type guild struct {
	ID          string
	Unavailable bool
	JoinedAt    time.Time `json:"joined_at"`
	Channels    []*discordgo.Channel
	Threads     []*discordgo.Channel // not archived ones
}

// begun records what a new session must catch up on: messages since the last session, which Discord does not resend. Direct
// channels are known at once, those of a server when Discord describes it. The given connection is the session's first.
func (r *receiver) begun(session ready, connection int) {
	r.owed, r.recall, r.first = nil, true, connection
	for _, channel := range slices.Sorted(maps.Keys(r.cursors.at)) {
		if r.cursors.at[channel].guild == "" {
			r.owed = append(r.owed, channel)
		}
	}
	r.awaited = map[string]bool{}
	for _, g := range session.Guilds {
		r.awaited[g.ID] = true
	}
}

// settled reports whether nothing is left to catch up on, so that another process can resume the session.
func (r *receiver) settled() bool { return len(r.owed) == 0 && len(r.awaited) == 0 && !r.recall }

// settle catches up, as far as possible.
func (r *receiver) settle(ctx context.Context) error {
	if r.recall {
		if err := r.recallInteractions(ctx); err != nil {
			return err
		}
		r.recall = false
	}
	for len(r.owed) > 0 {
		channel := r.owed[0]
		if _, known := r.cursors.at[channel]; known { // it may have been evicted
			if err := r.backfill(ctx, channel, "", r.cursors.after(channel)); err != nil {
				return fmt.Errorf("catch up in channel %s: %w", channel, err)
			}
		}
		r.owed = r.owed[1:]
	}
	return nil
}

// idle is called when all received events are handled.
func (r *receiver) idle(ctx context.Context) error {
	r.recall, r.again = r.again, false
	return r.settle(ctx)
}

// meetGuild records a server's channels and catches up on them. For a channel without a known message it requests what was
// written since the bot was last online, or was added.
func (r *receiver) meetGuild(ctx context.Context, g *guild) error {
	if g.Unavailable {
		return nil
	}
	listed := map[string]bool{}
	channels := slices.DeleteFunc(slices.Concat(g.Channels, g.Threads), func(c *discordgo.Channel) bool { return c == nil })
	for _, c := range channels {
		r.places.learn(c, g.ID)
		listed[c.ID] = true
	}
	for _, c := range channels {
		newest, after := parseID(c.LastMessageID), max(r.cursors.present, snowflakeAt(g.JoinedAt.Add(-slack)))
		if at, known := r.cursors.at[c.ID]; known {
			after = r.cursors.after(c.ID)
			if newest <= at.last {
				continue
			}
		}
		if newest <= after || !hasMessages(c.Type) {
			continue
		}
		if err := r.backfill(ctx, c.ID, g.ID, after); err != nil {
			return fmt.Errorf("catch up in channel %s: %w", c.ID, err)
		}
	}
	// Threads that were archived meanwhile.
	for _, channel := range slices.Sorted(maps.Keys(r.cursors.at)) {
		if r.cursors.at[channel].guild != g.ID || listed[channel] {
			continue
		}
		if err := r.backfill(ctx, channel, g.ID, r.cursors.after(channel)); err != nil {
			return fmt.Errorf("catch up in channel %s: %w", channel, err)
		}
	}
	delete(r.awaited, g.ID)
	return nil
}

// leaveGuild removes a server that the bot was removed from; an unavailable server comes back.
func (r *receiver) leaveGuild(ctx context.Context, g *guild) error {
	if g.Unavailable {
		return nil
	}
	delete(r.awaited, g.ID)
	for channel, at := range maps.Clone(r.cursors.at) {
		if at.guild != g.ID {
			continue
		}
		r.places.forget(channel)
		if err := r.cursors.drop(ctx, channel); err != nil {
			return err
		}
	}
	return nil
}

func hasMessages(t discordgo.ChannelType) bool {
	switch t {
	case discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews, discordgo.ChannelTypeGuildVoice,
		discordgo.ChannelTypeGuildStageVoice:
		return true
	default:
		return isThread(t)
	}
}

// backfill submits what was written in a channel after a message.
func (r *receiver) backfill(ctx context.Context, channel, guild string, after snowflake) error {
	for {
		page, err := r.page(ctx, channel, after)
		if e, ok := errors.AsType[*callError](err); ok && e.gone() {
			r.log.Info("a channel is gone, or the bot may not read it", "channel", channel, "error", e)
			return r.cursors.drop(ctx, channel)
		}
		if err != nil {
			return err
		}
		for _, m := range slices.Backward(page) { // newest first
			if m == nil || parseID(m.ID) <= after {
				return errors.New("the channel's history does not advance")
			}
			after, m.GuildID = parseID(m.ID), guild
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

// page requests the next messages, with retries.
func (r *receiver) page(ctx context.Context, channel string, after snowflake) ([]*discordgo.Message, error) {
	path := fmt.Sprintf("channels/%s/messages?after=%s&limit=%d", channel, after, pageSize)
	var page []*discordgo.Message
	err := r.persist(ctx, func() error {
		page = nil
		return r.rest.call(ctx, "GET messages", http.MethodGet, path, nil, &page)
	})
	return page, err
}

// persist retries a call a limited number of times.
func (r *receiver) persist(ctx context.Context, call func() error) error {
	for tries := r.tries(r.pace.first); ; {
		if err := call(); !tries.Again(ctx, err) {
			return err
		}
	}
}

// tries returns the backoff of a call with limited retries.
func (r *receiver) tries(first time.Duration) network.Backoff {
	return network.Backoff{First: first, Longest: r.pace.longest, Tries: backfillTries}
}
