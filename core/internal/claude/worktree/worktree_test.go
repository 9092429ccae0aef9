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
	"time"

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

// What nothing else has is never removed.
// Behaviour: worktree-remove.
func TestWhatIsRemoved(t *testing.T) {
	t.Parallel()
	const commit = "git add -A && git commit -qm more"
	for name, test := range map[string]struct {
		lines string // in the worktree, with $REPO
		kept  bool
	}{
		"nothing":             {"true", false},
		"ignored":             {"mkdir build && touch build/x", false},
		"untracked":           {"touch new", true},
		"changed":             {"echo more >> README.md", true},
		"staged":              {"echo more >> README.md && git add -A", true},
		"renamed":             {"git mv README.md b", true},
		"committed":           {"touch new && " + commit, true},
		"merged":              {"touch new && " + commit + " && cd $REPO && git merge -q clawhost/the-kitchen-7", false},
		"squashed":            {"touch new && " + commit + " && cd $REPO && git merge -q --squash clawhost/the-kitchen-7 && git commit -qm squashed", false},
		"pushed":              {"touch new && " + commit + " && git init -q --bare ../../../other && git remote add other ../../../other && git push -q other HEAD:x", false},
		"in another branch":   {"git switch -qc mine && touch new && " + commit, false},
		"detached":            {"git switch -q --detach && touch new && " + commit, true},
		"in a merge":          {"git switch -qc mine && echo a > README.md && " + commit + " && git switch -q - && echo b > README.md && " + commit + " && ! git merge -q mine && git checkout -q HEAD README.md", true},
		"of a removed branch": {"git switch -q --detach && git branch -qD clawhost/the-kitchen-7", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := thread(7)
			place := r.enter(s)
			r.sh(place, "REPO="+r.repo+"; "+test.lines)
			before := r.sh(place, "find . -type f | sort")
			err := r.Remove(t.Context(), r.find(s))
			if !test.kept {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Lstat(place); err == nil {
					t.Error("it is still there")
				}
				return
			}
			if _, ok := errors.AsType[*worktree.KeptError](err); !ok {
				t.Errorf("error %v", err)
			}
			if after := r.sh(place, "find . -type f | sort"); after != before {
				t.Errorf("there is\n%s\nbefore\n%s", after, before)
			}
		})
	}
}

// Behaviour: worktree-restore.
func TestARemovedWorktreeIsRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	place := r.enter(s)
	s.Worktree, s.ClaudeStarted = place, true
	_, leave, err := r.Enter(t.Context(), s, "Hello!")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(t.Context(), r.find(s)); !errors.Is(err, worktree.ErrBusy) {
		t.Errorf("while a turn works in it: %v", err)
	}
	leave()
	r.sh(place, "echo mine > mine && git add -A && git commit -qm mine && cd "+r.repo+" && git merge -q --squash clawhost/the-kitchen-7 && git commit -qm squashed")
	head := r.sh(place, "git rev-parse HEAD")
	for range 2 {
		if err := r.Remove(t.Context(), r.find(s)); err != nil {
			t.Fatal(err)
		}
		if refs := r.sh(r.repo, "git for-each-ref refs/heads/clawhost refs/clawhost --format='%(refname) %(objectname)'"); refs != "refs/clawhost/worktrees/main/the-kitchen-7 "+head {
			t.Errorf("the refs are %s", refs)
		}
		list, err := r.List(t.Context(), "main")
		if err != nil || len(list) != 1 || list[0].RemovedAt.IsZero() {
			t.Errorf("the list is %+v, %v", list, err)
		}
		if again := r.enter(s); again != place { // the next message restores it
			t.Errorf("it works in %s", again)
		}
		reads(t, filepath.Join(place, "mine"), "mine\n")
		if refs := r.sh(r.repo, "git for-each-ref refs/heads/clawhost refs/clawhost --format='%(refname)'"); refs != "refs/heads/clawhost/the-kitchen-7" {
			t.Errorf("the refs are %s", refs)
		}
	}
}

// Behaviour: worktree-merge.
func TestMerge(t *testing.T) {
	t.Parallel()
	const commit = "git add -A && git commit -qm more"
	for name, test := range map[string]struct {
		there, here string // lines in the worktree and in the repository
		commits     int
		err         string
		want        string // the files of the base
	}{
		"nothing":             {"true", "true", 0, "", ".gitignore README.md server/main.go"},
		"forward":             {"touch a && " + commit, "true", 1, "", ".gitignore README.md a server/main.go"},
		"both":                {"touch a && " + commit + " && touch b && " + commit, "touch c && " + commit, 2, "", ".gitignore README.md a b c server/main.go"},
		"base elsewhere":      {"touch a && " + commit, "touch c && " + commit + " && git switch -qc other", 1, "", ".gitignore README.md a c server/main.go"},
		"conflict":            {"echo a > README.md && " + commit, "echo b > README.md && " + commit, 1, "the same places of 1 files", ".gitignore README.md server/main.go"},
		"changes there":       {"touch a", "true", 0, "1 uncommitted", ".gitignore README.md server/main.go"},
		"changes of the base": {"echo a > README.md && " + commit, "echo b > README.md", 1, "README.md", ".gitignore README.md server/main.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := thread(7)
			place := r.enter(s)
			r.sh(place, test.there)
			r.sh(r.repo, test.here)
			before, files := r.sh(r.repo, "git rev-parse main"), r.sh(r.repo, "git status --porcelain; cat README.md")
			done, err := r.Merge(t.Context(), r.find(s))
			if got := fmt.Sprint(err); test.err == "" && err != nil || !strings.Contains(got, test.err) {
				t.Fatalf("error %v", err)
			}
			if err == nil && (done.Commits != test.commits || done.Base != "main") {
				t.Errorf("merged %+v", done)
			}
			if got := strings.Join(strings.Fields(r.sh(r.repo, "git ls-tree -r --name-only main")), " "); got != test.want {
				t.Errorf("the base has %s, want %s", got, test.want)
			}
			if err != nil && (r.sh(r.repo, "git rev-parse main") != before || r.sh(r.repo, "git status --porcelain; cat README.md") != files) {
				t.Error("the base has changed")
			}
			if name := r.sh(r.repo, "git branch --show-current"); name == "main" && err == nil && r.sh(r.repo, "git status --porcelain") != "" {
				t.Error("the files of the base are not those of its commit")
			}
		})
	}
}

// What the agent may have written into the repository runs nothing.
// Behaviour: worktree-config.
func TestTheRepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ran := filepath.Join(filepath.Dir(r.repo), "ran")
	program := filepath.Join(filepath.Dir(r.repo), "program")
	r.write(program, "#!/bin/sh\necho \"$0 $*\" >> "+ran+"\nexit 1\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	r.write(".gitattributes", "* filter=evil merge=evil diff=evil\n")
	r.sh(r.repo, "git add -A && git commit -qm attributes")
	for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "post-merge", "pre-merge-commit", "reference-transaction", "post-index-change"} {
		r.sh(r.repo, "ln -s "+program+" .git/hooks/"+hook)
	}
	for _, name := range []string{
		"core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "gpg.program", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
		"merge.evil.driver", "diff.evil.command", "diff.evil.textconv", "diff.external", "uploadpack.packObjectsHook",
	} {
		r.sh(r.repo, "git config "+name+" "+program)
	}
	r.sh(r.repo, "git config filter.evil.required true && git config commit.gpgSign true")
	s := thread(7)
	place := r.enter(s)
	clean := "-c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false -c filter.evil.clean= -c filter.evil.smudge= -c filter.evil.process= -c filter.evil.required=false"
	r.sh(place, "echo a > README.md && git "+clean+" commit -qam more")
	r.sh(r.repo, "echo b > b && git "+clean+" add b && git "+clean+" commit -qm b")
	if err := os.Remove(ran); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := r.List(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	if _, err := r.Merge(t.Context(), r.find(s)); err != nil {
		t.Error(err)
	}
	if err := r.Remove(t.Context(), r.find(s)); err != nil {
		t.Error(err)
	}
	if got := r.enter(s); got != place {
		t.Errorf("restored at %s", got)
	}
	if lines, err := os.ReadFile(ran); err == nil {
		t.Errorf("it has run\n%s", lines)
	}
}

// A lock of another git is waited for.
func TestALockOfAnotherGit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	place := r.enter(s)
	r.sh(place, "touch new && git add -A && git commit -qm new")
	lock := filepath.Join(r.repo, ".git/index.lock")
	r.write(lock, "")
	unlocked := time.AfterFunc(700*time.Millisecond, func() { _ = os.Remove(lock) })
	defer unlocked.Stop()
	if done, err := r.Merge(t.Context(), r.find(s)); err != nil || done.Commits != 1 {
		t.Errorf("merged %+v, %v", done, err)
	}
}

// Behaviour: worktree-sweep.
func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	half, gone, old, lost, dirty := thread(1), thread(2), thread(3), thread(4), thread(5)
	for _, s := range []domain.Session{half, gone, old, lost, dirty} {
		r.enter(s)
	}
	keep := func(t domain.Worktree) { _ = r.store.KeepWorktree(r.Context(), t) }
	w := r.find(half) // killed before git removed it
	w.Snapshot = w.Start
	keep(w)
	w = r.find(gone) // killed after git had removed it
	w.Snapshot = w.Start
	keep(w)
	r.sh(r.repo, "git worktree remove "+w.Root)
	if err := r.Remove(t.Context(), r.find(old)); err != nil {
		t.Fatal(err)
	}
	w = r.find(old)
	w.RemovedAt = time.Now().Add(-31 * 24 * time.Hour)
	keep(w)
	r.write(filepath.Join(r.find(dirty).Root, "mine"), "mine")
	orphans := []string{r.find(lost).Root, r.find(dirty).Root}
	for _, root := range orphans { // as by a backup of the database
		_ = r.store.DeleteWorktree(t.Context(), root)
	}
	foreign := filepath.Join(filepath.Dir(orphans[0]), "foreign")
	r.sh(r.repo, "git worktree add -q "+foreign)

	r.Sweep(t.Context())
	if w := r.find(half); w.Snapshot != "" || !w.RemovedAt.IsZero() {
		t.Errorf("half removed: %+v", w)
	}
	if w := r.find(gone); w.RemovedAt.IsZero() {
		t.Errorf("removed: %+v", w)
	}
	if _, err := r.Find(t.Context(), old, ""); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("old: %v", err)
	}
	if refs := r.sh(r.repo, "git for-each-ref refs/clawhost"); refs != "" {
		t.Errorf("the refs are %s", refs)
	}
	for path, want := range map[string]bool{orphans[0]: false, orphans[1]: true, foreign: true, r.find(half).Root: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", path, err == nil, want)
		}
	}
}
