package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	const secret = "AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"
	for _, c := range []struct{ name, token, endpoint, complaint string }{
		{"usual", "123456789:" + secret, "https://api.telegram.org", ""},
		{"its own server", "123456789:" + secret, "http://127.0.0.1:8081", ""},
		{"with a path", "123456789:" + secret, "https://bots.example/telegram/", ""},
		{"a neighbouring container", "123456789:" + secret, "http://telegram-bot-api:8081", ""},
		{"a private network", "123456789:" + secret, "http://10.1.2.3", ""},
		{"IPv6", "123456789:" + secret, "http://[::1]:8081", ""},
		{"a short token for a test server", "1:T", "http://127.0.0.1:8081", ""},
		{"a short token for Telegram", "1:T", "https://api.telegram.org", "too short"},
		{"no token", "", "https://api.telegram.org", "@BotFather"},
		{"the name in place of the token", "@claw_bot", "https://api.telegram.org", "not a bot token"},
		{"a space", "123456789:" + secret + "\n", "https://api.telegram.org", "white space"},
		{"a slash in the token", "123456789:" + secret + "/x", "https://api.telegram.org", "not a bot token"},
		{"http to the world", "123456789:" + secret, "http://bots.example", "unencrypted to bots.example"},
		{"no scheme", "123456789:" + secret, "api.telegram.org", "not a server's address"},
		{"another scheme", "123456789:" + secret, "ftp://127.0.0.1", `the scheme is "ftp"`},
		{"a password", "123456789:" + secret, "https://a:hunter2@bots.example", "must not contain a password"},
		{"a query", "123456789:" + secret, "https://bots.example/?x=1", "not a server's address"},
		{"an escape, which the library would take for a format", "123456789:" + secret, "https://bots.example/%2Fx", "not a server's address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := config{Token: sdk.NewSecret(c.token), APIEndpoint: c.endpoint}.Check()
			switch {
			case c.complaint == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.complaint != "" && (err == nil || !strings.Contains(err.Error(), c.complaint)):
				t.Errorf("got %v, want it to say %q", err, c.complaint)
			case err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("a secret is in %v", err)
			}
		})
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	c := config{Token: sdk.NewSecret(s.Token()), APIEndpoint: s.URL()}
	want := sdk.Account{Name: "@claw_bot", Link: "https://t.me/claw_bot"}
	if got, err := c.CheckAccount(t.Context()); !reflect.DeepEqual(got, want) || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := newAPI(s.Token(), s.URL()).call(t.Context(), "setWebhook", map[string]string{"url": "https://hook.example"}); err != nil {
		t.Fatal(err)
	}
	got, err := c.CheckAccount(t.Context())
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "webhook") {
		t.Errorf("with a webhook: %+v, %v", got, err)
	}
	if again, err := c.CheckAccount(t.Context()); err != nil || len(again.Warnings) != 1 {
		t.Errorf("the check changed the webhook: %+v, %v", again, err)
	}
	c.Token = sdk.NewSecret(s.Token() + "x")
	if _, err := c.CheckAccount(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "token: the token is rejected by Telegram (40") {
		t.Errorf("a wrong token: %v", err)
	}
	c.APIEndpoint = "http://127.0.0.1:1"
	if _, err := c.CheckAccount(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "cannot ask Telegram: ") || strings.Contains(err.Error(), c.Token.Reveal()) {
		t.Errorf("no server: %v", err)
	}
}
