package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
)

// What a repository may name beside its filters and hooks runs nothing either.
// Behaviour: worktree-config.
func TestTheRepositoryRunsNothingElse(t *testing.T) {
	t.Parallel()
	const commit = "git add -A && git commit -qm more"
	for name, test := range map[string]struct {
		before string // lines in the repository, with $PROGRAM and $DIR
		within string // and then in the worktree
		err    string // what may be said
	}{
		"a filter that only worktrees have": {
			"echo '* filter=evil' > .gitattributes && " + commit + ` && git config -f $DIR/evil filter.evil.smudge $PROGRAM &&
			git config 'includeIf.gitdir:**/worktrees/**.path' $DIR/evil`, "true", "",
		},
		"a filter that only the repository has": {
			"echo '* filter=evil' > .gitattributes && " + commit + " && git config extensions.worktreeConfig true && git config --worktree filter.evil.smudge $PROGRAM",
			"git config --worktree --unset filter.evil.smudge; echo a > a && " + commit, "",
		},
		"a filter with an odd name": {
			"echo '* filter=a=b' > .gitattributes && " + commit + " && git config filter.a=b.smudge $PROGRAM", "true", "filter.a=b",
		},
		"a repository in the worktree": {
			"true", `git init -q sub && cd sub && git config user.name A && git config user.email a@example.com && echo a > a && ` + commit + ` &&
			echo '* filter=evil' > .gitattributes && cd .. && git add sub && git commit -qm sub && git branch mine && cd sub &&
			git config filter.evil.clean $PROGRAM && echo b > a`,
			"submodules",
		},
		"a missing file": {
			`git config core.repositoryFormatVersion 1 && git config extensions.partialClone origin && git config remote.origin.url "ext::$PROGRAM" &&
			git config remote.origin.promisor true && git config protocol.ext.allow always &&
			b=$(git rev-parse HEAD:README.md) && rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)`, "true", "not allowed",
		},
		"a signature": {
			"git config merge.verifySignatures true && git config gpg.program $PROGRAM",
			`git commit -q --allow-empty -m more && git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----' > $DIR/signed &&
			git reset -q --hard $(git hash-object -w -t commit $DIR/signed)`,
			"signature",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			dir := filepath.Dir(r.repo)
			ran, program := filepath.Join(dir, "ran"), filepath.Join(dir, "program")
			r.write(program, "#!/bin/sh\necho \"$0 $*\" >> "+ran+"\nexit 1\n")
			if err := os.Chmod(program, 0o700); err != nil {
				t.Fatal(err)
			}
			variables := "DIR=" + dir + "; PROGRAM=" + program + "; "
			r.sh(r.repo, variables+test.before)
			s := thread(7)
			hasRun := func() {
				t.Helper()
				if lines, err := os.ReadFile(ran); err == nil {
					t.Errorf("it has run\n%s", lines)
				}
			}
			place, leave, err := r.Enter(t.Context(), s, "Hello!")
			hasRun()
			if err == nil {
				leave()
				r.sh(place, variables+test.within)
				if err := os.Remove(ran); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				_, err = r.List(t.Context(), "main")
				_, merge := r.Merge(t.Context(), r.find(s))
				err = errors.Join(err, merge, r.Remove(t.Context(), r.find(s)))
			}
			if got := fmt.Sprint(err); got != "<nil>" && (test.err == "" || !strings.Contains(got, test.err)) {
				t.Errorf("error %v", err)
			}
			hasRun()
		})
	}
}

// waiting is a shell whose lines never end.
type waiting struct{}

func (waiting) Shell(ctx context.Context, _, _ string, _ cli.Line) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// Git that waits for a pipe in the repository is ended.
func TestGitTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := worktree.New(&config.Config{}, waiting{}, &memory{}, hclog.NewNullLogger())
		if _, err := w.Look(t.Context(), domain.Worktree{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// A merge writes only where the base is checked out.
// Behaviour: worktree-config.
func TestTheConfigNamesAnotherWorkingTree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := thread(7)
	r.sh(r.enter(s), "touch new && git add -A && git commit -qm more")
	other := filepath.Join(filepath.Dir(r.repo), "other")
	r.sh(r.repo, "mkdir ../other && git config core.worktree "+other)
	if _, err := r.Merge(t.Context(), r.find(s)); err == nil {
		t.Error("it was merged")
	}
	if files := r.sh(other, "ls -A"); files != "" {
		t.Errorf("there is %s", files)
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
