package main

import (
	"errors"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

var (
	errNotPaired = errors.New("no account is paired")
	errBroke     = errors.New("the connection broke")
	// errHost ends Run when the host refuses a message: WhatsApp redelivers it to the next process.
	errHost = errors.New("the host does not accept messages")
)

// maxMissedPings is how many consecutive pings WhatsApp may leave unanswered. One is sent every 30 seconds.
const maxMissedPings = 2

// tell reports what an event means for the connection. An error ends it: permanently, if it wraps [sdk.ErrLoggedOut] or
// [sdk.ErrBadCredentials].
func (l *line) tell(n news) (loggedIn bool, err error) {
	switch e := n.what.(type) {
	case *events.Connected:
		l.showOnline(n.from)
		l.learn(n.from.Store.GetJID(), n.from.Store.GetLID())
		l.note(n.from, nil)
		l.in.Report(chat.Connected, "")
		return true, nil
	case *events.PushNameSetting, *events.AppStateSyncComplete:
		l.showOnline(n.from)
	case *events.Disconnected:
		return false, errBroke
	case *events.KeepAliveTimeout:
		if e.ErrorCount >= maxMissedPings {
			return false, errors.New("WhatsApp does not answer")
		}
	case *events.ManualLoginReconnect:
		return false, errors.New("WhatsApp asked for a new connection")
	case *events.StreamError:
		return false, fmt.Errorf("WhatsApp ended the connection with code %q", e.Code)
	case *events.ConnectFailure:
		return false, fmt.Errorf("WhatsApp refuses the connection: %s", e.Reason)
	case *events.LoggedOut:
		return false, fmt.Errorf("%w: the phone has unlinked the device, or the account is gone (%s); run `clawhost plugin login %s`", sdk.ErrLoggedOut, e.Reason, l.instance)
	case *events.StreamReplaced:
		// Connecting again would disconnect the other one, and so on forever.
		return false, fmt.Errorf("%w: another program uses this device's keys; stop it, then run `clawhost plugin restart %s`", sdk.ErrBadCredentials, l.instance)
	case *events.TemporaryBan:
		return false, fmt.Errorf("%w: WhatsApp has banned the account until %s (%s); after that run `clawhost plugin restart %s`",
			sdk.ErrBadCredentials, time.Now().Add(e.Expire).Format("2 Jan 15:04"), e.Code, l.instance)
	case *events.ClientOutdated:
		return false, fmt.Errorf("%w: WhatsApp no longer accepts this version of the plugin; update clawhost", sdk.ErrBadCredentials)
	case error:
		return false, e
	}
	return false, nil
}

// showOnline sets the account online, if the config enables that. It requires the account's name, which a newly paired
// device receives from the phone.
func (l *line) showOnline(client *whatsmeow.Client) {
	if !l.config.ShowOnline {
		return
	}
	if err := client.SendPresence(l.ctx, types.PresenceAvailable); err != nil && !errors.Is(err, whatsmeow.ErrNoPushName) {
		l.log.Debug("the account is not shown as online", "error", err)
	}
}

func (l *line) lost(why string) {
	l.note(nil, errors.New(why))
	l.in.Report(chat.Disconnected, why+"; connecting again")
}
