package command_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// menuless is a channel that shows no commands.
type menuless struct {
	plugintest.Idle
	why error
}

func (m menuless) SetCommands(context.Context, []chat.CommandSpec) error { return m.why }

// That a channel without a connection shows no commands is no news: its connection is. Other errors are warnings.
func TestAMenuThatIsNotShown(t *testing.T) {
	t.Parallel()
	for want, why := range map[string]error{
		`\[DEBUG\] a channel does not show the commands: plugin=tg error="not connected: reset by peer"`: &chat.Failure{
			Reason: chat.NotConnected, Err: errors.New("reset by peer"),
		},
		`\[WARN\]  a channel does not show the commands: plugin=tg error="invalid: too many"`: &chat.Failure{
			Reason: chat.Invalid, Err: errors.New("too many"),
		},
	} {
		r, log := plugintest.Registry("tg"), &journal.Journal{}
		plugintest.Run(t, r, "tg", plugintest.Channel(chat.Limits{}, menuless{why: why}))
		menus := command.NewMenus(r, (&hostCommands{}).registry(), hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			menus.Run(ctx)
		}()
		if err := log.Await(t.Context(), ended, 0, regexp.MustCompile(want)); err != nil {
			t.Error(err)
		}
		cancel()
		<-ended
	}
}
