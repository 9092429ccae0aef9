package config_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: send-policy.
func TestSendPolicy(t *testing.T) {
	t.Parallel()
	rules := []config.SendRule{
		{Channel: "discord", Chat: "group", KeyPrefix: "discord:group:7", Policy: "allow"},
		{Channel: "discord", Chat: "group", Policy: "deny"},
		{KeyPrefix: "peer:", Policy: "deny"},
		{Chat: "thread", Policy: "deny"},
		{Channel: "discord", Policy: "allow"},
	}
	const direct, group, channel = chat.Direct, chat.Group, chat.Broadcast
	tests := []struct {
		name     string
		from     chat.Address
		kind     chat.Kind
		key, own string
		want     string
	}{
		{"the first rule that matches counts", chat.Address{Channel: "discord"}, group, "discord:group:7", "", "allow"},
		{"a prefix need not be the whole key", chat.Address{Channel: "discord"}, group, "discord:group:77", "", "allow"},
		{"a prefix stands at the key's beginning", chat.Address{Channel: "discord"}, group, "x:discord:group:7", "", "deny"},
		{"a rule matches only with all that it names", chat.Address{Channel: "discord"}, group, "discord:group:8", "", "deny"},
		{"the channel is another one", chat.Address{Channel: "telegram"}, group, "telegram:group:7", "", "default"},
		{"the chat is another one", chat.Address{Channel: "discord"}, channel, "discord:group:7", "", "allow"},
		{"a prefix alone, in any channel", chat.Address{Channel: "telegram"}, direct, "peer:anna", "", "deny"},
		{"a type alone, in any channel", chat.Address{Channel: "telegram", Thread: "2"}, group, "telegram:group:1:thread:2", "", "deny"},
		{"a type comes before a later channel", chat.Address{Channel: "discord", Thread: "2"}, group, "discord:group:1:thread:2", "", "deny"},
		{"a thread is none of its chat's kind", chat.Address{Channel: "discord", Thread: "2"}, group, "discord:group:7:thread:2", "", "deny"},
		{"a channel is not a part of its name", chat.Address{Channel: "disco"}, direct, "disco:1", "", "default"},
		{"no rule matches", chat.Address{Channel: "webchat"}, direct, "webchat:local", "", "default"},
		{"the session's own goes before the rules", chat.Address{Channel: "discord"}, group, "discord:group:8", "allow", "allow"},
		{"the session's own goes before the default", chat.Address{Channel: "webchat"}, direct, "webchat:local", "own", "own"},
	}
	for _, standard := range []string{"allow", "deny"} {
		send := config.Send{Default: standard, Rules: rules}
		for _, tt := range tests {
			want := tt.want
			if want == "default" {
				want = standard
			}
			if got := send.Policy(tt.own, tt.key, tt.from, tt.kind); got != want {
				t.Errorf("default %s: %s: %s, want %s", standard, tt.name, got, want)
			}
		}
	}
	webchat := chat.Address{Channel: "webchat"}
	if got := (config.Send{Default: "deny"}).Policy("", "webchat:local", webchat, direct); got != "deny" {
		t.Errorf("without rules the policy is %s, not the default", got)
	}
	all := config.Send{Default: "deny", Rules: []config.SendRule{{Policy: "allow"}}}
	if got := all.Policy("", "webchat:local", webchat, direct); got != "allow" {
		t.Errorf("an empty rule does not match all: %s", got)
	}
}
