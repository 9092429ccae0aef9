package config

import (
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Send configures which sessions may be answered. Messages of others are recorded and start no turn.
type Send struct {
	Default string     // allow (default), deny
	Rules   []SendRule // in the order of the file
}

// SendRule applies to the sessions that it matches. An empty field matches all.
type SendRule struct {
	Channel   string // a plugin's label
	Chat      string // direct, group, channel, thread
	KeyPrefix string // what the session's key begins with
	Policy    string // allow, deny
}

// Policy returns the policy, allow or deny, of a session for messages of such a chat: the session's own if people have
// chosen one, else that of the first matching rule, else the default.
func (s Send) Policy(own, key string, from chat.Address, kind chat.Kind) string {
	if own != "" {
		return own
	}
	folderSize := kind.String()
	if from.Thread != "" {
		folderSize = "thread"
	}
	for _, r := range s.Rules {
		if r.matches(from.Channel, folderSize, key) {
			return r.Policy
		}
	}
	return s.Default
}

func (r SendRule) matches(channel, folderSize, key string) bool {
	return (r.Channel == "" || r.Channel == channel) &&
		(r.Chat == "" || r.Chat == folderSize) &&
		strings.HasPrefix(key, r.KeyPrefix)
}

func (s *Send) block() block {
	return block{
		path:   "send",
		attrs:  []attr{{"default", policy(&s.Default)}},
		blocks: []child{{name: "rule", repeated: true, holds: func(string) block { return s.ruleBlock() }}},
	}
}

// ruleBlock adds a rule and returns its block.
func (s *Send) ruleBlock() block {
	s.Rules = append(s.Rules, SendRule{})
	r := &s.Rules[len(s.Rules)-1]
	return block{
		path: "send.rule",
		attrs: []attr{
			{"channel", channel(&r.Channel)},
			{"chat", oneOf(&r.Chat, "", "direct", "group", "channel", "thread")},
			{"key_prefix", text(&r.KeyPrefix)},
			{"policy", policy(&r.Policy)},
		},
		needs: []string{"policy"},
	}
}

func policy(to *string) setter { return oneOf(to, "allow", "deny") }

// channel stores the label of a plugin block, or none.
func channel(to *string) setter {
	return func(v value) {
		s, ok := v.text()
		switch {
		case !ok:
		case s != "" && !slices.Contains(v.d.channels, s):
			v.refuseChannel(s)
		default:
			*to = s
		}
	}
}
