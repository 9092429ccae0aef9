package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// includeFile names, in the form of .gitignore, the ignored files of a repository that each worktree gets a copy of.
const includeFile = ".worktreeinclude"

const (
	maxIncluded = 10_000  // files
	maxCopied   = 1 << 30 // bytes of them
)

// include copies what the repository's .worktreeinclude names to a new worktree: regular files that git ignores. What is there stays.
func include(ctx context.Context, g git, repo, root string) error {
	if info, err := os.Lstat(filepath.Join(repo, includeFile)); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	in := g.in(repo)
	named := in.command("", "ls-files", "-z", "--others", "--ignored", "--exclude-from="+includeFile)
	// Of these, git prints the ones that it ignores, and fails with 1 if there are none.
	ignored := in.command("", "check-ignore", "-z", "--stdin")
	list, err := in.line(ctx, "ls-files", named+" | { "+ignored+" || test $? -eq 1; }")
	if err != nil {
		return err
	}
	names := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	if len(names) > maxIncluded {
		return fmt.Errorf("%s names more than %d files", includeFile, maxIncluded)
	}
	from, err := workspace.New(repo).Open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := workspace.New(root).Open()
	if err != nil {
		return err
	}
	defer to.Close()
	left := int64(maxCopied)
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if name == "" {
			continue
		}
		n, err := copyFile(from, to, name, left)
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		if left -= n; left < 0 {
			return fmt.Errorf("%s names files of more than %d MB", includeFile, maxCopied>>20)
		}
	}
	return nil
}

// copyFile copies a regular file that is not there yet, and returns its size, which is at most one byte more than allowed.
func copyFile(from, to *workspace.Folder, name string, most int64) (int64, error) {
	info, err := from.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return 0, ignore(err, fs.ErrNotExist)
	}
	source, err := from.Open(name)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	if err := to.Do(func(root *os.Root) error { return root.MkdirAll(filepath.Dir(name), 0o700) }); err != nil {
		return 0, err
	}
	target, err := to.Create(name)
	if err != nil {
		return 0, ignore(err, fs.ErrExist)
	}
	n, err := io.Copy(target, io.LimitReader(source, most+1))
	err = errors.Join(err, target.Close())
	if err == nil && info.Mode().Perm()&0o100 != 0 {
		err = to.Do(func(root *os.Root) error { return root.Chmod(name, 0o700) })
	}
	return n, err
}

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
