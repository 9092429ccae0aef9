package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/clawhost/clawhost/sdk"
)

// config is the plugin's block in the host's config file.
type config struct {
	Token          sdk.Secret `json:"token"                          jsonschema:"the bot's token from the Bot page of Discord's developer portal"`
	MessageContent bool       `json:"message_content" default:"true" jsonschema:"read all messages of a server's channels; needs the Message Content Intent in the developer portal. Without it only direct messages and mentions can be read"`
	LinkPreviews   bool       `json:"link_previews" default:"false" jsonschema:"show previews of the links of a message"`
	TestEndpoint   string     `json:"test_endpoint"   default:""     jsonschema:"a server for tests on this machine in place of Discord, such as http://127.0.0.1:8080"`
}

// messageContent are the flags of an application that may read messages: in full, or in at most a hundred servers.
const messageContent = 1<<18 | 1<<19

// CheckAccount asks Discord who the bot is, and whether it may read messages.
func (c config) CheckAccount(ctx context.Context) (sdk.Account, error) {
	r, err := newREST(c.Token.Reveal(), c.TestEndpoint)
	if err != nil {
		return sdk.Account{}, err
	}
	defer r.close()
	var self struct{ ID, Username string }
	var app struct {
		Flags int64 `json:"flags"`
	}
	ask := func(path string, result any) error {
		err := r.call(ctx, "GET "+path, http.MethodGet, path, nil, result)
		if failed, ok := errors.AsType[*callError](err); ok && failed.Status == http.StatusUnauthorized {
			return sdk.ConfigError("token", errors.New("the token is rejected by Discord (401); the Bot page of the developer portal makes a new one"))
		}
		if err != nil {
			return fmt.Errorf("cannot ask Discord: %w", err)
		}
		return nil
	}
	if err := ask("users/@me", &self); err != nil {
		return sdk.Account{}, err
	}
	if err := ask("applications/@me", &app); err != nil {
		return sdk.Account{}, err
	}
	account := sdk.Account{Name: "@" + self.Username, Link: "https://discord.com/users/" + self.ID}
	if c.MessageContent && app.Flags&messageContent == 0 {
		return account, sdk.ConfigError("message_content", errors.New("the Message Content Intent is off; "+
			"switch it on at the Bot page of the developer portal, or set message_content to false"))
	}
	return account, nil
}

// tokenShape matches the bot's id in base64, a time and a secret.
var tokenShape = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{20,}$`)

// Check validates what the schema cannot.
func (c config) Check() error {
	return errors.Join(
		sdk.ConfigError("token", checkToken(c.Token.Reveal())),
		sdk.ConfigError("test_endpoint", checkEndpoint(c.TestEndpoint)),
	)
}

// checkToken validates the token. Errors never quote it.
func checkToken(token string) error {
	switch {
	case token == "":
		return errors.New("the token is empty; discord.com/developers gives one on the Bot page of an application")
	case token != strings.TrimSpace(token):
		return errors.New("there is white space around the token")
	case strings.HasPrefix(token, "Bot "):
		return errors.New(`the token is written without "Bot " before it`)
	case !tokenShape.MatchString(token):
		return errors.New("this is not a bot token, which has three parts separated by dots. The public key, the client secret and the application id are something else")
	default:
		return nil
	}
}

// checkEndpoint accepts addresses of this machine only: another server would receive the token.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" || u.Port() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("this is not the address of a test server, such as http://127.0.0.1:8080")
	}
	if !loopback(u.Hostname()) {
		return errors.New("the test server must be on this machine, at 127.0.0.1 or [::1]")
	}
	return nil
}

// loopback reports whether a host is a loopback address; names are not accepted.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
