package sdktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

func showsCommands(t testing.TB, s Setup) {
	h := s.serve(t)
	if !h.can("COMMANDS") {
		return
	}
	network, config := s.network(t)
	menu := as[MenuNetwork](t, network, "commands")
	h.Configure(config)
	many := make([]chat.CommandSpec, wire.MaxMenu)
	for i := range many {
		// Names of the maximum length, and summaries from empty to longer than most networks accept.
		many[i] = chat.CommandSpec{
			Name:    fmt.Sprintf("%s_%03d", strings.Repeat("n", wire.MaxCommand-4), i),
			Summary: strings.Repeat("ü🦀\n", i),
		}
	}
	few := []chat.CommandSpec{
		{Name: "status", Usage: "/status", Summary: "What is going on."},
		{Name: "new", Usage: "/new [TEXT]", Summary: "Start again.", MinAuthority: chat.Authorised},
		{Name: "x", MinAuthority: chat.Owner},
	}
	for _, step := range []struct {
		what     string
		commands []chat.CommandSpec
		whole    bool // whether it fits into every network's menu
	}{
		{"a few commands", few, true},
		{"the same again", few, true},
		{"others", few[1:], true},
		{"more than a network takes", many, false},
		{"a few commands after many", few, true},
		{"none", nil, true},
		{"none again", nil, true},
	} {
		if err := h.SetCommands(step.commands...); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		var want []string
		for _, c := range step.commands {
			want = append(want, c.Name)
		}
		eventually(t, step.what+" are in the menu", menu.Menu, func(shown []string) bool {
			if !step.whole && len(shown) > 0 && len(shown) < len(want) {
				return slices.Equal(shown, want[:len(shown)])
			}
			return slices.Equal(shown, want)
		})
	}
}
