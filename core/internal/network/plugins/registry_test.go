package plugins_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The files of a channel that is being started are waited for. Those of one that there is not, or no longer, can never be had.
// Behaviour: file-retry.
func TestFilesOfAChannelThatDoesNotRun(t *testing.T) {
	t.Parallel()
	r := plugintest.Registry("starting", "waiting", "failed", "stopped")
	for _, state := range []plugins.State{plugins.Starting, plugins.Waiting, plugins.Failed, plugins.Stopped} {
		r.Entry(string(state)).Update(func(s *plugins.Status) { s.State = state })
	}
	for _, name := range []string{"starting", "waiting"} {
		if _, err := r.FetchFile(t.Context(), name, "token", 1); !errors.Is(err, plugins.ErrAway) {
			t.Errorf("a channel that is %s: %v", name, err)
		}
	}
	for _, name := range []string{"failed", "stopped", "disabled"} {
		_, err := r.FetchFile(t.Context(), name, "token", 1)
		failed, ok := errors.AsType[*chat.FileError](err)
		if !ok || failed.Problem != "could not be fetched, because its channel is not running" {
			t.Errorf("a channel that is %s: %v", name, err)
		}
	}
}

func observe(context.Context, sdk.MessageReceived) error { return nil }

func TestPluginsAreFoundByWhatTheyCanDo(t *testing.T) {
	t.Parallel()
	r := plugintest.Registry("memory", "telegram", "later", "audit")
	plugintest.Run(t, r, "audit", sdk.OnMessage(observe))
	plugintest.Run(t, r, "telegram", plugintest.Channel(chat.Limits{Replies: true}, plugintest.Idle{}))
	start := func(context.Context, sdk.AgentStart) (sdk.AgentContext, error) { return sdk.AgentContext{}, nil }
	memory := plugintest.Run(t, r, "memory", sdk.OnMessage(observe), sdk.BeforeAgentStart(start))
	with := func(c remote.Capability) (names []string) {
		for _, p := range r.With(c) {
			names = append(names, p.Name)
		}
		return names
	}
	for c, want := range map[remote.Capability][]string{
		remote.MessageReceived: {"memory", "audit"}, remote.BeforeAgentStart: {"memory"}, remote.Channel: {"telegram"}, remote.Edit: nil,
	} {
		if got := with(c); !slices.Equal(got, want) {
			t.Errorf("with %s are %q, want %q", c, got, want)
		}
	}
	if names := r.ChannelNames(); !slices.Equal(names, []string{"telegram"}) {
		t.Errorf("channels are %q", names)
	}
	for name, want := range map[string]string{
		"telegram": "", "later": "", "memory": "memory is no channel; the channels are: telegram",
		"nobody": `there is no channel "nobody"; the channels are: telegram`,
	} {
		if err := r.CheckChannel(name); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("sending to %s: %v, want %q", name, err, want)
		}
	}
	changed := r.Changed()
	memory.Leave()
	<-changed
	if got := with(remote.MessageReceived); !slices.Equal(got, []string{"audit"}) || r.Running("memory") {
		t.Errorf("with the memory down, messages go to %q", got)
	}
}

// What is known of a channel's newest process stays known while none runs.
func TestLimitsOfAChannelThatIsDown(t *testing.T) {
	t.Parallel()
	r := plugintest.Registry("telegram")
	if _, known := r.Limits("telegram", chat.Group); known {
		t.Error("limits are known of a channel that has never run")
	}
	plugintest.Run(t, r, "telegram", plugintest.Channel(chat.Limits{Replies: true}, plugintest.Idle{})).Leave()
	if limits, known := r.Limits("telegram", chat.Group); !known || !limits.Replies {
		t.Errorf("the limits are %+v, %t", limits, known)
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	r := plugintest.Registry("telegram")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Await(ended, "telegram"); !errors.Is(err, context.Canceled) {
		t.Errorf("a plugin that does not run: %v", err)
	}
	if _, err := r.Await(t.Context(), "discord"); err == nil {
		t.Error("a plugin that is not enabled was waited for")
	}
	found := make(chan *plugins.Plugin)
	go func() {
		p, _ := r.Await(t.Context(), "telegram")
		found <- p
	}()
	started := plugintest.Run(t, r, "telegram", plugintest.Channel(chat.Limits{}, plugintest.Idle{}))
	if p := <-found; p != started.Plugin {
		t.Errorf("found is %v", p)
	}
	if p, err := r.Await(ended, "telegram"); p != started.Plugin {
		t.Errorf("a plugin that runs: %v, %v", p, err)
	}
}

// Only a plugin that follows what is said reads what was said, and only if its block lets it.
func TestWhoReadsTranscripts(t *testing.T) {
	t.Parallel()
	follow := sdk.OnTranscript(func(context.Context, sdk.TranscriptAppended) error { return nil })
	r := plugins.New([]*config.Plugin{
		{Label: "may", Enabled: true, ReadTranscripts: true},
		{Label: "may not", Enabled: true},
		{Label: "observer", Enabled: true, ReadTranscripts: true},
	})
	plugintest.Run(t, r, "may", follow)
	plugintest.Run(t, r, "may not", follow)
	plugintest.Run(t, r, "observer", sdk.OnMessage(observe))
	for name, want := range map[string]bool{"may": true, "may not": false, "observer": false, "nobody": false} {
		if r.ReadsTranscripts(t.Context(), name) != want {
			t.Errorf("%s reads transcripts, want %t", name, want)
		}
	}
}

// What is sent to a plugin that is no channel is given up, not tried again.
func TestAPluginThatIsNoChannel(t *testing.T) {
	t.Parallel()
	p := plugintest.Start(t, "memory", sdk.OnMessage(observe))
	_, err := p.Send(t.Context(), chat.Outgoing{Key: "k", To: chat.Address{Channel: "memory", Chat: "c"}, Text: "x"})
	failure, ok := errors.AsType[*chat.Failure](err)
	if !ok || failure.Reason != chat.Invalid || failure.Error() != "invalid: the plugin memory is not a channel" {
		t.Errorf("the error is %v", err)
	}
	if err := p.Edit(t.Context(), chat.Address{Channel: "memory", Chat: "c"}, "1", "x", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an edit: %v", err)
	}
	if p.Idempotent() {
		t.Error("it is said to show each message once")
	}
}
