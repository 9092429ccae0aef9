// Command exchange is a channel whose network is a test: that says what arrives, and the outcome of each message that is sent. It uses
// only what the SDK of the builds has whose states the tests of upgrades start from.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

type config struct {
	Exchange string `json:"exchange" jsonschema:"Where the exchange is."`
}

var limits = chat.Limits{Text: chat.TextLimit{Max: 2000, Unit: chat.Runes}, Markup: chat.Plain, IdempotentSend: true}

// Event is what arrives.
type Event struct {
	N                              int
	ID, Chat, Thread, Sender, Text string
	Group                          bool
	File                           string // the content of a file that the message has; empty: none
}

// Sent is what the host sends.
type Sent struct{ Key, Chat, Thread, Text string }

type channel struct {
	env      sdk.Env
	exchange *rpc.Client
}

func open(_ context.Context, env sdk.Env, c config) (channel, error) {
	exchange, err := rpc.Dial("tcp", c.Exchange)
	return channel{env, exchange}, sdk.ConfigError("exchange", err)
}

// Run implements sdk.Channel. A message is read again until the host has it. The state has the ids of those, and so has a file.
func (c channel) Run(ctx context.Context, in sdk.Inbox) error {
	defer context.AfterFunc(ctx, func() { c.exchange.Close() })()
	in.Report(chat.Connected, "")
	taken, err := os.OpenFile(filepath.Join(c.env.StateDir, "taken"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer taken.Close()
	for {
		var e Event
		if err := c.exchange.Call("Exchange.Next", 0, &e); err != nil {
			return err
		}
		message := chat.Message{ID: chat.MessageID(e.ID), Text: e.Text}
		if e.File != "" {
			file, err := c.env.Media.Upload(ctx, chat.Media{Kind: chat.File, MIMEType: "text/plain", FileName: e.ID + ".txt"}, strings.NewReader(e.File))
			if err != nil {
				return err
			}
			message.Media = []chat.Media{file}
		}
		kind := chat.Direct
		if e.Group {
			kind = chat.Group
		}
		_, err = in.Submit(ctx, chat.Event{
			ID: chat.EventID(e.ID), Chat: chat.Chat{ID: chat.ID(e.Chat), Kind: kind}, Thread: chat.ThreadID(e.Thread),
			Sender: chat.Sender{ID: chat.UserID(e.Sender), DisplayName: e.Sender}, At: time.Now(), Body: message,
		})
		if err != nil {
			return err
		}
		if _, err := c.env.State.Put(ctx, "taken/"+e.ID, []byte(e.Chat)); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(taken, e.ID); err != nil {
			return err
		}
		if err := c.exchange.Call("Exchange.Taken", e.N, &struct{}{}); err != nil {
			return err
		}
	}
}

func (c channel) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	var outcome string
	if err := c.exchange.Call("Exchange.Send", Sent{out.Key, string(out.To.Chat), string(out.To.Thread), out.Text}, &outcome); err != nil {
		return chat.Receipt{}, err
	}
	switch outcome {
	case "forbidden":
		return chat.Receipt{}, &chat.Failure{Reason: chat.Forbidden, Err: errors.New("the bot was blocked")}
	case "absent":
		return chat.Receipt{}, &chat.Failure{Reason: chat.NotConnected}
	}
	return chat.Receipt{IDs: []chat.MessageID{chat.MessageID(out.Key)}}, nil
}

func main() {
	sdk.Serve("exchange", "1.0.0", sdk.NewChannel(limits, open))
}
