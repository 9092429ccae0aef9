// Command board is a channel whose network is a board that a test holds. What hangs there can be changed and taken down, and
// what is put up again under its key is still the same message.
package main

import (
	"context"
	"net/rpc"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

type config struct {
	Board string `json:"board" jsonschema:"Where the board is."`
}

var limits = chat.Limits{
	Text: chat.TextLimit{Max: 300, Unit: chat.Runes}, Markup: chat.Markdown, IdempotentSend: true,
	Draft: chat.DraftByEdit, Edit: chat.EditLimits{MinInterval: 20 * time.Millisecond},
	Buttons: chat.ButtonLimits{Rows: 1, Columns: 1, DataBytes: 64},
}

// Note is a message on the board, or a change of one.
type Note struct {
	Chat, ID, Text string
	Buttons        bool
}

type channel struct{ board *rpc.Client }

var (
	_ sdk.Editor  = channel{}
	_ sdk.Deleter = channel{}
	_ sdk.Reactor = channel{}
)

func open(_ context.Context, _ sdk.Env, c config) (channel, error) {
	board, err := rpc.Dial("tcp", c.Board)
	return channel{board}, sdk.ConfigError("board", err)
}

// Run implements sdk.Channel. A message is read again until the host has it.
func (c channel) Run(ctx context.Context, in sdk.Inbox) error {
	defer context.AfterFunc(ctx, func() { c.board.Close() })()
	in.Report(chat.Connected, "")
	for n := 0; ; n++ {
		var read Note
		if err := c.board.Call("Board.Read", n, &read); err != nil {
			return err
		}
		_, err := in.Submit(ctx, chat.Event{
			ID: chat.EventID(read.ID), Chat: chat.Chat{ID: chat.ID(read.Chat), Kind: chat.Direct},
			Sender: chat.Sender{ID: chat.UserID(read.Chat)},
			At:     time.Now(), Body: chat.Message{ID: chat.MessageID(read.ID), Text: read.Text},
		})
		if err != nil {
			return err
		}
		if err := c.board.Call("Board.Taken", n, &struct{}{}); err != nil {
			return err
		}
	}
}

func (c channel) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	err := c.board.Call("Board.Put", Note{string(out.To.Chat), out.Key, out.Text, len(out.Buttons) > 0}, &struct{}{})
	return chat.Receipt{IDs: []chat.MessageID{chat.MessageID(out.Key)}}, err
}

func (c channel) Edit(_ context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	return c.change("Board.Change", Note{string(to.Chat), string(id), text, len(buttons) > 0})
}

func (c channel) Delete(_ context.Context, to chat.Address, id chat.MessageID) error {
	return c.change("Board.Remove", Note{Chat: string(to.Chat), ID: string(id)})
}

func (c channel) React(_ context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	return c.change("Board.React", Note{Chat: string(to.Chat), ID: string(id), Text: emoji})
}

// change changes a message, which may be gone.
func (c channel) change(method string, to Note) error {
	var found bool
	if err := c.board.Call(method, to, &found); err != nil || found {
		return err
	}
	return &chat.Failure{Reason: chat.TargetGone}
}

func main() {
	sdk.Serve("board", "1.0.0", sdk.NewChannel(limits, open))
}
