// Command clawhost-schedule reminds people, and asks the agent at set times.
package main

import (
	"context"
	"errors"
	"strings"
	"time"
	_ "time/tzdata" // a machine may have no zones

	"github.com/clawhost/clawhost/sdk"
)

// version is set at build time.
var version = "dev"

func main() {
	sdk.Serve("schedule", version, service(time.Now))
}

// service returns the plugin with a clock.
func service(now func() time.Time) sdk.Component {
	return sdk.Service(func(ctx context.Context, env sdk.Env, c config) (*schedules, error) {
		return open(ctx, env, c, now)
	},
		sdk.CommandSpec{Name: "remind", Usage: "/remind 17:30 call Bob", Summary: "send a text at a time"},
		sdk.CommandSpec{Name: "every", Usage: "/every weekday 9:00 what is new?", Summary: "ask Claude at set times"},
		sdk.CommandSpec{Name: "schedule", Usage: "/schedule", Summary: "show and change the schedules of this chat"},
	)
}

// config is the plugin's block in the host's config file.
type config struct {
	Timezone string `json:"timezone" default:"local" jsonschema:"On whose clock times are: local, utc, or a name such as Europe/Berlin."`
	OnMiss   string `json:"on_miss" default:"ask" jsonschema:"What happens when the host was down at the time of a turn: run it late, ask in the chat, or skip it."`
}

// What happens to missed turns.
const (
	missRun  = "run"
	missAsk  = "ask"
	missSkip = "skip"
)

// Check validates what the schema cannot.
func (c config) Check() error {
	_, err := c.zone()
	switch c.OnMiss {
	case missRun, missAsk, missSkip:
		return err
	}
	return errors.Join(err, sdk.ConfigError("on_miss", errors.New(`must be "run", "ask" or "skip"`)))
}

// zone returns the zone of all times.
func (c config) zone() (*time.Location, error) {
	switch strings.ToLower(c.Timezone) {
	case "", "local":
		return time.Local, nil
	case "utc":
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		return nil, sdk.ConfigError("timezone", errors.New(`must be "local", "utc" or the name of a zone such as "Europe/Berlin"`))
	}
	return zone, nil
}
