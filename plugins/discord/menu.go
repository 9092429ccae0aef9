package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// What the bot's menu of commands takes.
const (
	maxCommands    = 100
	maxDescription = 100 // characters
)

// argsOption is the one option of each command: what is written behind its name.
const argsOption = "args"

type menuEntry struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Type        int          `json:"type"`
	Options     []menuOption `json:"options"`
}

type menuOption struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        int    `json:"type"`
	Required    bool   `json:"required"`
}

// SetCommands implements sdk.CommandMenu. The menu is the one of all servers and direct channels. A command that somebody
// picks comes back as a [chat.NativeCommand].
func (c *channel) SetCommands(ctx context.Context, commands []chat.CommandSpec) error {
	menu := []menuEntry{}
	for _, command := range commands[:min(len(commands), maxCommands)] {
		menu = append(menu, menuEntry{
			Name: command.Name, Description: description(command), Type: int(discordgo.ChatApplicationCommand),
			Options: []menuOption{{
				Name: argsOption, Description: "what comes behind the command", Type: int(discordgo.ApplicationCommandOptionString),
			}},
		})
	}
	var app struct{ ID string }
	if err := c.rest.call(ctx, "GET application", http.MethodGet, "applications/@me", nil, &app); err != nil {
		return network.Failure(err)
	}
	return network.Failure(c.rest.call(ctx, "PUT commands", http.MethodPut, "applications/"+app.ID+"/commands", menu, nil))
}

// description is what the menu says of a command, which must be something.
func description(command chat.CommandSpec) string {
	for _, text := range []string{command.Summary, command.Usage} {
		line := []rune(strings.Join(strings.Fields(text), " "))
		switch {
		case len(line) > maxDescription:
			return string(line[:maxDescription-1]) + "…"
		case len(line) > 0:
			return string(line)
		}
	}
	return "/" + command.Name
}
