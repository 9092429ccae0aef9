package core

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/housekeeping"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/sdk/chat"
)

// unmoved are chats that have kept their ids.
type unmoved struct{}

func (unmoved) Origin(_ string, id chat.ID) chat.ID { return id }

// resolve has the host of a test resolve conversations.
func (h *Host) resolve() {
	h.conversations = conversation.NewResolver(h.config, h.supervisor, unmoved{})
}

// The turns of plugins have an owner's authority in whoever's chat they are. That must not open the owner's memory there, nor
// write to it, nor let tools run unasked that only the owner may run so.
// Behaviour: memory-section, permission-mode-owner, memory-flush, memory-flush-when.
func TestWhatOnlyOwnersOpen(t *testing.T) {
	t.Parallel()
	const dangerous = "bypassPermissions"
	h := &Host{log: hclog.NewNullLogger(), supervisor: supervisor.New(supervisor.Options{}, hclog.NewNullLogger()), config: &config.Config{
		Agent:       config.Agent{Name: "Claw", Workspace: t.TempDir(), Timezone: time.UTC},
		Claude:      config.Claude{PermissionMode: "default"},
		MemoryFlush: config.MemoryFlush{Enabled: true, Prompt: "write it down"},
		Settings:    config.Settings{Access: config.Access{Owners: []string{"telegram:anna"}}},
	}}
	h.resolve()
	h.prompter = h.newPrompter()
	full := agent.Result{ContextTokens: 170_000, ContextWindow: 200_000}
	for name, test := range map[string]struct {
		user          chat.UserID
		kind          chat.Kind
		authority     chat.Authority
		origin        domain.Origin
		opens, powers bool
	}{
		"the owner":                         {user: "anna", kind: chat.Direct, authority: chat.Owner, opens: true, powers: true},
		"the owner in a group":              {user: "anna", kind: chat.Group, authority: chat.Owner, powers: true},
		"somebody else":                     {user: "bob", kind: chat.Direct, authority: chat.Authorised},
		"a plugin in the owner's chat":      {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin, opens: true, powers: true},
		"a plugin in somebody else's chat":  {user: "bob", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin},
		"a plugin in a group":               {user: "anna", kind: chat.Group, authority: chat.Owner, origin: domain.OriginPlugin},
		"a heartbeat in the owner's chat":   {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginHeartbeat, opens: true, powers: true},
		"a heartbeat for somebody else":     {user: "bob", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginHeartbeat},
		"a person whom a link makes owner":  {user: "anna2", kind: chat.Direct, authority: chat.Owner, opens: true, powers: true},
		"a stranger of another channel too": {user: "anna", kind: chat.Direct, authority: chat.Other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := h.conversations.Turn(&domain.Run{Session: domain.Session{Overrides: domain.Overrides{Permission: dangerous}}, Message: domain.Queued{Message: domain.Message{
				Channel: "telegram", Chat: chat.Chat{ID: "chat", Kind: test.kind}, Sender: chat.Sender{ID: test.user}, Authority: test.authority, Origin: test.origin,
			}}})
			p := h.profile(run)
			if private := strings.Contains(p.SystemPrompt, "search both and read what fits"); private != test.opens || p.Private != test.opens {
				t.Errorf("the prompt opens the memory: %v, and says so: %v", private, p.Private)
			}
			if (p.PermissionMode == dangerous) != test.powers {
				t.Errorf("permission mode %s", p.PermissionMode)
			}
			if owns := run.Caller.Authority == chat.Owner; owns != test.powers {
				t.Errorf("an owner's authority: %v", owns)
			}
			if flush := housekeeping.NewFlush(h.config.MemoryFlush).Next(run, full); (flush != nil) != test.opens {
				t.Errorf("what comes next is %+v", flush)
			}
		})
	}
}
