package prompt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The turns of plugins have an owner's authority in whoever's chat they are. That must not open the owner's memory there, nor
// lets tools run without a question that only the owner may run so.
// Behaviour: memory-section, permission-mode-owner.
func TestWhatOnlyOwnersOpen(t *testing.T) {
	t.Parallel()
	const dangerous = "bypassPermissions"
	b, conversations := builder(&config.Config{
		Agent:    config.Agent{Name: "Claw", Workspace: t.TempDir(), Timezone: time.UTC, Claude: config.Claude{PermissionMode: "default"}},
		Settings: config.Settings{Access: config.Access{Owners: []string{"telegram:anna"}}},
	})
	for name, test := range map[string]struct {
		user          chat.UserID
		kind          chat.Kind
		authority     chat.Authority
		origin        domain.Origin
		opens, powers bool
	}{
		"the owner":                         {user: "anna", kind: chat.Direct, authority: chat.Owner, opens: true, powers: true},
		"the owner in a group":              {user: "anna", kind: chat.Group, authority: chat.Owner, powers: true},
		"another person":                    {user: "bob", kind: chat.Direct, authority: chat.Authorised},
		"a plugin in the owner's chat":      {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin, opens: true, powers: true},
		"a plugin in another person's chat": {user: "bob", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginPlugin},
		"a plugin in a group":               {user: "anna", kind: chat.Group, authority: chat.Owner, origin: domain.OriginPlugin},
		"a heartbeat in the owner's chat":   {user: "anna", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginHeartbeat, opens: true, powers: true},
		"a heartbeat for another person":    {user: "bob", kind: chat.Direct, authority: chat.Owner, origin: domain.OriginHeartbeat},
		"a person whom a link makes owner":  {user: "anna2", kind: chat.Direct, authority: chat.Owner, opens: true, powers: true},
		"a stranger of another channel too": {user: "anna", kind: chat.Direct, authority: chat.Other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := conversations.Run(&domain.Run{Session: domain.Session{Overrides: domain.Overrides{Permission: dangerous}}, Head: domain.Queued{Message: domain.Message{
				Channel: "telegram", Chat: chat.Chat{ID: "chat", Kind: test.kind}, Sender: chat.Sender{ID: test.user}, Authority: test.authority, Origin: test.origin,
			}}})
			p := b.Profile(run.Conversation)
			if private := strings.Contains(p.SystemPrompt, "search both and read what fits"); private != test.opens || p.Private != test.opens {
				t.Errorf("the prompt opens the memory: %v, and says so: %v", private, p.Private)
			}
			if (p.PermissionMode == dangerous) != test.powers {
				t.Errorf("permission mode %s", p.PermissionMode)
			}
			if owns := run.Caller.Authority == chat.Owner; owns != test.powers {
				t.Errorf("an owner's authority: %v", owns)
			}
		})
	}
}

// Behaviour: group-settings.
func TestThePromptOfAGroup(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for _, name := range []string{"knit", "deploy"} {
		dir := filepath.Join(workspace, "skills", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: "+name+"\ndescription: does it\n---\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	group := config.Group{SystemPrompt: "Answer in rhymes.", Skills: config.PatternsOf("kn*"), Tools: config.PatternsOf("Read")}
	b, conversations := builder(&config.Config{
		Agent:    config.Agent{Name: "Claw", Workspace: workspace, Timezone: time.UTC},
		Settings: config.Settings{Access: config.Access{Group: map[string]config.Group{"-1": group}}},
	})
	in := func(c chat.Chat) (text string, only config.Patterns) {
		p := b.Profile(conversations.Message(domain.Message{Channel: "telegram", Chat: c}, domain.Session{}))
		return p.SystemPrompt, p.Only
	}
	text, only := in(chat.Chat{ID: "-1", Kind: chat.Group})
	if !strings.Contains(text, "Answer in rhymes.") || !strings.Contains(text, "- knit: does it") || strings.Contains(text, "deploy: does it") || only != group.Tools {
		t.Errorf("in the group with the tools %q:\n%s", only, text)
	}
	text, only = in(chat.Chat{ID: "-2", Kind: chat.Group})
	if strings.Contains(text, "rhymes") || !strings.Contains(text, "- knit: does it") || !strings.Contains(text, "deploy: does it") || only != "" {
		t.Errorf("in another group with the tools %q:\n%s", only, text)
	}
}

// A thread that works in a folder of a repository may not write into the rest of it either.
// Behaviour: worktree-apart.
func TestAThreadInAFolderOfARepository(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(dir, "app/server")
	if err := errors.Join(os.MkdirAll(workspace, 0o700), os.Symlink("app", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", filepath.Join(dir, "link/server")} {
		b, conversations := builder(&config.Config{Agent: config.Agent{Name: "Claw", Workspace: workspace, Timezone: time.UTC}})
		worktree := filepath.Join(dir, "app/.worktrees/kitchen-7")
		run := conversations.Run(&domain.Run{Session: domain.Session{Folder: folder, Worktree: filepath.Join(worktree, "server")}, Head: domain.Queued{Message: domain.Message{
			Channel: "telegram", Chat: chat.Chat{ID: "chat", Kind: chat.Group}, Authority: chat.Owner,
		}}})
		apart := b.Profile(run.Conversation).Apart
		for path, want := range map[string]bool{
			worktree + "/README.md": true, worktree + "/server/main.go": true,
			dir + "/app/README.md": false, dir + "/app/.git/config": false, workspace + "/main.go": false,
		} {
			if got := apart.Allows(path); got != want {
				t.Errorf("%q: %s: %t, want %t", folder, path, got, want)
			}
		}
	}
}
