package main

import (
	"slices"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// menu holds the slash commands that the page completes.
type menu struct {
	changed *broadcast

	mu       sync.Mutex
	version  int64
	commands []command
}

// command is a slash command as sent to a page.
type command struct {
	Name    string `json:"name"`
	Usage   string `json:"usage,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// set replaces the list.
func (m *menu) set(specs []chat.CommandSpec) {
	commands := make([]command, 0, len(specs))
	for _, s := range specs {
		commands = append(commands, command{s.Name, s.Usage, s.Summary})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Equal(commands, m.commands) {
		return
	}
	m.commands = commands
	m.version++
	m.changed.notify()
}

// list returns the commands, and a number that changes with them.
func (m *menu) list() ([]command, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commands, m.version
}
