package main

import (
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// serve NAME starts a stand-in of a network, "telegram", "discord" (whose application may not read messages) or "api" (the model's), until the
// script ends. Its address is then NAME_URL, and a bot's token NAME_TOKEN. "serve api AHEAD" has the API's clock ahead.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: serve telegram|discord|api [AHEAD]")
	case args[0] == "telegram":
		s, err := telegramtest.Start(telegramtest.Options{})
		ts.Check(err)
		ts.Defer(s.Close)
		ts.Setenv("TELEGRAM_URL", s.URL())
		ts.Setenv("TELEGRAM_TOKEN", s.Token())
	case args[0] == "discord":
		s := discordtest.Start()
		ts.Defer(s.Stop)
		ts.Setenv("DISCORD_URL", s.URL())
		ts.Setenv("DISCORD_TOKEN", s.Token())
	case args[0] == "api":
		ahead := time.Duration(0)
		if len(args) == 2 {
			var err error
			ahead, err = time.ParseDuration(args[1])
			ts.Check(err)
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}))
		ts.Defer(s.Close)
		ts.Setenv("API_URL", s.URL)
	}
}
