package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
	"github.com/clawhost/clawhost/core/internal/operate/hostapi"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// drain is how long the plugin may take to end.
	drain = 3 * time.Second
	// answerTimeout limits an answer to a message.
	answerTimeout = 20 * time.Second
	// maxHeard is how many messages wait for their answers. Further ones get none.
	maxHeard = 16
)

// Owner is a person who has shown that the account is theirs.
type Owner struct {
	ID   string // as the config has it, such as "telegram:1001"
	Name string
}

// AwaitOwner runs the channel of a network until somebody sends the code in a direct chat, and tells that person so. Others are told that
// the host is being set up; their messages are not kept, because nobody is let in yet.
func (d Draft) AwaitOwner(ctx context.Context, network Network, code string, h Host) (_ Owner, err error) {
	dir, err := os.MkdirTemp("", "clawhost-init-*")
	if err != nil {
		return Owner{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d.Networks, d.Memory = []Network{network}, false
	c, err := d.load(dir)
	if err != nil {
		return Owner{}, err
	}
	state, err := store.Open(ctx, filepath.Join(dir, store.File), store.Options{})
	if err != nil {
		return Owner{}, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()

	log := hclog.NewNullLogger()
	registry := plugins.New(c.Plugins)
	l := &listener{code: code, heard: make(chan chat.Event, maxHeard)}
	l.api = hostapi.New(hostapi.Options{Inbox: l, Store: state, Plugins: registry}, log)
	s := supervisor.New(supervisor.Options{
		Plugins: registry, HostVersion: h.Version, StateDir: dir, Workspace: dir, SocketDir: supervisor.SocketDir(dir),
		Processes: state, Children: h.Children, Grace: drain,
	}, log)
	working, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.Run(working, l) })
	defer func() { cancel(); running.Wait() }()
	for {
		changed := registry.Changed()
		if failure := registry.Entry(network.Label).Status().Failure; failure != nil {
			return Owner{}, fmt.Errorf("plugin %s: %s", network.Label, failure.Why)
		}
		select {
		case <-ctx.Done():
			return Owner{}, ctx.Err()
		case <-changed:
		case e := <-l.heard:
			is := l.isCode(e)
			text := wording.BeingSetUp
			if is {
				text = wording.OwnerNow
			}
			answer(ctx, registry, network.Label, e, text)
			if is {
				return Owner{ID: network.Label + ":" + string(e.Sender.ID), Name: e.Sender.Name()}, nil
			}
		}
	}
}

// answer sends a text to the chat of a message. A failure is not fatal: the terminal says the same.
func answer(ctx context.Context, registry *plugins.Registry, label string, to chat.Event, text string) {
	p, ok := registry.Get(label)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, _ = p.Send(ctx, chat.Outgoing{
		Key: "setup-" + string(to.ID), To: chat.Address{Channel: label, Chat: to.Chat.ID, Thread: to.Thread}, Text: text,
	})
}

// listener is the host as the plugin sees it.
type listener struct {
	code  string
	api   *hostapi.API
	heard chan chat.Event // messages of direct chats
}

// isCode reports whether a message has the code.
func (l *listener) isCode(e chat.Event) bool {
	m, ok := e.Body.(chat.Message)
	if !ok {
		return false
	}
	for word := range strings.FieldsSeq(m.Text) {
		if typed, ok := access.ParseCode(word); ok && typed == l.code {
			return true
		}
	}
	return false
}

// Submit implements [hostapi.Inbox]. Every event is taken, so that the network goes on to the next.
func (l *listener) Submit(_ context.Context, _ string, e chat.Event) (inbox.Outcome, error) {
	if _, is := e.Body.(chat.Message); is && e.Chat.Kind == chat.Direct {
		select {
		case l.heard <- e:
		default: // too many at a time
		}
	}
	return inbox.Outcome{Verdict: chat.Rejected, Reason: "the host is being set up"}, nil
}

// Typing implements [hostapi.Inbox].
func (l *listener) Typing(context.Context, string, chat.Typing) error { return nil }

// Session implements [hostapi.Inbox].
func (l *listener) Session(context.Context, string, chat.Address, chat.Chat) (string, error) {
	return "", errors.New("the host is being set up")
}

// Register implements [supervisor.Host].
func (l *listener) Register(instance string, server *grpc.Server) {
	l.api.RegisterIntake(instance, server)
}

// Accept implements [supervisor.Host].
func (l *listener) Accept(string, remote.Description) error { return nil }

// Opened implements [supervisor.Host].
func (l *listener) Opened(string, string) {}
