package loglevel_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/loglevel"
)

// Each component logs from its own level on, also after a change.
func TestLevels(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	levels := loglevel.New("info", nil)
	log := levels.Logger(hclog.New(&hclog.LoggerOptions{Name: "clawhost", Level: hclog.Trace, Output: &out, DisableTime: true}))
	turn := log.Named("turn")
	channel := turn.With("channel", "telegram").Named("send")
	write := func() string {
		out.Reset()
		log.Debug("host")
		log.Info("host")
		turn.Debug("turn")
		turn.Info("turn")
		channel.Debug("send")
		channel.Warn("send")
		return out.String()
	}
	check := func(want ...string) {
		t.Helper()
		if got := write(); got != strings.Join(want, "\n")+"\n" {
			t.Errorf("the log has\n%swant\n%s", got, strings.Join(want, "\n"))
		}
	}
	check("[INFO]  clawhost: host", "[INFO]  clawhost.turn: turn", "[WARN]  clawhost.turn.send: send: channel=telegram")
	levels.Set("warn", map[string]string{"turn": "debug"})
	check("[DEBUG] clawhost.turn: turn", "[INFO]  clawhost.turn: turn", "[DEBUG] clawhost.turn.send: send: channel=telegram", "[WARN]  clawhost.turn.send: send: channel=telegram")
	if !turn.IsDebug() || log.IsInfo() {
		t.Errorf("the component turn is at %v, the host at %v", turn.GetLevel(), log.GetLevel())
	}
	levels.Set("debug", map[string]string{"turn": "error", "turn.send": "warn"})
	check("[DEBUG] clawhost: host", "[INFO]  clawhost: host", "[WARN]  clawhost.turn.send: send: channel=telegram")
}
