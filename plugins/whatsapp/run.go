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

// line is the account's sequence of connections to WhatsApp.
type line struct {
	*channel
	device *store.Device
	in     sdk.Inbox
	ctx    context.Context // Run's: the library calls handlers without a context
	read   inbound
	news   chan news
	// taking is held while a message is submitted. If one takes long, the library starts with the next.
	taking  sync.Mutex
	refused bool    // the host has refused a message: the line ends, and accepts no other; guarded by taking
	albums  *albums // guarded by taking
	forget  func()  // cancels the remaining work of the last connection
}

// news is an event of a client about its connection.
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
			c.log.Error("cannot close the device store", "error", err)
		}
	}()
	defer c.note(nil, errNotConnected)
	device, err := devices.device(ctx)
	if err == nil && device.ID == nil {
		in.Report(chat.Connecting, "not paired: run `clawhost plugin login "+c.instance+"`")
		c.note(nil, errNotPaired)
		if err = c.awaitLogin(ctx, device); err == nil {
			device, err = devices.device(ctx) // it has stores of its own now
		}
	}
	if err != nil {
		return err
	}
	paired := *device.ID
	err = c.stay(ctx, in, device)
	if errors.Is(err, sdk.ErrLoggedOut) {
		// The library does so too, but perhaps too late: the next login needs a new device.
		if gone := devices.DeleteDevice(context.WithoutCancel(ctx), &store.Device{ID: &paired}); gone != nil {
			c.log.Error("cannot delete the unlinked device", "error", gone)
		}
	}
	return err
}

// newClient returns a client of the library without automatic actions. The library sends on its own until ctx ends. Ctx must outlive
// the connection: if a request is cancelled while it is being sent, whatsmeow of September 2026 sends its response on a closed channel.
func (c *channel) newClient(ctx context.Context, device *store.Device) *whatsmeow.Client {
	client := whatsmeow.NewClient(device, libraryLog{c.log})
	client.SetWebsocketHTTPClient(c.web)
	client.SetPreLoginHTTPClient(c.web)
	client.SetMediaHTTPClient(c.files)
	client.BackgroundEventCtx = ctx
	// The library would reconnect while it is still busy with messages of the old connection.
	client.EnableAutoReconnect = false
	client.DisableLoginAutoReconnect = true
	// The host does not use the history from before pairing.
	client.ManualHistorySyncDownload = true
	// Both are required, and a handler that reports success: otherwise a message that the host did not receive would be
	// lost, because the session's keys have advanced.
	client.SynchronousAck = true
	client.EnableDecryptedEventBuffer = true
	// A phone that could not decrypt a message requests it again, even from the plugin's next process.
	client.UseRetryMessageStore = true
	// The second tick means that the host has a message.
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
	defer func() { l.forget() }() // nothing is submitted after Run has returned
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

// connection runs a connection; its error says why it ended. Was reports whether the account was logged in.
//
// Each connection has a new client. A client counts its requests for a message that it could not decrypt, including failed
// ones on broken connections, and at five acknowledges the message without a request: it would be lost.
func (l *line) connection() (was bool, err error) {
	if err := l.drain(); err != nil {
		return false, err
	}
	l.forget()
	connCtx, end := context.WithCancel(context.WithoutCancel(l.ctx))
	client := l.newClient(connCtx, l.device)
	client.AddEventHandlerWithSuccessStatus(func(event any) bool { return l.handle(client, end, event) })
	l.forget = func() {
		end()
		client.RemoveEventHandlers() // waits for running handlers
	}
	hangUp, err := connect(l.ctx, connCtx, end, client)
	if err != nil {
		return false, err
	}
	defer hangUp()
	// Sometimes WhatsApp's response to a login is lost, and nothing else arrives either.
	watchdog := time.NewTimer(l.pace.login)
	defer watchdog.Stop()
	// Nor does the library report a connection that breaks while it is being established.
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

// drain drops remaining events about the previous connection, except final ones.
func (l *line) drain() error {
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

// final reports whether an event ends the line, whichever connection it is from.
func (n news) final() bool {
	switch n.what.(type) {
	case *events.LoggedOut, *events.StreamReplaced, *events.TemporaryBan, *events.ClientOutdated, error:
		return true
	default:
		return false
	}
}

// farewell limits the wait for the server to confirm the end of a connection.
const farewell = 2 * time.Second

// connect establishes one connection. HangUp ends it; messages that arrived on it may still be handled then, so that there
// is progress even if connections are short. The end of connCtx stops that, too: it must end before the next connection
// is made. Otherwise the library would acknowledge on it a message that it had requested again on the previous one,
// without success.
//
// The end of ctx, which is not that of connCtx, cancels connecting but not the connection: the library's ways to end one
// interfere with each other.
func connect(ctx, connCtx context.Context, end context.CancelFunc, client *whatsmeow.Client) (hangUp func(), err error) {
	stop := context.AfterFunc(ctx, end)
	err = client.ConnectContext(connCtx)
	stop()
	hangUp = func() {
		timer := time.AfterFunc(farewell, end)
		defer timer.Stop()
		client.ResetConnection() // unlike Disconnect, does not race with a connection that is breaking
		client.Disconnect()
	}
	if err != nil {
		hangUp()
		end()
		return nil, fmt.Errorf("connect: %w", network.WithoutAddress(err))
	}
	return hangUp, nil
}
