// Command echo is a channel over TCP. A client writes "<chat> <message id> <text>" and reads "ok <message id>" once the
// host has the message, and "say <chat> <key> <quoted text>" for each answer. A line with a chat alone joins the chat, and
// "<chat> ..." says that its person is typing.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

type config struct {
	Listen string `json:"listen" default:"127.0.0.1:7777" jsonschema:"TCP address to listen on."`
}

var limits = chat.Limits{Text: chat.TextLimit{Max: 2000, Unit: chat.Runes}, Markup: chat.Plain}

type channel struct {
	listener net.Listener
	peers    sync.Map // chat.ID → the net.Conn that last spoke for it
}

func open(ctx context.Context, env sdk.Env, c config) (*channel, error) {
	listener, err := env.Listen(ctx, "tcp", c.Listen)
	return &channel{listener: listener}, sdk.ConfigError("listen", err)
}

func (c *channel) Run(ctx context.Context, in sdk.Inbox) error {
	var readers sync.WaitGroup
	defer readers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.listener.Close() })()
	in.Report(chat.Connected, "listening on "+c.listener.Addr().String())
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return err
		}
		readers.Go(func() { c.read(ctx, in, conn) })
	}
}

func (c *channel) read(ctx context.Context, in sdk.Inbox, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		peer, message, ok := strings.Cut(lines.Text(), " ")
		c.peers.Store(chat.ID(peer), conn)
		if !ok {
			continue
		}
		where, who := chat.Chat{ID: chat.ID(peer), Kind: chat.Direct}, chat.Sender{ID: chat.UserID(peer)}
		if message == "..." {
			in.Typing(chat.Typing{Chat: where, Sender: who})
			continue
		}
		id, text, _ := strings.Cut(message, " ")
		_, err := in.Submit(ctx, chat.Event{
			ID:     chat.EventID("echo:" + peer + ":" + id),
			Chat:   where,
			Sender: who,
			At:     time.Now(),
			Body:   chat.Message{ID: chat.MessageID(id), Text: text},
		})
		if err != nil {
			return // the host does not have it: hang up rather than lose it
		}
		fmt.Fprintln(conn, "ok", id)
	}
}

func (c *channel) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	if len(out.Media) > 0 {
		return chat.Receipt{}, &chat.Failure{Reason: chat.MediaRejected}
	}
	conn, ok := c.peers.Load(out.To.Chat)
	if !ok {
		return chat.Receipt{}, &chat.Failure{Reason: chat.NotConnected}
	}
	_, err := fmt.Fprintf(conn.(net.Conn), "say %s %s %q\n", out.To.Chat, out.Key, out.Text)
	if err != nil {
		c.peers.CompareAndDelete(out.To.Chat, conn)
		return chat.Receipt{}, &chat.Failure{Reason: chat.NotConnected, MaybeDelivered: true, Err: err}
	}
	return chat.Receipt{IDs: []chat.MessageID{chat.MessageID(out.Key)}}, nil
}

func main() {
	sdk.Serve("echo", "0.1.0", sdk.NewChannel(limits, open))
}
