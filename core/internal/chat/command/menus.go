package command

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// menuLook is the interval at which a menu that a network refused is offered again, and at which new skills are added to the
// menu.
const menuLook = time.Minute

// Menus show the commands in the networks' own menus.
type Menus struct {
	plugins  *plugins.Registry
	commands *Registry
	log      hclog.Logger
}

// NewMenus returns the menus of all channels. Run starts it.
func NewMenus(plugins *plugins.Registry, commands *Registry, log hclog.Logger) *Menus {
	return &Menus{plugins: plugins, commands: commands, log: log}
}

// Run shows the commands whenever a plugin starts or stops running, or a skill is new, until ctx ends.
func (m *Menus) Run(ctx context.Context) {
	type shown struct {
		live *plugins.Plugin
		menu []chat.CommandSpec
	}
	known := map[string]shown{}
	for {
		changed := m.plugins.Changed()
		menu := m.commands.Menu()
		for _, live := range m.plugins.With(remote.Menu) {
			before := known[live.Name]
			if before.live == live && slices.Equal(before.menu, menu) {
				continue
			}
			if err := live.SetCommands(ctx, menu); err != nil && ctx.Err() == nil {
				level := hclog.Warn
				if failure, ok := errors.AsType[*chat.Failure](err); ok && failure.Reason == chat.NotConnected || errors.Is(err, remote.ErrGone) {
					level = hclog.Debug // the connection's own lines in the log say why
				}
				m.log.Log(level, "a channel does not show the commands", "plugin", live.Name, "error", err)
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
