package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

var (
	_ sdk.Editor        = (*channel)(nil)
	_ sdk.Deleter       = (*channel)(nil)
	_ sdk.Reactor       = (*channel)(nil)
	_ sdk.Typer         = (*channel)(nil)
	_ sdk.CommandMenu   = (*channel)(nil)
	_ sdk.FileFetcher   = (*channel)(nil)
	_ sdk.Historian     = (*channel)(nil)
	_ sdk.MemberLister  = (*channel)(nil)
	_ sdk.Limiter       = (*channel)(nil)
	_ sdk.HealthChecker = (*channel)(nil)
	_ sdk.Stopper       = (*channel)(nil)
)

// textLimit is the limit of a message. Discord counts characters; UTF-16 code units never count less.
var textLimit = chat.TextLimit{Max: 2000, Unit: chat.UTF16}

// channel is one bot.
type channel struct {
	rest    *rest
	token   string
	content bool // the bot may read all messages
	flags   int  // set on every message
	env     sdk.Env
	log     *slog.Logger
	pace    pace
	reacted reacted
	directs directs
	status  network.Status
}

// open returns a channel without connecting it.
func open(_ context.Context, env sdk.Env, cfg config) (*channel, error) {
	r, err := newREST(cfg.Token.Reveal(), cfg.TestEndpoint)
	if err != nil {
		return nil, err
	}
	flags := int(discordgo.MessageFlagsSuppressEmbeds)
	if cfg.LinkPreviews {
		flags = 0
	}
	return &channel{
		flags:   flags,
		rest:    r,
		token:   cfg.Token.Reveal(),
		content: cfg.MessageContent,
		env:     env,
		log:     env.Log,
		pace:    usualPace(),
	}, nil
}

// Limits implements sdk.Limiter.
func (*channel) Limits(kind chat.Kind) chat.Limits {
	limits := chat.Limits{
		Text:           textLimit,
		Markup:         chat.Markdown,
		Edit:           chat.EditLimits{MinInterval: 1500 * time.Millisecond},
		TypingTTL:      10 * time.Second,
		Draft:          chat.DraftByEdit,
		Buttons:        chat.ButtonLimits{Rows: maxRows, Columns: maxColumns, DataBytes: maxData},
		Polls:          pollLimits,
		Replies:        true,
		IdempotentSend: true,
	}
	for _, kind := range []chat.MediaKind{chat.File, chat.Image, chat.Audio, chat.Voice, chat.Video} {
		limits.MediaIn = append(limits.MediaIn, chat.MediaLimit{Kind: kind, MaxBytes: maxFile})
		limits.MediaOut = append(limits.MediaOut, chat.MediaLimit{Kind: kind, MaxBytes: maxUpload})
	}
	return limits
}

// Run implements sdk.Channel.
func (c *channel) Run(ctx context.Context, in sdk.Inbox) error {
	c.status.Begin(in)
	s := &session{
		token: c.token, content: c.content, rest: c.rest, state: c.env.State, log: c.log, pace: c.pace, status: &c.status,
		receiver: newReceiver(c.rest, c.env, in, c.pace),
	}
	err := s.run(ctx)
	c.status.End(err)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Health implements sdk.HealthChecker.
func (c *channel) Health(ctx context.Context) error { return c.status.Health(ctx) }

// Stop implements sdk.Stopper.
func (c *channel) Stop(context.Context) error {
	c.rest.close()
	return nil
}
