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

	"github.com/clawhost/clawhost/core/internal/hook"
	"github.com/clawhost/clawhost/sdk/chat"
)

// hooks are those of a test.
type hooks []hook.Hook

func (h hooks) Hooks() []hook.Hook { return h }

// plugin answers a hook.
type plugin struct {
	text  string
	once  string // for the conversation
	after time.Duration
	err   error
}

func (p plugin) BeforeAgentStart(ctx context.Context, _ string, _ chat.Caller, _ string) (string, string, error) {
	select {
	case <-ctx.Done():
		return "", "", ctx.Err()
	case <-time.After(p.after):
		return p.text, p.once, p.err
	}
}

// says is a hook that answers text after a while.
func says(name, text string, after time.Duration) hook.Hook {
	return hook.Hook{Name: name, Timeout: time.Second, Plugin: plugin{text: text, after: after}}
}

func fails(name string, required bool) hook.Hook {
	return hook.Hook{Name: name, Timeout: time.Second, Required: required, Plugin: plugin{text: "ignored", err: errors.New("out of order")}}
}

// Behaviour: hooks.
func TestBeforeAgentStart(t *testing.T) {
	t.Parallel()
	required := says("slow", "late", time.Minute)
	required.Required = true
	for name, test := range map[string]struct {
		hooks []hook.Hook
		want  []string
		err   string
	}{
		"none":                      {},
		"order is the file's":       {hooks: []hook.Hook{says("a", "first", 900*time.Millisecond), says("b", "second", 0)}, want: []string{"first", "second"}},
		"empty answers add nothing": {hooks: []hook.Hook{says("a", " \n", 0), says("b", "b", 0)}, want: []string{"b"}},
		"a failure is skipped":      {hooks: []hook.Hook{fails("a", false), says("b", "b", 0)}, want: []string{"b"}},
		"a slow one is skipped":     {hooks: []hook.Hook{says("a", "late", time.Minute), says("b", "b", 0)}, want: []string{"b"}},
		"a required one fails":      {hooks: []hook.Hook{fails("a", true), says("b", "b", 0)}, want: []string{"b"}, err: "hook a: out of order"},
		"a required one is slow":    {hooks: []hook.Hook{required}, err: "hook slow: context deadline exceeded"},
		"one that is down":          {hooks: []hook.Hook{{Name: "gone", Timeout: time.Second}, says("b", "b", 0)}, want: []string{"b"}},
		"for the conversation":      {hooks: []hook.Hook{{Name: "a", Timeout: time.Second, Plugin: plugin{once: " once\n"}}}, want: []string{"once"}},
		"too much for it is cut":    {hooks: []hook.Hook{{Name: "a", Timeout: time.Second, Plugin: plugin{once: strings.Repeat("x", hook.MaxContext+1)}}}, want: []string{strings.Repeat("x", hook.MaxContext)}},
		"too much is cut":           {hooks: []hook.Hook{says("a", strings.Repeat("x", hook.MaxContext+1), 0)}, want: []string{strings.Repeat("x", hook.MaxContext)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				chain := hook.New(hooks(test.hooks), hclog.NewNullLogger())
				got, err := chain.BeforeAgentStart(t.Context(), hook.Start{})
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
