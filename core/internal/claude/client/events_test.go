package client

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
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

// The longer a text streams, the more of it may be read together, and what ends it waits no longer.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Client{log: hclog.NewNullLogger(), moved: make(chan struct{})}
		c.follow(exchange.New("m"), progressFunc(func(agent.Progress) {}))
		step := func(after time.Duration, line string, want time.Duration) {
			t.Helper()
			time.Sleep(after)
			if got, err := c.Line([]byte(line), false); err != nil || got != want {
				t.Errorf("after %v more the next line may wait %v, %v; want %v", after, got, err, want)
			}
		}
		piece := fmt.Sprintf(pieceLine, "word ")
		step(0, messageLine, 0)
		step(time.Minute, piece, 0)
		step(40*time.Millisecond, piece, 0)
		step(60*time.Millisecond, piece, time.Millisecond)
		step(time.Minute, piece, 10*time.Millisecond)
		step(0, `{"type":"stream_event","event":{"type":"content_block_stop","index":0}}`, 0)
		step(0, piece, 0)
	})
}

// Pieces that come together are reported together, and the last is not left behind.
func TestProgressIsBatched(t *testing.T) {
	t.Parallel()
	var reported []string
	c := &Client{log: hclog.NewNullLogger(), moved: make(chan struct{})}
	c.follow(exchange.New("m"), progressFunc(func(p agent.Progress) { reported = append(reported, p.Text) }))
	take := func(line string, more bool) {
		t.Helper()
		if _, err := c.Line([]byte(line), more); err != nil {
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
