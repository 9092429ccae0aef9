package store_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// A session has a claude session in each folder. What waits stays with the one that it was written for, and a new conversation begins
// in the same folder.
// Behaviour: folder.
func TestFolders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	accept := func(change func(*domain.Inbound)) domain.Acceptance {
		t.Helper()
		n++
		in := inbound("anna", n)
		change(&in)
		got, err := b.Accept(b.ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	enter := func(folder string) domain.Acceptance {
		t.Helper()
		return accept(func(in *domain.Inbound) { in.Lane, in.Folder = domain.ControlLane, &folder })
	}
	now := func(folder string) string {
		t.Helper()
		s, err := b.Session(b.ctx, inbound("anna", 0).Session)
		if err != nil || s.Folder != folder {
			t.Errorf("the session is in %q, %v, want %q", s.Folder, err, folder)
		}
		return s.ClaudeSession
	}
	accept(func(*domain.Inbound) {})
	home := now("")
	if got := enter("/src/app"); got.Replaced != home {
		t.Errorf("left %q, want %q", got.Replaced, home)
	}
	app := now("/src/app")
	if got := enter("/src/app"); got.Replaced != "" || now("/src/app") != app {
		t.Errorf("entered the same folder again: left %q", got.Replaced)
	}
	waiting := b.claim(t)
	if waiting.Head.ClaudeSession != home || waiting.Session.Folder != "" || !waiting.Session.Replaced {
		t.Errorf("what waited runs in %q, claude session %s, want the workspace and %s", waiting.Session.Folder, waiting.Head.ClaudeSession, home)
	}
	accept(func(in *domain.Inbound) { in.Lane, in.Reset = domain.ControlLane, true })
	fresh := now("/src/app")
	if fresh == app {
		t.Error("no new conversation has begun")
	}
	enter("")
	if got := now(""); got != home {
		t.Errorf("back in the workspace the claude session is %s, want %s", got, home)
	}
	enter("/src/app")
	if got := now("/src/app"); got != fresh {
		t.Errorf("back in the folder the claude session is %s, want %s", got, fresh)
	}
	accept(func(in *domain.Inbound) { in.Session, in.Parent = "thread", in.Session })
	if s, err := b.Session(b.ctx, "thread"); err != nil || s.Folder != "/src/app" {
		t.Errorf("a thread begins in %q, %v", s.Folder, err)
	}
}

// A claude session that was left by /cd and cannot be resumed gives its place to the one that replaces it.
// Behaviour: folder.
func TestReplaceSessionInAFolderThatWasLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	accept := func(n int, folder string) {
		t.Helper()
		in := inbound("anna", n)
		if folder != "-" {
			in.Lane, in.Folder = domain.ControlLane, &folder
		}
		if _, err := b.Accept(b.ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	accept(1, "-")
	accept(2, "/src/app")
	fresh, err := b.ReplaceSession(b.ctx, b.claim(t).ID)
	if err != nil {
		t.Fatal(err)
	}
	accept(3, "")
	if s, err := b.Session(b.ctx, inbound("anna", 0).Session); err != nil || s.ClaudeSession != fresh.ClaudeSession {
		t.Errorf("back in the workspace the claude session is %s, %v, want %s", s.ClaudeSession, err, fresh.ClaudeSession)
	}
}
