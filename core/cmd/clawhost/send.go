package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk/wire"
)

// send is the command that sends a message to a chat. It returns once the host has made it durable.
func (a *app) send() *ffcli.Command {
	var m admin.Message
	var files list
	var key string
	c := a.command("send", "-to CHANNEL:CHAT [-thread ID] [-file FILE] [-key KEY] [TEXT|-]", "send a message to a chat; - reads the text from the input", func(ctx context.Context, args []string) (err error) {
		if m.Text, err = a.text(args); err != nil {
			return err
		}
		switch {
		case m.To == "":
			return usage("send needs -to and a chat, such as telegram:1001")
		case m.Text == "" && len(files) == 0:
			return usage("send needs a text or a file")
		}
		client, err := a.client()
		if err != nil {
			return err
		}
		sent, err := client.Send(ctx, key, m, files...)
		if err != nil || !a.json {
			return err
		}
		return a.print(sent)
	})
	c.FlagSet.StringVar(&m.To, "to", "", "the `chat`, as channel:chat")
	c.FlagSet.StringVar(&m.Thread, "thread", "", "the `id` of a thread of the chat")
	c.FlagSet.Var(&files, "file", "a `file` to send after the text; may be given several times")
	c.FlagSet.StringVar(&key, "key", "", "a `key` of your choice: the same again sends nothing")
	return c
}

// text is what the arguments say, or the input if they are a hyphen.
func (a *app) text(args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	text, err := io.ReadAll(io.LimitReader(a.in, wire.MaxText+1))
	if err != nil {
		return "", fmt.Errorf("read the input: %w", err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}

// list is a flag that may be given several times.
type list []string

// String returns the values.
func (l *list) String() string { return strings.Join(*l, " ") }

// Set adds a value.
func (l *list) Set(value string) error {
	if info, err := os.Stat(value); err == nil && !info.Mode().IsRegular() {
		return errors.New("is not a file")
	}
	*l = append(*l, value)
	return nil
}
