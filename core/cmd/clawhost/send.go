package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk/wire"
)

// send is the command that sends a message to a chat. It returns once the host has made it durable.
func (a *app) send() *cobra.Command {
	var m admin.Message
	var files []string
	var key string
	c := a.command("send -to CHANNEL:CHAT [TEXT|-]", "Send a message to a chat; - reads the text from the input", `
clawhost send -to telegram:1001 'The build is green.'
make report | clawhost send -to telegram:1001 -
clawhost send -to discord:42 -thread 43 -file chart.png`, func(ctx context.Context, args []string) (err error) {
		if m.Text, err = a.text(args); err != nil {
			return err
		}
		switch {
		case m.To == "":
			return usage("send needs -to and a chat, such as telegram:1001")
		case m.Text == "" && len(files) == 0:
			return usage("send needs a text or a file")
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
				return usage("%s is not a file", file)
			}
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
	c.Flags().StringVar(&m.To, "to", "", "the `chat`, as channel:chat")
	c.Flags().StringVar(&m.Thread, "thread", "", "the `id` of a thread of the chat")
	c.Flags().StringArrayVar(&files, "file", nil, "a `file` to send after the text; may be given several times")
	c.Flags().StringVar(&key, "key", "", "a `key` of your choice: the same again sends nothing")
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
