package client

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
)

const (
	pieceLine   = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}}`
	messageLine = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","content":[]}}}`
)

// progressFunc is an [agent.Watcher].
type progressFunc func(agent.Progress)

func (f progressFunc) Progress(p agent.Progress) { f(p) }

func (progressFunc) Consumed(context.Context) {}

func (progressFunc) Todos() []domain.Todo { return nil }

// Pieces that come together are reported together, and the last is not left behind.
func TestProgressIsBatched(t *testing.T) {
	t.Parallel()
	var reported []string
	c := &Client{log: hclog.NewNullLogger(), moved: make(chan struct{})}
	c.follow(exchange.New("m"), progressFunc(func(p agent.Progress) { reported = append(reported, p.Text) }))
	take := func(line string, more bool) {
		t.Helper()
		if err := c.Line([]byte(line), more); err != nil {
			t.Fatal(err)
		}
	}
	take(messageLine, true)
	for i, word := range []string{"one ", "two ", "three ", "four"} {
		take(fmt.Sprintf(pieceLine, word), i%2 == 0)
	}
	if fmt.Sprintf("%q", reported) != `["one two" "one two three four"]` {
		t.Errorf("got %q", reported)
	}
}
