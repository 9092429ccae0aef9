package core

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestHeartbeatTarget(t *testing.T) {
	t.Parallel()
	plugins := []*config.Plugin{{Label: "telegram", Enabled: true}, {Label: "discord"}}
	for name, test := range map[string]struct {
		target string
		owners []string
		to     chat.Address
	}{
		"the owner":              {"owner", []string{"telegram:1", "telegram:2"}, chat.Address{Channel: "telegram", Chat: "1"}},
		"a person":               {"telegram:a:b", nil, chat.Address{Channel: "telegram", Chat: "a:b"}},
		"no owner":               {"owner", nil, chat.Address{}},
		"a channel that is off":  {"owner", []string{"discord:1"}, chat.Address{}},
		"a channel that is none": {"irc:1", nil, chat.Address{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &Host{config: &config.Config{Plugins: plugins, Settings: config.Settings{Access: config.Access{Owners: test.owners}}}}
			to, err := h.heartbeatTarget(test.target)
			if to != test.to || (err != nil) != (test.to == chat.Address{}) {
				t.Errorf("%+v, %v", to, err)
			}
		})
	}
}
