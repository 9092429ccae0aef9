package config_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/config"
)

func TestSendPolicy(t *testing.T) {
	t.Parallel()
	rules := []config.SendRule{
		{Channel: "discord", Chat: "group", KeyPrefix: "discord:group:7", Policy: "allow"},
		{Channel: "discord", Chat: "group", Policy: "deny"},
		{KeyPrefix: "peer:", Policy: "deny"},
		{Chat: "thread", Policy: "deny"},
		{Channel: "discord", Policy: "allow"},
	}
	tests := []struct {
		name               string
		channel, chat, key string
		want               string
	}{
		{"the first rule that matches counts", "discord", "group", "discord:group:7", "allow"},
		{"a prefix need not be the whole key", "discord", "group", "discord:group:77", "allow"},
		{"a prefix stands at the key's beginning", "discord", "group", "x:discord:group:7", "deny"},
		{"a rule matches only with all that it names", "discord", "group", "discord:group:8", "deny"},
		{"the channel is another one", "telegram", "group", "telegram:group:7", "default"},
		{"the chat is another one", "discord", "channel", "discord:group:7", "allow"},
		{"a prefix alone, in any channel", "telegram", "direct", "peer:anna", "deny"},
		{"a type alone, in any channel", "telegram", "thread", "telegram:group:1:thread:2", "deny"},
		{"a type comes before a later channel", "discord", "thread", "discord:group:1:thread:2", "deny"},
		{"a channel is not a part of its name", "disco", "direct", "disco:1", "default"},
		{"no rule matches", "webchat", "direct", "webchat:local", "default"},
	}
	for _, standard := range []string{"allow", "deny"} {
		send := config.Send{Default: standard, Rules: rules}
		for _, tt := range tests {
			want := tt.want
			if want == "default" {
				want = standard
			}
			if got := send.Policy(tt.channel, tt.chat, tt.key); got != want {
				t.Errorf("default %s: %s: %s %s %s: %s, want %s", standard, tt.name, tt.channel, tt.chat, tt.key, got, want)
			}
		}
	}
	if got := (config.Send{Default: "deny"}).Policy("webchat", "direct", "webchat:local"); got != "deny" {
		t.Errorf("without rules the policy is %s, not the default", got)
	}
	all := config.Send{Default: "deny", Rules: []config.SendRule{{Policy: "allow"}}}
	if got := all.Policy("webchat", "direct", "webchat:local"); got != "allow" {
		t.Errorf("an empty rule does not match all: %s", got)
	}
}
