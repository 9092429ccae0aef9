package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxText is half of WhatsApp's limit, which leaves space for what rendering adds.
	maxText = 32768 // characters
	// editWindow is how long WhatsApp allows a message to be edited.
	editWindow = 15 * time.Minute
	// typingShown is shorter than the time for which phones show typing.
	typingShown = 10 * time.Second
)

// channel is one account.
type channel struct {
	config   config
	instance string
	folder   string
	log      *slog.Logger
	state    sdk.State
	media    sdk.Media
	pace     pace
	recent   *recent
	web      *http.Client // for the connection
	files    *http.Client // for the media servers
	logins   chan *login  // received by Run while no account is paired
	// handed are the files of albums that the host has received, the latest last. One of them may be redelivered after the
	// others, if those had overtaken it and it was not acknowledged. Guarded by the line's taking.
	handed []filed

	mu      sync.Mutex
	client  *whatsmeow.Client // nil: not running
	self    account
	trouble error         // why the account is not connected
	changed chan struct{} // closed when that changes
}

// account has the addresses of the paired account; empty: none.
type account struct {
	pn, lid types.JID
	device  uint16
}

// The optional interfaces of channel.
var (
	_ sdk.Editor        = (*channel)(nil)
	_ sdk.Deleter       = (*channel)(nil)
	_ sdk.Reactor       = (*channel)(nil)
	_ sdk.Typer         = (*channel)(nil)
	_ sdk.LoginFlow     = (*channel)(nil)
	_ sdk.FileFetcher   = (*channel)(nil)
	_ sdk.MemberLister  = (*channel)(nil)
	_ sdk.Limiter       = (*channel)(nil)
	_ sdk.HealthChecker = (*channel)(nil)
	_ sdk.Stopper       = (*channel)(nil)
)

// open returns a channel without connecting it.
func open(_ context.Context, env sdk.Env, cfg config) (*channel, error) {
	if cfg.TestEndpoint != "" {
		if err := trustRoot(cfg.TestNoiseRoot); err != nil {
			return nil, sdk.ConfigError("test_noise_root", err)
		}
	}
	c := &channel{
		config:   cfg,
		instance: env.Instance,
		folder:   env.StateDir,
		log:      env.Log,
		state:    env.State,
		media:    env.Media,
		pace:     usualPace(),
		recent:   newRecent(),
		web:      &http.Client{Transport: transport(cfg)},
		files:    &http.Client{Transport: bounded{transport(cfg), maxFile + maxFileOverhead}},
		logins:   make(chan *login),
		trouble:  errNotConnected,
		changed:  make(chan struct{}),
	}
	// Temporary files of a killed process.
	if err := errors.Join(os.RemoveAll(c.scratch()), os.MkdirAll(c.scratch(), 0o700)); err != nil {
		return nil, fmt.Errorf("create the folder for temporary files: %w", err)
	}
	return c, nil
}

// scratch returns the folder of temporary files.
func (c *channel) scratch() string { return filepath.Join(c.folder, scratchFolder) }

var errNotConnected = errors.New("not connected yet")

// Limits implements sdk.Limiter.
func (*channel) Limits(chat.Kind) chat.Limits {
	limits := chat.Limits{
		Text:           chat.TextLimit{Max: maxText, Unit: chat.Runes},
		Markup:         chat.Markdown,
		Edit:           chat.EditLimits{Window: editWindow, MinInterval: 3 * time.Second},
		TypingTTL:      typingShown,
		Draft:          chat.DraftByEdit,
		Polls:          pollLimits,
		Replies:        true,
		IdempotentSend: true,
	}
	for _, kind := range []chat.MediaKind{chat.File, chat.Image, chat.Audio, chat.Voice, chat.Video, chat.Sticker} {
		limits.MediaIn = append(limits.MediaIn, chat.MediaLimit{Kind: kind, MaxBytes: maxFile})
		limits.MediaOut = append(limits.MediaOut, chat.MediaLimit{Kind: kind, MaxBytes: maxFile})
	}
	return limits
}

// Health implements sdk.HealthChecker.
func (c *channel) Health(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// note records the connection's client and its error.
func (c *channel) note(client *whatsmeow.Client, trouble error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client, c.trouble = client, trouble
	close(c.changed)
	c.changed = make(chan struct{})
}

// connected returns the client once there is a connection, and waits a little: most are re-established at once.
func (c *channel) connected(ctx context.Context) (*whatsmeow.Client, error) {
	timer := time.NewTimer(c.pace.blip)
	defer timer.Stop()
	for {
		c.mu.Lock()
		client, trouble, changed := c.client, c.trouble, c.changed
		c.mu.Unlock()
		if client != nil && trouble == nil {
			return client, nil
		}
		if errors.Is(trouble, errNotPaired) {
			return nil, &chat.Failure{Reason: chat.NotConnected, Err: trouble}
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil, &chat.Failure{Reason: chat.NotConnected, Err: trouble}
		case <-ctx.Done():
			return nil, &chat.Failure{Reason: chat.NotConnected, Err: ctx.Err()}
		}
	}
}

// learn records the device's account. The library's own record must not be read while it may be deleted.
func (c *channel) learn(pn, lid types.JID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = account{pn.ToNonAD(), lid.ToNonAD(), pn.Device}
}

func (c *channel) account() account {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.self
}

// own returns the account's address in quotes and reactions.
func (a account) own() types.JID {
	if a.lid.IsEmpty() {
		return a.pn
	}
	return a.lid
}

func (a account) is(jid types.JID) bool {
	return jid.User != "" && (jid.User == a.pn.User && jid.Server == types.DefaultUserServer ||
		jid.User == a.lid.User && jid.Server == types.HiddenUserServer)
}

// Stop implements sdk.Stopper.
func (c *channel) Stop(context.Context) error {
	c.web.CloseIdleConnections()
	c.files.CloseIdleConnections()
	return nil
}
