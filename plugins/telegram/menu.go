package main

import (
	"context"
	"errors"
	"strings"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
)

// What the bot's menu of commands takes, by the Bot API.
const (
	maxCommands    = 100
	maxDescription = 256 // UTF-16 code units
)

// SetCommands implements sdk.CommandMenu. The menu is the one of all chats and languages. A command that somebody picks
// comes back as the text of a message.
func (c *channel) SetCommands(ctx context.Context, commands []chat.CommandSpec) error {
	if len(commands) == 0 {
		return c.apply(ctx, "deleteMyCommands", tgbotapi.Params{}, "")
	}
	for most := min(len(commands), maxCommands); ; most /= 2 {
		err := c.apply(ctx, "setMyCommands", tgbotapi.Params{"commands": menuOf(commands[:most])}, "")
		// Telegram also bounds the menu as a whole, and does not say how.
		if failed, ok := errors.AsType[*callError](err); !ok || !failed.says("commands_too_much") || most == 1 {
			return err
		}
	}
}

func menuOf(commands []chat.CommandSpec) string {
	type entry struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	menu := make([]entry, 0, len(commands))
	for _, command := range commands {
		menu = append(menu, entry{Command: command.Name, Description: description(command)})
	}
	return object(menu)
}

// description is what the menu says of a command, which must be something.
func description(command chat.CommandSpec) string {
	for _, text := range []string{command.Summary, command.Usage} {
		if line := strings.Join(strings.Fields(text), " "); line != "" {
			return cutUnits(line, maxDescription)
		}
	}
	return "/" + command.Name
}

// cutUnits cuts a text to so many UTF-16 code units, with a sign that it was cut.
func cutUnits(text string, limit int) string {
	const sign = "…"
	units, fits := 0, 0
	for i, r := range text {
		if units < limit {
			fits = i // what is before it leaves a unit for the sign
		}
		if units += utf16.RuneLen(r); units > limit {
			return strings.TrimRight(text[:fits], " ") + sign
		}
	}
	return text
}
