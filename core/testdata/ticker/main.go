// Command ticker is a plugin that is woken again and again. Each time it posts a message, has the agent asked something in a
// conversation of the plugin's own, and sets its next wake-up, until a file exists.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

type config struct {
	End string `json:"end" jsonschema:"The file that ends it."`
}

type ticker struct {
	config
	env sdk.Env
}

// first is the key under which the state has that the first wake-up was set.
const first = "begun"

func open(ctx context.Context, env sdk.Env, c config) (*ticker, error) {
	t := &ticker{c, env}
	if _, _, err := env.State.Get(ctx, first); !errors.Is(err, sdk.ErrNotFound) {
		return t, err
	}
	if err := t.set(ctx, 0); err != nil {
		return nil, err
	}
	_, err := env.State.Put(ctx, first, nil)
	return t, err
}

func (t *ticker) set(ctx context.Context, n int) error {
	return t.env.WakeUps.WakeAt(ctx, strconv.Itoa(n), time.Now().Add(30*time.Millisecond))
}

// WakeUp implements sdk.Waker. The key is the number of the wake-up.
func (t *ticker) WakeUp(ctx context.Context, w sdk.WakeUp) error {
	to := chat.Address{Channel: "board", Chat: "chat0"}
	if err := t.env.Outbox.PostMessage(ctx, w.Key, to, sdk.Post{Text: "Tick " + w.Key + "."}); err != nil {
		return err
	}
	if err := t.env.Turns.Begin(ctx, sdk.Turn{
		Key: w.Key, To: to, Kind: chat.Direct, Conversation: "ticks", Deliver: true,
		Prompt: fmt.Sprintf(`[[stub {"answer": "The end of tick %s."}]]`, w.Key),
	}); err != nil {
		return err
	}
	if _, err := os.Stat(t.End); err == nil {
		return nil
	}
	n, err := strconv.Atoi(w.Key)
	if err != nil {
		return err
	}
	return t.set(ctx, n+1)
}

func main() { sdk.Serve("ticker", "1", sdk.Service(open)) }
