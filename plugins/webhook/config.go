package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of the config.
const (
	maxBody   = 25 << 20 // what GitHub sends at most
	maxHooks  = 100
	maxPrompt = 8 << 10
	minSecret = 16
)

// config is the plugin's block in the host's config file.
type config struct {
	Listen  string                `json:"listen" default:"127.0.0.1:8790" jsonschema:"Address to listen on; empty: only at the host's address."`
	MaxBody int                   `json:"max_body" default:"1048576" jsonschema:"Maximum size of a request's body, in bytes."`
	Hooks   map[string]hookConfig `json:"hooks" jsonschema:"The hooks, by the last part of their addresses."`
}

// hookConfig is one hook of the config.
type hookConfig struct {
	Form     string     `json:"form" default:"plain" jsonschema:"How requests are signed: github or plain."`
	Secret   sdk.Secret `json:"secret" jsonschema:"What the sender signs with, at least 16 bytes."`
	To       string     `json:"to" format:"chat" jsonschema:"The chat whose session answers, such as telegram:1001 or telegram:group:-100123."`
	Events   []string   `json:"events,omitempty" jsonschema:"The events that start a turn, such as issues or issues.opened (default: all)."`
	Prompt   string     `json:"prompt,omitempty" jsonschema:"What the agent is asked to do."`
	Template string     `json:"template,omitempty" jsonschema:"A template of Go for what the agent reads of the payload."`
}

var (
	hookName  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	eventName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// Check validates what the schema cannot.
func (c config) Check() error {
	_, err := c.hooks()
	return err
}

// hooks returns the hooks by their names. The errors say where in the config they are.
func (c config) hooks() (map[string]*hook, error) {
	found := []error{sdk.ConfigError("listen", checkListen(c.Listen))}
	if c.MaxBody < 1 || c.MaxBody > maxBody {
		found = append(found, sdk.ConfigError("max_body", fmt.Errorf("must be 1 to %d", maxBody)))
	}
	if len(c.Hooks) == 0 || len(c.Hooks) > maxHooks {
		found = append(found, sdk.ConfigError("hooks", fmt.Errorf("must have 1 to %d hooks", maxHooks)))
	}
	hooks := map[string]*hook{}
	owners := map[string]string{} // the hooks, by their secrets
	for _, name := range slices.Sorted(maps.Keys(c.Hooks)) {
		h, err := c.Hooks[name].hook(name)
		if err != nil {
			found = append(found, err)
		}
		hooks[name] = h
		secret := c.Hooks[name].Secret.Reveal()
		if other, taken := owners[secret]; taken && secret != "" {
			found = append(found, sdk.ConfigError("hooks."+name+".secret",
				fmt.Errorf("the hook %q has the same secret: what is signed for one would be valid for the other", other)))
		}
		owners[secret] = name
	}
	if err := errors.Join(found...); err != nil {
		return nil, err
	}
	return hooks, nil
}

// hook returns the hook with this name.
func (c hookConfig) hook(name string) (*hook, error) {
	var found []error
	wrong := func(attribute string, err error) {
		found = append(found, sdk.ConfigError("hooks."+name+attribute, err))
	}
	if !hookName.MatchString(name) {
		wrong("", errors.New("the name of a hook has 1 to 64 lower-case letters, digits, hyphens and underscores"))
	}
	h := &hook{name: name, events: c.Events, prompt: cmp.Or(c.Prompt, defaultPrompt)}
	var err error
	if h.form, err = newForm(c.Form, c.Secret.Reveal()); errors.Is(err, errForm) {
		wrong(".form", err)
	} else if err != nil {
		wrong(".secret", err)
	}
	if h.to, h.kind, err = parseChat(c.To); err != nil {
		wrong(".to", err)
	}
	for i, event := range c.Events {
		if !eventName.MatchString(event) {
			wrong(fmt.Sprintf(".events[%d]", i), errors.New(`must be an event such as "issues", or with an action such as "issues.opened"`))
		}
	}
	if len(c.Prompt) > maxPrompt {
		wrong(".prompt", fmt.Errorf("must have at most %d bytes", maxPrompt))
	}
	if h.template, err = compile(cmp.Or(c.Template, defaultTemplates[c.Form])); err != nil {
		wrong(".template", err)
	}
	return h, errors.Join(found...)
}

func checkListen(address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address such as %q", address, "127.0.0.1:8790")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port", port)
	}
	return nil
}

// parseChat reads a chat as session keys name it: channel:user, channel:group:chat, and either with :thread:id.
func parseChat(key string) (to chat.Address, kind chat.Kind, err error) {
	parts := strings.Split(key, ":")
	for i, part := range parts {
		if parts[i], err = url.PathUnescape(part); err != nil || part == "" {
			return to, kind, errChat
		}
	}
	if n := len(parts); n >= 4 && parts[n-2] == "thread" {
		to.Thread, parts = chat.ThreadID(parts[n-1]), parts[:n-2]
	}
	switch {
	case len(parts) == 2:
		kind = chat.Direct
	case len(parts) == 3 && parts[1] == "group":
		kind = chat.Group
	default:
		return to, kind, errChat
	}
	to.Channel, to.Chat = parts[0], chat.ID(parts[len(parts)-1])
	return to, kind, nil
}

var errChat = errors.New(`must be a chat such as "telegram:1001" or "telegram:group:-100123", with ":thread:7" for a thread`)
