// Command parrot is a plugin of a third party, in a module of its own.
package main

import (
	"context"
	"sync"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

type config struct {
	Token sdk.Secret `json:"token" jsonschema:"From the parrot's owner."`
}

type parrot struct {
	mu   sync.Mutex
	said []string
}

func main() {
	limits := chat.Limits{Text: chat.TextLimit{Max: 140, Unit: chat.Runes}, Markup: chat.Plain}
	sdk.Serve("parrot", "2.0.0", sdk.NewChannel(limits, func(context.Context, sdk.Env, config) (*parrot, error) {
		return &parrot{}, nil
	}))
}

func (p *parrot) Run(ctx context.Context, in sdk.Inbox) error {
	in.Report(chat.Connected, "on its perch")
	<-ctx.Done()
	return nil
}

func (p *parrot) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, out.Text)
	return chat.Receipt{IDs: []chat.MessageID{chat.MessageID(out.Key)}}, nil
}
