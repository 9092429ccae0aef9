package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// line is the account's line to WhatsApp: one connection after the other.
type line struct {
	*channel
	device *store.Device
	in     sdk.Inbox
	ctx    context.Context // Run's: the library calls handlers without one.
	read   inbound
	news   chan news
	// taking is held while a message is handed over. When one takes long the library begins with the next.
	taking  sync.Mutex
	refused bool    // the host has not taken a message: the line ends, and takes no other; guarded by taking
	albums  *albums // guarded by taking
	forget  func()  // ends what the last connection has left
}

// news is what a client of the library tells of its connection.
type news struct {
	from *whatsmeow.Client
	what any
}

// Run implements sdk.Channel.
func (c *channel) Run(ctx context.Context, in sdk.Inbox) error {
	err := c.run(ctx, in)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *channel) run(ctx context.Context, in sdk.Inbox) error {
	in.Report(chat.Connecting, "")
	devices, err := openDevices(ctx, c.folder, libraryLog{c.log})
	if err != nil {
		return err
	}
	defer func() {
		if err := devices.close(); err != nil {
			c.log.Error("close the device store", "error", err)
		}
	}()
	defer c.note(nil, errNotConnected)
	device, err := devices.device(ctx)
	if err == nil && device.ID == nil {
		in.Report(chat.Connecting, "not paired: run `clawhost plugin login "+c.instance+"`")
		c.note(nil, errNotPaired)
		if err = c.awaitLogin(ctx, device); err == nil {
			device, err = devices.device(ctx) // It has stores of its own now.
		}
	}
	if err != nil {
		return err
	}
	paired := *device.ID
	err = c.stay(ctx, in, device)
	if errors.Is(err, sdk.ErrLoggedOut) {
		// The library does so too, but perhaps not in time: the next login needs a new device.
		if gone := devices.DeleteDevice(context.WithoutCancel(ctx), &store.Device{ID: &paired}); gone != nil {
			c.log.Error("forget the device that was unlinked", "error", gone)
		}
	}
	return err
}

// newClient makes a client of the library that does nothing by itself.
func (c *channel) newClient(ctx context.Context, device *store.Device) *whatsmeow.Client {
	client := whatsmeow.NewClient(device, libraryLog{c.log})
	client.SetWebsocketHTTPClient(c.web)
	client.SetPreLoginHTTPClient(c.web)
	client.SetMediaHTTPClient(c.files)
	client.BackgroundEventCtx = ctx
	// The library would connect again while it is still busy with what came on the old connection.
	client.EnableAutoReconnect = false
	client.DisableLoginAutoReconnect = true
	// What was said before is not the host's.
	client.ManualHistorySyncDownload = true
	// Both are needed, and a handler that tells whether it succeeded: else a message that the host did not get is lost
	// with the step that the session's keys made.
	client.SynchronousAck = true
	client.EnableDecryptedEventBuffer = true
	// A phone that could not decrypt a message asks for it again, in the plugin's next life too.
	client.UseRetryMessageStore = true
	// The second tick says that the host has a message.
	client.SetForceActiveDeliveryReceipts(true)
	return client
}

// stay keeps a paired device connected until ctx ends, or only a person can help.
func (c *channel) stay(ctx context.Context, in sdk.Inbox, device *store.Device) error {
	c.learn(device.GetJID(), device.GetLID())
	defer c.learn(types.EmptyJID, types.EmptyJID)
	l := &line{
		channel: c, device: device, in: in, ctx: ctx, news: make(chan news, 64), forget: func() {},
		read:   inbound{channel: c, lids: device.LIDs, contacts: device.Contacts, titles: newTitles()},
		albums: newAlbums(c.state, c.pace),
	}
	if err := l.albums.load(ctx, c.log); err != nil {
		return fmt.Errorf("%w: %w", errHost, err)
	}
	defer func() { l.forget() }() // Nothing is submitted once Run has returned.
	for tries := (network.Backoff{First: c.pace.first, Longest: c.pace.last}); ; {
		was, err := l.connection()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, sdk.ErrLoggedOut), errors.Is(err, sdk.ErrBadCredentials), errors.Is(err, errHost):
			return err
		case was:
			tries.Reset()
		}
		wait := tries.After(err)
		c.log.Debug("connecting again", "because", err, "in", wait.String())
		l.lost(err.Error())
		if !network.Pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// connection connects and stays so; its error says why it ended. Was tells whether the account was logged in.
//
// Each connection has a client of its own. A client counts how often it has asked for a message that it could not decrypt,
// also in vain on connections that broke, and at five acknowledges the message without asking: it would be lost.
func (l *line) connection() (was bool, err error) {
	if err := l.passOver(); err != nil {
		return false, err
	}
	l.forget()
	client := l.newClient(l.ctx, l.device)
	life, end := context.WithCancel(context.WithoutCancel(l.ctx))
	client.AddEventHandlerWithSuccessStatus(func(event any) bool { return l.handle(client, end, event) })
	l.forget = func() {
		end()
		client.RemoveEventHandlers() // It waits for those that run.
	}
	hangUp, err := connect(l.ctx, life, end, client)
	if err != nil {
		return false, err
	}
	defer hangUp()
	// Now and then what WhatsApp says at a login does not come through, and nothing else comes either.
	watchdog := time.NewTimer(l.pace.login)
	defer watchdog.Stop()
	// Nor does the library tell of a connection that breaks in the moment in which it is made.
	look := time.NewTicker(l.pace.look)
	defer look.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return was, l.ctx.Err()
		case <-watchdog.C:
			if !was {
				return was, errors.New("WhatsApp did not answer the login")
			}
		case <-look.C:
			if !client.IsConnected() && len(l.news) == 0 {
				return was, errBroke
			}
		case <-l.albums.expiry.C:
			if err := l.deliverDue(client); err != nil {
				return was, err
			}
		case n := <-l.news:
			if n.from != client && !n.final() {
				continue
			}
			logged, err := l.tell(n)
			was = was || logged
			if err != nil {
				return was, err
			}
		}
	}
}

// passOver drops what the library still had to tell of the connection before, but for what ends all.
func (l *line) passOver() error {
	for {
		select {
		case n := <-l.news:
			if n.final() {
				_, err := l.tell(n)
				return err
			}
		default:
			return nil
		}
	}
}

// final tells whether news end all, whichever connection they are of.
func (n news) final() bool {
	switch n.what.(type) {
	case *events.LoggedOut, *events.StreamReplaced, *events.TemporaryBan, *events.ClientOutdated, error:
		return true
	default:
		return false
	}
}

// farewell is how long the server may take to agree to the end of a connection.
const farewell = 2 * time.Second

// connect makes one connection. HangUp ends it; what has come on it may still be handled then, so that there is progress on
// connections that never last. The end of life ends that too: life must end before the next connection is made, on which the
// library would else acknowledge a message that it has asked for again on the one before, in vain.
//
// The end of ctx, which is not that of life, ends the attempt to connect but not the connection: the library's ways to end
// one get into each other.
func connect(ctx, life context.Context, end context.CancelFunc, client *whatsmeow.Client) (hangUp func(), err error) {
	stop := context.AfterFunc(ctx, end)
	err = client.ConnectContext(life)
	stop()
	hangUp = func() {
		timer := time.AfterFunc(farewell, end)
		defer timer.Stop()
		client.ResetConnection() // Unlike Disconnect it leaves alone what a connection that breaks just now looks at.
		client.Disconnect()
	}
	if err != nil {
		hangUp()
		end()
		return nil, fmt.Errorf("connect: %w", network.WithoutAddress(err))
	}
	return hangUp, nil
}
