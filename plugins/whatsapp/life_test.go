package main

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// life is a running, paired channel.
type life struct {
	*sdktest.Harness
	t      *testing.T
	run    *sdktest.Run
	env    *sdk.Env
	server *whatsapptest.Server
	anna   *whatsapptest.Person
	direct chat.Address
	group  chat.Address
}

// start runs a paired channel; the settings are in addition to the server's.
func start(t *testing.T, more ...map[string]any) life {
	t.Helper()
	return startAt(t, quick(), more...)
}

// startAt is start with another patience.
func startAt(t *testing.T, p pace, more ...map[string]any) life {
	t.Helper()
	env := &sdk.Env{}
	return startAs(t, env, observed(env, p), more...)
}

// startAs is start with another channel, which tells what it got from its host.
func startAs(t *testing.T, env *sdk.Env, channel sdk.Component, more ...map[string]any) life {
	t.Helper()
	s := whatsapptest.New(t)
	anna := s.Person(1)
	folder := t.TempDir() // It goes when the harness has ended.
	h := sdktest.New(t, channel)
	h.StateDir = folder
	adopt(t, s, h.StateDir)
	config := settings(s)
	for _, m := range more {
		maps.Copy(config, m)
	}
	h.Configure(config)
	run := h.Run()
	run.WaitFor(chat.Connected)
	return life{h, t, run, env, s, anna, chat.Address{Chat: chatID(anna.LID)}, chat.Address{Chat: chatID(s.Group())}}
}

// restarted configures the channel's next process on the state folder of a previous one, which must have ended.
func newHarness(t *testing.T, l life) *sdktest.Harness {
	t.Helper()
	h := sdktest.New(t, component())
	h.StateDir = l.StateDir
	h.Configure(settings(l.server))
	return h
}

// next returns the next event's message.
func (l life) next() (chat.Event, chat.Message) {
	l.t.Helper()
	e := l.NextEvent()
	m, ok := e.Body.(chat.Message)
	if !ok {
		l.t.Fatalf("came %+v, want a message", e)
	}
	return e, m
}

// heard waits until Anna has heard so many messages.
func (l life) heard(n int) []whatsapptest.Heard {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
	defer cancel()
	heard, err := l.anna.AwaitHeard(ctx, n)
	if err != nil {
		l.t.Fatalf("Anna heard %d messages, want %d", len(heard), n)
	}
	return heard
}

// send sends, and fails the test if that fails.
func (l life) send(out chat.Outgoing) chat.Receipt {
	l.t.Helper()
	receipt, err := l.Send(out)
	if err != nil {
		l.t.Fatal(err)
	}
	return receipt
}
