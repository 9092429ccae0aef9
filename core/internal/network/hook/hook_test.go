package hook_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// plugin has a hook with a second's time.
type plugin struct {
	name     string
	required bool
	down     bool
	other    bool // it has no such hook

	text  string
	once  string // for the conversation
	large bool   // it answers more than the sdk lets it
	after time.Duration
	err   error
}

func (p plugin) answer(ctx context.Context, _ sdk.AgentStart) (sdk.AgentContext, error) {
	select {
	case <-ctx.Done():
		return sdk.AgentContext{}, ctx.Err()
	case <-time.After(p.after):
		return sdk.AgentContext{Prepend: p.text, Conversation: p.once}, p.err
	}
}

// run returns a registry in which these plugins run.
func run(t *testing.T, list ...plugin) *plugins.Registry {
	t.Helper()
	var blocks []*config.Plugin
	for _, p := range list {
		block := &config.Plugin{Label: p.name, Enabled: true, Hook: config.Hook{Timeout: time.Second, OnError: "skip"}}
		if p.required {
			block.Hook.OnError = "fail"
		}
		blocks = append(blocks, block)
	}
	r := plugins.New(blocks)
	for _, p := range list {
		switch {
		case p.down:
		case p.other:
			plugintest.Run(t, r, p.name, sdk.OnMessage(func(context.Context, sdk.MessageReceived) error { return nil }))
		case p.large:
			plugintest.Run(t, r, p.name, sdk.BeforeAgentStart(p.answer)).Handle("BeforeAgentStart", func(context.Context, any) (any, error) {
				return &pluginv1.BeforeAgentStartResponse{PrependContext: p.text, ConversationContext: p.once}, nil
			})
		default:
			plugintest.Run(t, r, p.name, sdk.BeforeAgentStart(p.answer))
		}
	}
	return r
}

// says is a plugin that answers text after a while.
func says(name, text string, after time.Duration) plugin {
	return plugin{name: name, text: text, after: after}
}

func fails(name string, required bool) plugin {
	return plugin{name: name, required: required, text: "ignored", err: errors.New("out of order")}
}

// Behaviour: hooks.
func TestBeforeAgentStart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", hook.MaxContext)
	for name, test := range map[string]struct {
		plugins []plugin
		want    []string
		err     string
	}{
		"none":                      {},
		"order is the file's":       {plugins: []plugin{says("a", "first", 900*time.Millisecond), says("b", "second", 0)}, want: []string{"first", "second"}},
		"empty answers add nothing": {plugins: []plugin{says("a", " \n", 0), says("b", "b", 0)}, want: []string{"b"}},
		"a failure is skipped":      {plugins: []plugin{fails("a", false), says("b", "b", 0)}, want: []string{"b"}},
		"a slow one is skipped":     {plugins: []plugin{says("a", "late", time.Minute), says("b", "b", 0)}, want: []string{"b"}},
		"a required one fails":      {plugins: []plugin{fails("a", true), says("b", "b", 0)}, want: []string{"b"}, err: "hook a: the plugin failed (Unknown): out of order"},
		"a required one is slow":    {plugins: []plugin{{name: "slow", required: true, text: "late", after: time.Minute}}, err: "hook slow: context deadline exceeded"},
		"one that is down":          {plugins: []plugin{{name: "gone", down: true}, says("b", "b", 0)}, want: []string{"b"}},
		"a required one is down":    {plugins: []plugin{{name: "gone", down: true, required: true}, says("b", "b", 0)}, want: []string{"b"}, err: "hook gone: the plugin is gone"},
		"one without the hook":      {plugins: []plugin{{name: "other", other: true, required: true}, says("b", "b", 0)}, want: []string{"b"}},
		"for the conversation":      {plugins: []plugin{{name: "a", once: " once\n"}}, want: []string{"once"}},
		"too much for it is cut":    {plugins: []plugin{{name: "a", large: true, once: long + "x"}}, want: []string{long}},
		"too much is cut":           {plugins: []plugin{{name: "a", large: true, text: long + "x"}}, want: []string{long}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				chain := hook.New(run(t, test.plugins...), nil, hclog.NewNullLogger())
				got, err := chain.BeforeAgentStart(t.Context(), hook.Start{Caller: writer})
				var texts []string
				for _, added := range got {
					texts = append(texts, added.Prepend+added.Conversation)
				}
				if diff := cmp.Diff(test.want, texts); diff != "" {
					t.Error(diff)
				}
				if text := errorText(err); text != test.err {
					t.Errorf("error %q, want %q", text, test.err)
				}
			})
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
