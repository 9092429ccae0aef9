package plugins

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// menuLook is the interval at which a menu that a network refused is offered again, and at which new skills are
	// added to the menu.
	menuLook = time.Minute
	menuCall = 30 * time.Second
)

// Menu shows the commands in the networks' own menus.
type Menu struct {
	plugins  *Set
	commands Commands
	log      hclog.Logger
}

// Commands returns the commands that a menu shows.
type Commands interface {
	Menu() []chat.CommandSpec
}

// NewMenu returns a menu. Run starts it.
func NewMenu(plugins *Set, commands Commands, log hclog.Logger) *Menu {
	return &Menu{plugins: plugins, commands: commands, log: log}
}

// Run shows the commands whenever a plugin starts or stops running, or a skill is new, until ctx ends.
func (m *Menu) Run(ctx context.Context) {
	type shown struct {
		live any
		menu []chat.CommandSpec
	}
	known := map[string]shown{}
	for {
		changed := m.plugins.Changed()
		menu := m.commands.Menu()
		for _, live := range m.plugins.supervisor.Running() {
			before := known[live.Name]
			if !live.Can(remote.Menu) || before.live == any(live) && slices.Equal(before.menu, menu) {
				continue
			}
			call, cancel := context.WithTimeout(ctx, menuCall)
			err := live.SetCommands(call, menu)
			cancel()
			if err != nil && ctx.Err() == nil {
				m.log.Warn("a channel does not show the commands", "plugin", live.Name, "error", err)
				continue
			}
			known[live.Name] = shown{live, menu}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(menuLook):
		}
	}
}
