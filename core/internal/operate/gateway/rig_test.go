package gateway_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// rig is a gateway over a real store. A turn waits until the test ends it, or runs if the rig is running.
type rig struct {
	*gateway.Gateway
	store   *store.Store
	turns   *dispatch.Dispatcher
	closing chan struct{}
	ends    chan domain.RunState // of the running turn
}

// open returns a rig with a channel, tg, that has these limits.
func open(t *testing.T, limits chat.Limits) *rig {
	t.Helper()
	s, channels := storetest.Open(t), plugintest.Channels(map[string]chat.Limits{"tg": limits})
	log := hclog.NewNullLogger()
	r := &rig{
		store: s, turns: dispatch.New(s, dispatch.Options{Turns: 2, Commands: 1}, log),
		closing: make(chan struct{}), ends: make(chan domain.RunState),
	}
	c := &config.Config{
		Settings: config.Settings{Session: config.Session{Scope: "per-channel-peer"}}, Send: config.Send{Default: "allow"},
		Agent: config.Agent{Label: session.MainAgent, Timezone: time.UTC}, Agents: []*config.Agent{{Label: "server"}},
	}
	conversations := conversation.NewResolver(c, channels, s)
	r.Gateway = gateway.New(gateway.Options{
		Store: s, Conversations: conversations, Plugins: channels, Dispatcher: r.turns, Closing: r.closing,
		Files:  files.NewStore(files.Options{Dir: filepath.Join(t.TempDir(), "media"), Rows: s, MaxBytes: 100}),
		Intake: inbox.NewIntake(s, nil, conversations, time.Now, log),
	}, log)
	return r
}

// run runs turns until the test ends.
func (r *rig) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.turns.Run(ctx, r)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// Handle waits until the test ends a turn, or until it is stopped, which takes a second.
func (r *rig) Handle(ctx context.Context, run *domain.Run, _ <-chan struct{}) error {
	select {
	case state := <-r.ends:
		return r.store.Complete(context.WithoutCancel(ctx), run.ID, completion(state))
	case <-ctx.Done():
		time.Sleep(time.Second)
		if err := r.store.Complete(context.WithoutCancel(ctx), run.ID, completion(domain.RunCancelled)); err != nil {
			return err
		}
		return agent.ErrStopped
	}
}

func completion(state domain.RunState) domain.Completion {
	c := domain.Completion{State: state}
	if state == domain.RunDone {
		c.Answer = "tea"
	}
	return c
}

// claim begins the turn that waits.
func (r *rig) claim(t *testing.T) (run *domain.Run) {
	t.Helper()
	if err := r.store.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(claimed *domain.Run) { run = claimed }); err != nil {
		t.Fatal("no turn waits: ", err)
	}
	return run
}

// complete ends a turn that was begun.
func (r *rig) complete(t *testing.T, run *domain.Run, state domain.RunState) {
	t.Helper()
	if err := r.store.Complete(t.Context(), run.ID, completion(state)); err != nil {
		t.Fatal(err)
	}
}

// end ends the turn that waits.
func (r *rig) end(t *testing.T, state domain.RunState) {
	t.Helper()
	r.complete(t, r.claim(t), state)
}

// open is how many turns wait or run.
func (r *rig) open(t *testing.T) (n int) {
	t.Helper()
	synctest.Wait()
	lanes, err := r.store.Lanes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, lane := range lanes {
		if n += lane.Waiting; lane.Running {
			n++
		}
	}
	return n
}
