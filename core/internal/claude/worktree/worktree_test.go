package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
	"github.com/clawhost/clawhost/sdk/chat"
)

// shell runs lines as the host does.
type shell struct{}

func (shell) Shell(ctx context.Context, _, folder string, l cli.Line) (int, error) {
	c := exec.CommandContext(ctx, "/bin/sh", "-c", l.Text)
	c.Dir, c.Stdout, c.Stderr = folder, l.Stdout, l.Stderr
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// memory is a store.
type memory struct {
	mu      sync.Mutex
	kept    map[string]domain.Worktree // by their roots
	entered map[string]string          // by claude sessions
}

func (m *memory) Worktree(_ context.Context, session, folder string) (domain.Worktree, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.kept {
		if t.Session == session && t.Folder == folder {
			return t, nil
		}
	}
	return domain.Worktree{}, domain.ErrNotFound
}

func (m *memory) Worktrees(context.Context) (list []domain.Worktree, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.kept {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b domain.Worktree) int { return strings.Compare(a.Root, b.Root) })
	return list, nil
}

func (m *memory) KeepWorktree(_ context.Context, t domain.Worktree) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[t.Root] = t
	return nil
}

func (m *memory) EnterWorktree(ctx context.Context, claude string, t domain.Worktree) error {
	t.Ready = true
	m.mu.Lock()
	m.entered[claude] = t.Place
	m.mu.Unlock()
	return m.KeepWorktree(ctx, t)
}

func (m *memory) DeleteWorktree(_ context.Context, root string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, root)
	return nil
}

// rig is a repository, the workspace of an agent.
type rig struct {
	*testing.T

	*worktree.Worktrees
	store  *memory
	config *config.Config
	agent  *config.Agent
	repo   string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, repo: filepath.Join(dir, "app"), store: &memory{kept: map[string]domain.Worktree{}, entered: map[string]string{}}}
	if err := os.Mkdir(r.repo, 0o700); err != nil {
		t.Fatal(err)
	}
	r.sh(r.repo, "git init -q -b main && git config user.name Anna && git config user.email anna@example.com")
	r.write("README.md", "The app.\n")
	r.write("server/main.go", "package main\n")
	r.write(".gitignore", "*.secret\nbuild/\n")
	r.sh(r.repo, "git add -A && git commit -qm first")
	c := &config.Config{StateDir: filepath.Join(dir, "state"), Agent: config.Agent{Label: "main", Workspace: r.repo, Worktree: config.WorktreeThread}}
	r.config, r.agent = c, &c.Agent
	r.Worktrees = worktree.New(c, shell{}, r.store, hclog.NewNullLogger())
	return r
}

func (r *rig) write(name, text string) {
	r.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(r.repo, name)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		r.Fatal(err)
	}
}

// sh runs a line in a folder and returns what it prints.
func (r *rig) sh(folder, line string) string {
	r.Helper()
	c := exec.Command("/bin/sh", "-c", line)
	c.Dir = folder
	out, err := c.CombinedOutput()
	if err != nil {
		r.Fatalf("%s: %v: %s", line, err, out)
	}
	return strings.TrimSpace(string(out))
}

// thread is a session of a topic that has not begun.
func thread(n int) domain.Session {
	id := fmt.Sprint(n)
	return domain.Session{
		Key: "telegram:group:-1:thread:" + id, ClaudeSession: "claude " + id, Title: "The Kitchen!",
		Route: chat.Address{Channel: "telegram", Chat: "-1", Thread: chat.ThreadID(id)},
	}
}

// enter has a turn of a session enter and leave, and returns where it works.
func (r *rig) enter(s domain.Session) string {
	r.Helper()
	place, leave, err := r.Enter(r.Context(), s, "Hello!")
	if err != nil {
		r.Fatal(err)
	}
	leave()
	return place
}

func (r *rig) find(s domain.Session) domain.Worktree {
	r.Helper()
	t, err := r.Find(r.Context(), s, "")
	if err != nil {
		r.Fatal(err)
	}
	return t
}

func reads(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v, want %q", path, got, err, want)
	}
}

// Behaviour: worktree.
func TestAThreadGetsAWorktree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(".worktreeinclude", "*.secret\nnotes.txt\n")
	r.write("server/.env.secret", "key")
	r.write("build/huge", "not included")
	r.write("notes.txt", "not ignored by git, so not included")
	r.agent.WorktreeSetup = "pwd > set-up"
	s := thread(7)
	place := r.enter(s)
	if want := filepath.Join(filepath.Dir(r.repo), ".worktrees/main/the-kitchen-7"); place != want {
		t.Fatalf("it works in %s, want %s", place, want)
	}
	if branch := r.sh(place, "git branch --show-current"); branch != "clawhost/the-kitchen-7" {
		t.Errorf("its branch is %s", branch)
	}
	reads(t, filepath.Join(place, "README.md"), "The app.\n")
	reads(t, filepath.Join(place, "server/.env.secret"), "key")
	reads(t, filepath.Join(place, "set-up"), place+"\n")
	for _, name := range []string{"build", "notes.txt"} {
		if _, err := os.Lstat(filepath.Join(place, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	if r.store.entered[s.ClaudeSession] != place {
		t.Errorf("claude sessions work in %v", r.store.entered)
	}
	r.write(filepath.Join(place, "README.md"), "Changed.\n")
	s.Worktree, s.ClaudeStarted = place, true
	if again := r.enter(s); again != place {
		t.Errorf("the next turn works in %s", again)
	}
	reads(t, filepath.Join(place, "README.md"), "Changed.\n")
	reads(t, filepath.Join(r.repo, "README.md"), "The app.\n")
	if status := r.sh(r.repo, "git status --short"); status != "?? .worktreeinclude\n?? notes.txt" {
		t.Errorf("the repository has %q", status)
	}
}

// Behaviour: worktree.
func TestWhereThereIsNoWorktree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	direct, begun, elsewhere, empty := thread(1), thread(2), thread(3), thread(4)
	direct.Route.Thread = ""
	begun.ClaudeStarted = true
	elsewhere.Folder = t.TempDir()
	empty.Folder = filepath.Join(t.TempDir(), "empty")
	r.sh(filepath.Dir(empty.Folder), "git init -q empty")
	for name, s := range map[string]domain.Session{"no thread": direct, "begun before": begun, "no repository": elsewhere, "no commit": empty} {
		if place := r.enter(s); place != "" {
			t.Errorf("%s: it works in %s", name, place)
		}
	}
	r.agent.Worktree = config.WorktreeOff
	if place := r.enter(thread(5)); place != "" {
		t.Errorf("off: it works in %s", place)
	}
}

// A folder of a repository is the same folder of its worktree.
func TestAFolderOfARepository(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	s.Folder = filepath.Join(r.repo, "server")
	if got, want := r.enter(s), filepath.Join(filepath.Dir(r.repo), ".worktrees/main/the-kitchen-7/server"); filepath.Clean(got) != want {
		t.Errorf("it works in %s, want %s", got, want)
	}
}

// Behaviour: worktree.
func TestNamesOfWorktrees(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, test := range []struct{ title, thread, first, want string }{
		{"The Kitchen!", "7", "x", "the-kitchen-7"},
		{"Küche / ../..", "7", "x", "k-che-7"},
		{"", "7", "x", "thread-7"},
		{"", "f86f6255-9407-4916-8abc", "Fix the login page, please, today", "fix-the-login-page-pleas-8abc"},
		{"Kitchen", "f86f6255-9407-4916-8abd", "修复", "thread-8abd"},
		{"-", "123456789012345678", "rm -rf /; $(x)", "rm-rf-x-5678"},
		{"Lines\n\x00", "..", "", "lines"},
	} {
		s := thread(i)
		s.Key += "x"
		s.Title, s.Route.Thread = test.title, chat.ThreadID(test.thread)
		place, leave, err := r.Enter(t.Context(), s, test.first)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		if got := filepath.Base(place); got != test.want {
			t.Errorf("%q: it is called %s, want %s", test.title+test.first, got, test.want)
		}
	}
}

// Twenty threads that begin at once.
func TestWorktreesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	places := make([]string, 20)
	var begin sync.WaitGroup
	for n := range places {
		begin.Go(func() {
			s := thread(n)
			s.Title = strings.Repeat("x", n%2)
			s.Key = fmt.Sprintf("telegram:group:-%d:thread:7", n)
			s.Route.Thread = "7"
			var leave func()
			var err error
			for places[n] == "" {
				if places[n], leave, err = r.Enter(t.Context(), s, "Hello!"); err != nil && !errors.Is(err, worktree.ErrBusy) {
					t.Error(err)
					return
				}
			}
			defer leave()
			if err := os.WriteFile(filepath.Join(places[n], "README.md"), fmt.Append(nil, n), 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	begin.Wait()
	for n, place := range places {
		reads(t, filepath.Join(place, "README.md"), fmt.Sprint(n))
	}
	reads(t, filepath.Join(r.repo, "README.md"), "The app.\n")
}

// A turn that was killed while its worktree was made makes it again.
func TestAnInterruptedWorktree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.agent.WorktreeSetup = "test -e " + r.repo + "/good || { echo it is not; exit 3; }"
	s := thread(7)
	_, _, err := r.Enter(t.Context(), s, "Hello!")
	if failed, ok := errors.AsType[*worktree.SetupError](err); !ok || failed.Code != 3 || failed.Output != "it is not" {
		t.Fatalf("error %v", err)
	}
	root := r.find(s).Root
	r.write(filepath.Join(root, "half"), "left")
	r.sh(r.repo, "git worktree lock "+root)
	r.write("good", "")
	if place := r.enter(s); place != root {
		t.Errorf("it works in %s", place)
	}
	if _, err := os.Lstat(filepath.Join(root, "half")); err == nil {
		t.Error("what was left of the first try is there")
	}
	if err := os.RemoveAll(root); err != nil { // by somebody
		t.Fatal(err)
	}
	if place := r.enter(s); place != root {
		t.Errorf("after it was deleted, it works in %s", place)
	}
	reads(t, filepath.Join(root, "README.md"), "The app.\n")
}
