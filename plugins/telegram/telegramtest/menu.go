package telegramtest

import (
	"encoding/json"
	"regexp"
	"slices"
)

// What the menu of commands may hold.
const (
	maxCommands    = 100
	maxDescription = 256 // UTF-16 code units
)

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// Command is an entry of the bot's menu.
type Command struct {
	Name        string `json:"command"`
	Description string `json:"description"`
}

// Commands are the commands of the menu that people see in all chats, in order.
func (s *Server) Commands() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

// setMyCommands replaces the menu. Of the scopes it knows the default one only.
func (s *Server) setMyCommands(params map[string]string) response {
	if r, ok := defaultScope(params); !ok {
		return r
	}
	var commands []Command
	if err := json.Unmarshal([]byte(params["commands"]), &commands); err != nil {
		return badRequest("can't parse BotCommand: expected an Array")
	}
	if len(commands) > maxCommands {
		return badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	for _, c := range commands {
		switch {
		case !commandName.MatchString(c.Name):
			return badRequest("BOT_COMMAND_INVALID")
		case c.Description == "" || units(c.Description) > maxDescription:
			return badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	s.commands = commands
	return succeeded(true)
}

func (s *Server) deleteMyCommands(params map[string]string) response {
	if r, ok := defaultScope(params); !ok {
		return r
	}
	s.commands = nil
	return succeeded(true)
}

func defaultScope(params map[string]string) (response, bool) {
	var scope struct {
		Type string `json:"type"`
	}
	if raw := params["scope"]; raw != "" && (json.Unmarshal([]byte(raw), &scope) != nil || scope.Type != "default") {
		return badRequest("this server knows the default scope only"), false
	}
	if params["language_code"] != "" {
		return badRequest("this server knows no menus of languages"), false
	}
	return response{}, true
}
