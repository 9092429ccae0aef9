package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A command without config.
func ExampleCommand() {
	shout := sdk.Command(
		sdk.CommandSpec{Name: "shout", Usage: "/shout TEXT", Summary: "Repeat it louder."},
		func(_ context.Context, call sdk.CommandCall) (string, error) { return strings.ToUpper(call.Args), nil },
	)
	sdk.Serve("shout", "0.1.0", shout)
}

// A service with a config and a background task: it posts to a chat at an interval.
func ExampleService() {
	type config struct {
		Chat  string       `json:"chat" jsonschema:"Id of the chat."`
		Every sdk.Duration `json:"every" default:"24h"`
	}
	sdk.Serve("reminder", "0.1.0", sdk.Service(func(_ context.Context, env sdk.Env, c config) (*reminder, error) {
		if c.Every.Duration < time.Minute {
			return nil, sdk.ConfigError("every", errors.New("shorter than a minute"))
		}
		return &reminder{outbox: env.Outbox, to: chat.Address{Channel: "telegram", Chat: chat.ID(c.Chat)}, every: c.Every.Duration}, nil
	}))
}

type reminder struct {
	outbox sdk.Outbox
	to     chat.Address
	every  time.Duration
}

// Run implements sdk.Runner.
func (r *reminder) Run(ctx context.Context) error {
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			// The key prevents a duplicate if the reminder is posted again after a crash.
			key := "reminder:" + now.Truncate(r.every).UTC().Format(time.RFC3339)
			if err := r.outbox.Post(ctx, key, r.to, "Stand up and stretch."); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// A hook without config.
func ExampleBeforeAgentStart() {
	sdk.Serve("politeness", "0.1.0", sdk.BeforeAgentStart(func(_ context.Context, start sdk.AgentStart) (sdk.AgentContext, error) {
		return sdk.AgentContext{Prepend: "Address " + start.Caller.Sender.Name() + " by name.\n"}, nil
	}))
}

// A plugin that counts messages. It may miss some; an exact count would follow transcripts.
func ExampleOnMessage() {
	var seen atomic.Int64
	sdk.Serve("counter", "0.1.0",
		sdk.OnMessage(func(context.Context, sdk.MessageReceived) error {
			seen.Add(1)
			return nil
		}),
		sdk.Command(sdk.CommandSpec{Name: "seen", Usage: "/seen", Summary: "How many messages came."},
			func(context.Context, sdk.CommandCall) (string, error) { return fmt.Sprint(seen.Load()), nil }),
	)
}

// A plugin that keeps a copy of all transcripts. An entry that is sent again is written again, under the same id.
func ExampleOnTranscript() {
	sdk.Serve("copy", "0.1.0", sdk.OnTranscript(func(_ context.Context, appended sdk.TranscriptAppended) error {
		f, err := os.OpenFile("said.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err // the host sends it again later
		}
		for _, e := range appended.Entries {
			_, err = fmt.Fprintf(f, "%s %d %s: %q\n", appended.Session, e.ID, e.Role, e.Text)
			if err != nil {
				break
			}
		}
		return errors.Join(err, f.Close())
	}))
}

func ExampleConfigError() {
	check := func(urls []string) error {
		var all []error
		for i, url := range urls {
			if !strings.HasPrefix(url, "https://") {
				all = append(all, sdk.ConfigError(fmt.Sprintf("urls[%d]", i), errors.New("must begin with https://")))
			}
		}
		return errors.Join(all...)
	}
	fmt.Println(check([]string{"https://a", "http://b", "c"}))
	// Output:
	// urls[1]: must begin with https://
	// urls[2]: must begin with https://
}

func ExampleSecret() {
	token := sdk.NewSecret("123456:ABCDEF")
	fmt.Println(token, len(token.Reveal()))
	// Output: [secret] 13
}
