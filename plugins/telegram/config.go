package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/clawhost/clawhost/sdk"
)

// config is the plugin's block in the host's config file.
type config struct {
	Token        sdk.Secret `json:"token"                                              jsonschema:"the bot's token as BotFather gives it"`
	APIEndpoint  string     `json:"api_endpoint"  default:"https://api.telegram.org" jsonschema:"the Bot API server, Telegram's or one of your own"`
	RichMessages bool       `json:"rich_messages" default:"false" jsonschema:"have Telegram render headings, tables and lists itself; old Telegram apps show a note in place of such a message"`
	LinkPreviews bool       `json:"link_previews" default:"false"                    jsonschema:"show a preview of the first link of a message"`
}

// tokenShape matches a bot's id and its secret.
var tokenShape = regexp.MustCompile(`^[0-9]{1,19}:([A-Za-z0-9_-]+)$`)

// shortestSecret is the minimum length of a secret issued by Telegram. Test servers accept shorter ones.
const shortestSecret = 30

// Check validates what the schema cannot.
func (c config) Check() error {
	local, err := checkEndpoint(c.APIEndpoint)
	return errors.Join(sdk.ConfigError("token", checkToken(c.Token.Reveal(), local)), sdk.ConfigError("api_endpoint", err))
}

// CheckAccount asks the server who the bot is, and whether another program gets its updates.
func (c config) CheckAccount(ctx context.Context) (sdk.Account, error) {
	a := newAPI(c.Token.Reveal(), c.APIEndpoint)
	defer a.close()
	var self struct {
		Username string `json:"username"`
	}
	var webhook struct {
		URL string `json:"url"`
	}
	ask := func(method string, result any) error {
		raw, err := a.call(ctx, method, nil)
		if failed, ok := errors.AsType[*callError](err); ok && failed.badToken() {
			return sdk.ConfigError("token", fmt.Errorf("the token is rejected by Telegram (%d); @BotFather shows the valid one", failed.Status))
		}
		if err != nil {
			return fmt.Errorf("cannot ask Telegram: %w", err)
		}
		return a.read(method, raw, result)
	}
	if err := ask("getMe", &self); err != nil {
		return sdk.Account{}, err
	}
	if err := ask("getWebhookInfo", &webhook); err != nil {
		return sdk.Account{}, err
	}
	account := sdk.Account{Name: "@" + self.Username, Link: "https://t.me/" + self.Username}
	if webhook.URL != "" {
		account.Warnings = []string{"another program gets this bot's messages by a webhook; the plugin removes it when it starts. " +
			"Stop that program, or create a bot of your own for clawhost"}
	}
	return account, nil
}

// checkToken validates the token. Errors never quote it.
func checkToken(token string, local bool) error {
	shape := tokenShape.FindStringSubmatch(token)
	switch {
	case token == "":
		return errors.New("the token is empty; @BotFather gives one on Telegram with /newbot")
	case token != strings.TrimSpace(token):
		return errors.New("there is white space around the token")
	case shape == nil:
		return errors.New("this is not a bot token; one looks like 123456789:AbC…, a number, a colon and letters")
	case len(shape[1]) < shortestSecret && !local:
		return errors.New("the token is too short; it was perhaps not copied to its end")
	default:
		return nil
	}
}

// checkEndpoint validates the server's address, and reports whether it is on this machine or in its private network.
func checkEndpoint(endpoint string) (local bool, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.EscapedPath(), "%") {
		return false, errors.New("this is not a server's address, such as https://api.telegram.org")
	}
	if u.User != nil {
		return false, errors.New("the address must not contain a password")
	}
	local = isLocal(u.Hostname())
	switch u.Scheme {
	case "https":
		return local, nil
	case "http":
		if !local {
			return false, fmt.Errorf("http would send the token unencrypted to %s; use https", u.Hostname())
		}
		return true, nil
	default:
		return local, fmt.Errorf("the scheme is %q; use https, or http within your own network", u.Scheme)
	}
}

// isLocal reports whether a host is on this machine or in a private network. A name without a dot, such as that of a
// neighbouring container, counts as local.
func isLocal(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	host = strings.ToLower(host)
	for _, suffix := range []string{".localhost", ".local", ".internal"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}
