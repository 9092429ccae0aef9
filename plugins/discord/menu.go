package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// Limits of the bot's menu of commands.
const (
	maxCommands    = 100
	maxDescription = 100 // characters
)

// argsOption is the only option of each command: the text after its name.
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

// SetCommands implements sdk.CommandMenu. The menu applies to all servers and direct channels. A picked command arrives as
// a [chat.NativeCommand].
func (c *channel) SetCommands(ctx context.Context, commands []chat.CommandSpec) error {
	menu := []menuEntry{}
	for _, command := range commands[:min(len(commands), maxCommands)] {
		menu = append(menu, menuEntry{
			Name: command.Name, Description: description(command), Type: int(discordgo.ChatApplicationCommand),
			Options: []menuOption{{
				Name: argsOption, Description: "the text after the command", Type: int(discordgo.ApplicationCommandOptionString),
			}},
		})
	}
	var app struct{ ID string }
	if err := c.rest.call(ctx, "GET application", http.MethodGet, "applications/@me", nil, &app); err != nil {
		return network.Failure(err)
	}
	return network.Failure(c.rest.call(ctx, "PUT commands", http.MethodPut, "applications/"+app.ID+"/commands", menu, nil))
}

// description returns the menu's text for a command, which must not be empty.
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
