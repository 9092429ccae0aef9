package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// phoneStep is the login step that asks for the account's phone number: the account is then paired by a code to type on the
// phone instead of one to scan.
const phoneStep = "phone"

// patience limits the wait for Run to start a login.
const patience = 10 * time.Second

// login is a request to pair an account.
type login struct {
	ctx   context.Context // the call's
	phone string          // digits; empty: by QR code
	show  func(chat.LoginStep)
	done  chan error
}

// Login implements sdk.LoginFlow. Run does the pairing, because it has the device store.
func (c *channel) Login(ctx context.Context, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	phone, err := parsePhone(answers[phoneStep])
	if err != nil {
		return "", network.Refuse(chat.Invalid, "%w", err)
	}
	request := &login{ctx: ctx, phone: phone, show: show, done: make(chan error, 1)}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	if self := c.account(); !self.pn.IsEmpty() {
		return "", network.Refuse(chat.Invalid,
			"+%s is paired already; to pair another account, remove this device under Linked devices on its phone", self.pn.User)
	}
	select {
	case c.logins <- request:
	case <-timer.C:
		return "", network.Refuse(chat.NotConnected, "the channel is not ready to pair, or another login is in progress")
	case <-ctx.Done():
		return "", ctx.Err()
	}
	// Show must not be called after Login has returned. The pairing ends with ctx.
	if err := <-request.done; err != nil {
		return "", err
	}
	return chat.UserID("+" + c.account().pn.User), nil
}

var phoneShape = regexp.MustCompile(`^[1-9][0-9]{6,14}$`)

// parsePhone parses a number as people write it.
func parsePhone(number string) (string, error) {
	digits := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", "/", "").Replace(strings.TrimSpace(number))
	digits = strings.TrimPrefix(digits, "+")
	if number != "" && !phoneShape.MatchString(digits) {
		return "", errors.New("this is not a phone number with its country code, such as +15551234567")
	}
	return digits, nil
}

// awaitLogin waits until the device is paired.
func (c *channel) awaitLogin(ctx context.Context, device *store.Device) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case request := <-c.logins:
			err := c.pair(ctx, device, request)
			if err == nil {
				c.learn(device.GetJID(), device.GetLID())
			}
			request.done <- err
			switch {
			case err == nil:
				return nil
			case errors.Is(err, sdk.ErrBadCredentials):
				return err
			}
		}
	}
}

// pair shows a code until it was used, and waits until the device can log in.
func (c *channel) pair(ctx context.Context, device *store.Device, request *login) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(request.ctx, cancel)()
	connCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	client := c.newClient(connCtx, device)
	ended := make(chan struct{}, 1)
	client.AddEventHandler(func(event any) {
		switch event.(type) {
		case *events.ManualLoginReconnect, *events.Disconnected:
			select {
			case ended <- struct{}{}:
			default:
			}
		}
	})
	codes, err := client.GetQRChannel(ctx)
	if err != nil {
		return fmt.Errorf("pair: %w", err)
	}
	hangUp, err := connect(ctx, connCtx, end, client)
	if err != nil {
		return network.Refuse(chat.NotConnected, "%w", err)
	}
	defer hangUp()
	if err := follow(ctx, client, codes, request); err != nil {
		return err
	}
	// WhatsApp then ends the connection, sometimes without the message that says so; the next one logs in. Before that it
	// must have received the device's response.
	timer := time.NewTimer(c.pace.settle)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	case <-ctx.Done(): // the device is paired anyway
	}
	return nil
}

// follow shows the codes of a pairing until it is complete.
func follow(ctx context.Context, client *whatsmeow.Client, codes <-chan whatsmeow.QRChannelItem, request *login) error {
	asked := false
	for item := range codes {
		switch item.Event {
		case whatsmeow.QRChannelEventCode:
			if request.phone == "" {
				request.show(chat.LoginStep{
					ID: "qr", QR: item.Code,
					Instructions: "On the phone, open WhatsApp, Settings, Linked devices, Link a device, and scan this. A code is valid for " + item.Timeout.String() + "; then it is replaced by another one.",
				})
				continue
			}
			if asked {
				continue
			}
			asked = true
			code, err := client.PairPhone(ctx, request.phone, true, whatsmeow.PairClientChrome, "Chrome (Linux)")
			if err != nil {
				return network.Refuse(chat.Invalid, "WhatsApp gives no code for +%s: %w", request.phone, err)
			}
			request.show(chat.LoginStep{
				ID: "code", Code: code,
				Instructions: "On the phone, open WhatsApp, Settings, Linked devices, Link a device, Link with phone number instead, and type this code.",
			})
		case whatsmeow.QRChannelSuccess.Event:
			return nil
		case whatsmeow.QRChannelClientOutdated.Event:
			return fmt.Errorf("%w: WhatsApp no longer accepts this version of the plugin; update clawhost", sdk.ErrBadCredentials)
		case whatsmeow.QRChannelTimeout.Event:
			return network.Refuse(chat.Temporary, "nobody used a code in time; run the command again")
		case whatsmeow.QRChannelScannedWithoutMultidevice.Event:
			return network.Refuse(chat.Invalid, "this WhatsApp is too old to link a device; update it on the phone")
		case whatsmeow.QRChannelEventError:
			return network.Refuse(chat.Invalid, "pairing failed: %w", item.Error)
		case whatsmeow.QRChannelEventPasskeyRequest, whatsmeow.QRChannelEventPasskeyResponse:
			return network.Refuse(chat.Invalid,
				"the account is protected by a passkey, which can only be used in a browser; remove it on the phone while you pair")
		default:
			return network.Refuse(chat.Temporary, "pairing ended: %s", item.Event)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return network.Refuse(chat.Temporary, "pairing ended without a result; run the command again")
}
