package command_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// noter is a plugin that notes the ids of its commands, and answers with a button for what it is told.
type noter struct{ ids []string }

func (n *noter) ReplyCommand(_ context.Context, call sdk.CommandCall) (sdk.Reply, error) {
	n.ids = append(n.ids, call.ID)
	return sdk.Reply{Text: "noted", Buttons: [][]chat.Button{{{Label: "Press", Data: call.Args}}}}, nil
}

// Each use of a plugin's command has an id, which is the same when the call is repeated, and its buttons use only the plugin's commands.
// Behaviour: plugin-buttons.
func TestCommandsOfAPlugin(t *testing.T) {
	t.Parallel()
	n, running := &noter{}, plugintest.Registry("noter", "other")
	for name, component := range map[string]sdk.Component{
		"noter": sdk.Service(func(context.Context, sdk.Env, struct{}) (*noter, error) { return n, nil }, sdk.CommandSpec{Name: "note"}),
		"other": sdk.Command(sdk.CommandSpec{Name: "roll"}, func(context.Context, sdk.CommandCall) (string, error) { return "", nil }),
	} {
		plugintest.Run(t, running, name, component)
	}
	r := command.New(nil, nil, command.Host{Plugins: running, Log: hclog.NewNullLogger()})
	run := func(args string, and ...domain.Command) command.Answer {
		t.Helper()
		answer, err := r.Run(t.Context(), command.Call{
			Name: "note", Args: args, And: and, ID: "m1", Caller: chat.Caller{
				Session: "noter:a", Address: chat.Address{Channel: "noter", Chat: "a"}, Kind: chat.Direct, Sender: chat.Sender{ID: "a"}, Authority: chat.Owner,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for range 2 {
		run("/note x", domain.Command{Name: "note", Args: "/note y"})
	}
	if diff := cmp.Diff([]string{"m1", "m1#1", "m1", "m1#1"}, n.ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	for data, kept := range map[string]bool{"/note x": true, "/NOTE": true, "/roll": false, "/stop": false, "/bash ls": false, "note": false, "": false, "/note\x00": false} {
		answer := run(data)
		if answer.Text != "noted" || (len(answer.Rows) == 1) != kept {
			t.Errorf("a button with %q: %+v, want it: %t", data, answer, kept)
		}
	}
}
