package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// Limits of a Telegram message.
var (
	textLimit    = chat.TextLimit{Max: 4096, Unit: chat.UTF16}
	captionLimit = chat.TextLimit{Max: 1024, Unit: chat.UTF16}
)

// channel is one bot.
type channel struct {
	api      *api
	log      *slog.Logger
	media    sdk.Media // the files to send
	pace     pace
	status   network.Status
	previews bool
	rich     bool // send texts as rich messages

	richUnknown atomic.Bool // the Bot API server does not support them

	mu    sync.Mutex
	begun map[string]progress // by key, for messages that failed between two steps
}

// The optional interfaces of channel.
var (
	_ sdk.Editor        = (*channel)(nil)
	_ sdk.Deleter       = (*channel)(nil)
	_ sdk.Reactor       = (*channel)(nil)
	_ sdk.Typer         = (*channel)(nil)
	_ sdk.Drafter       = (*channel)(nil)
	_ sdk.CommandMenu   = (*channel)(nil)
	_ sdk.FileFetcher   = (*channel)(nil)
	_ sdk.MemberLister  = (*channel)(nil)
	_ sdk.Limiter       = (*channel)(nil)
	_ sdk.HealthChecker = (*channel)(nil)
	_ sdk.Stopper       = (*channel)(nil)
)

// open returns a channel without connecting it.
func open(_ context.Context, env sdk.Env, cfg config) (*channel, error) {
	return &channel{
		api:      newAPI(cfg.Token.Reveal(), cfg.APIEndpoint),
		log:      env.Log,
		media:    env.Media,
		pace:     usualPace(),
		previews: cfg.LinkPreviews,
		rich:     cfg.RichMessages,
		begun:    map[string]progress{},
	}, nil
}

// Limits implements sdk.Limiter.
func (*channel) Limits(kind chat.Kind) chat.Limits {
	limits := chat.Limits{
		Text:      textLimit,
		Markup:    chat.Markdown,
		Edit:      chat.EditLimits{MinInterval: time.Second},
		TypingTTL: 5 * time.Second,
		Draft:     chat.NativeDraft,
		Buttons:   chat.ButtonLimits{Rows: maxRows, Columns: maxColumns, DataBytes: maxData},
		Replies:   true,
	}
	for _, kind := range []chat.MediaKind{chat.File, chat.Image, chat.Audio, chat.Voice, chat.Video} {
		limits.MediaIn = append(limits.MediaIn, chat.MediaLimit{Kind: kind, MaxBytes: maxFile})
		limits.MediaOut = append(limits.MediaOut, chat.MediaLimit{Kind: kind, MaxBytes: maxUpload})
	}
	if kind != chat.Broadcast { // where only anonymous ones are possible
		limits.Polls = pollLimits
	}
	if kind != chat.Direct {
		limits.Draft = chat.DraftByEdit
		limits.Edit.MinInterval = 3 * time.Second // a group accepts 20 messages and edits a minute
	}
	return limits
}

// Run implements sdk.Channel.
func (c *channel) Run(ctx context.Context, in sdk.Inbox) error {
	c.status.Begin(in)
	r := &receiver{api: c.api, in: in, log: c.log, pace: c.pace, status: &c.status, slots: make(chan struct{}, maxAnswers)}
	err := r.run(ctx)
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
	c.api.close()
	return nil
}
