// Command clerk is a plugin that keeps appointments: "/appoint 2s tea" says "tea" after two seconds, with a button, and has the agent
// asked about it in a conversation of the plugin's own. "clawhost clerk list" lists what was appointed.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

type clerk struct{ env sdk.Env }

func main() {
	sdk.Serve("clerk", "1.0.0",
		sdk.Service(func(_ context.Context, env sdk.Env, _ struct{}) (*clerk, error) { return &clerk{env}, nil },
			sdk.CommandSpec{Name: "appoint", Usage: "/appoint 2s tea", Summary: "Make an appointment."}))
}

// ReplyCommand makes an appointment, or cancels one.
func (c *clerk) ReplyCommand(ctx context.Context, call sdk.CommandCall) (sdk.Reply, error) {
	first, what, _ := strings.Cut(call.Args, " ")
	key := call.Caller.Address.Channel + "/" + string(call.Caller.Address.Chat) + "/" + what
	if first == "cancel" {
		return sdk.Reply{Text: "Cancelled: " + what}, c.env.WakeUps.Cancel(ctx, key)
	}
	after, err := time.ParseDuration(first)
	if err != nil {
		return sdk.Reply{Text: "That is no time."}, nil
	}
	if _, err := c.env.State.Put(ctx, key, []byte(first)); err != nil {
		return sdk.Reply{}, err
	}
	return sdk.Reply{
		Text: "Appointed: " + what, Buttons: [][]chat.Button{{{Label: "Cancel", Data: "/appoint cancel " + what}}},
	}, c.env.WakeUps.WakeAt(ctx, key, time.Now().Add(after))
}

// WakeUp keeps an appointment.
func (c *clerk) WakeUp(ctx context.Context, w sdk.WakeUp) error {
	parts := strings.SplitN(w.Key, "/", 3)
	to, key := chat.Address{Channel: parts[0], Chat: chat.ID(parts[1])}, fmt.Sprint(w.Key, w.At.UnixMilli())
	if err := c.env.Outbox.PostMessage(ctx, key, to, sdk.Post{
		Text: "It is time: " + parts[2], Buttons: [][]chat.Button{{{Label: "Again", Data: "/appoint 100ms " + parts[2]}}},
	}); err != nil {
		return err
	}
	return c.env.Turns.Begin(ctx, sdk.Turn{
		Key: key, To: to, Kind: chat.Direct, Prompt: "look after " + parts[2], Context: "Somebody says: drop it.", Conversation: "appointments", Deliver: true,
	})
}

// RunCLI lists the appointments that were made.
func (c *clerk) RunCLI(ctx context.Context, call sdk.CLICall) (sdk.CLIResult, error) {
	switch {
	case len(call.Args) > 0 && call.Args[0] == "list":
		keys, err := c.env.State.List(ctx, "", "")
		return sdk.CLIResult{Stdout: strings.Join(keys, "\n") + "\n"}, err
	case len(call.Args) > 1 && call.Args[1] == "-":
		return sdk.CLIResult{Stdout: strings.ToUpper(string(call.Stdin)) + "\x1b[31m\n", Code: 4}, nil
	}
	return sdk.CLIResult{Stderr: "Commands: list, shout -.\n", Code: 2}, nil
}
