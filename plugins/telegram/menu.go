package main

import (
	"context"
	"errors"
	"strings"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of the bot's menu of commands, from the Bot API.
const (
	maxCommands    = 100
	maxDescription = 256 // UTF-16 code units
)

// SetCommands implements sdk.CommandMenu. The menu applies to all chats and languages. A picked command arrives as the text
// of a message.
func (c *channel) SetCommands(ctx context.Context, commands []chat.CommandSpec) error {
	if len(commands) == 0 {
		return c.apply(ctx, "deleteMyCommands", tgbotapi.Params{}, "")
	}
	for most := min(len(commands), maxCommands); ; most /= 2 {
		err := c.apply(ctx, "setMyCommands", tgbotapi.Params{"commands": menuOf(commands[:most])}, "")
		// Telegram also has an undocumented limit for the whole menu.
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

// description returns the menu's text for a command, which must not be empty.
func description(command chat.CommandSpec) string {
	for _, text := range []string{command.Summary, command.Usage} {
		if line := strings.Join(strings.Fields(text), " "); line != "" {
			return cutUnits(line, maxDescription)
		}
	}
	return "/" + command.Name
}

// cutUnits cuts a text to limit UTF-16 code units, ending with an ellipsis.
func cutUnits(text string, limit int) string {
	const sign = "…"
	units, fits := 0, 0
	for i, r := range text {
		if units < limit {
			fits = i // leaves a unit for the ellipsis
		}
		if units += utf16.RuneLen(r); units > limit {
			return strings.TrimRight(text[:fits], " ") + sign
		}
	}
	return text
}
