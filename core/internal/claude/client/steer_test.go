package client

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
)

// meddler is a process for which a line is taken back at the moment in which it is written.
type meddler struct {
	stdin
	client *Client
	ctx    context.Context
	done   chan bool
	early  chan bool // whether that was asked for before the line was written
}

func (*meddler) Exited() <-chan struct{} { return nil }

func (m *meddler) Send(v any) {
	if m.client != nil {
		c := m.client
		m.client = nil
		go func() { m.done <- c.WithdrawLine(m.ctx, "u") }()
		select {
		case line := <-m.lines:
			m.early <- bytes.Contains(line, []byte("cancel_async_message"))
		case <-time.After(50 * time.Millisecond):
			m.early <- false
		}
	}
	m.stdin.Send(v)
}

// A request to take a line back is written behind the line: the CLI would know nothing of the line, and run it after all.
func TestNoLineIsTakenBackBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	m := &meddler{stdin: stdin{lines: make(chan []byte, 256)}, early: make(chan bool, 1), done: make(chan bool, 1)}
	c := &Client{log: hclog.NewNullLogger(), process: m, requests: newRequests(m, []string{""}, agent.Profile{}, hclog.NewNullLogger()), moved: make(chan struct{}), ready: make(chan struct{}), spent: map[string]bool{}, exchange: exchange.New("m")}
	c.Attend(t.Context(), agent.Turn{})
	t.Cleanup(c.Dismiss)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.client, m.ctx = c, ctx
	if !c.join(agent.Line{UUID: "u", Text: "by the way"}) {
		t.Fatal("the line was not written")
	}
	if receive(t, m.early, "the line is written") {
		t.Error("the line was to be taken back before it was written")
	}
	if line := receive(t, m.lines, "the line is written"); !bytes.Contains(line, []byte("by the way")) {
		t.Errorf("written %s", line)
	}
	if line := receive(t, m.lines, "it is taken back"); !bytes.Contains(line, []byte("cancel_async_message")) {
		t.Errorf("then written %s", line)
	}
	cancel()
	receive(t, m.done, "the request is given up")
}
