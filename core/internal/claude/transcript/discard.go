package transcript

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// keptBy are the folders of the CLI's configuration in which it keeps something under the id of a session, as observed: what its tools
// changed, tasks, and what it wrote down for itself. Transcripts are one folder deeper.
var keptBy = []string{"file-history", "tasks", "todos", "session-env", "debug"}

// Discard removes what the CLI keeps of sessions in its configuration folder, wherever they were held. It returns how many files and
// folders that were.
func Discard(ctx context.Context, config string, sessions map[string]bool) (removed int, err error) {
	folder, err := workspace.New(config).Open()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("remove transcripts: %w", err)
	}
	defer folder.Close()
	folders := keptBy
	projects, _, err := folder.Names("projects", maxFiles)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("remove transcripts: %w", err)
	}
	for _, name := range projects {
		folders = append(folders[:len(folders):len(folders)], path.Join("projects", name))
	}
	var errs []error
	for _, dir := range folders {
		if info, err := folder.Lstat(dir); err != nil || !info.IsDir() {
			continue // a link leads to what is not the CLI's
		}
		n, err := discardIn(ctx, folder, dir, sessions)
		if removed += n; err != nil {
			errs = append(errs, fmt.Errorf("remove transcripts from %s: %w", dir, err))
		}
	}
	return removed, errors.Join(errs...)
}

func discardIn(ctx context.Context, folder *workspace.Folder, dir string, sessions map[string]bool) (removed int, err error) {
	names, _, err := folder.Names(dir, maxListed)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		if !sessions[idOf(name)] {
			continue
		}
		if err := folder.Do(func(root *os.Root) error { return root.RemoveAll(path.Join(dir, name)) }); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// maxListed bounds the files of one folder that are looked at.
const maxListed = 100_000

// idOf returns the session's id with which a name begins; empty: with none.
func idOf(name string) string {
	const length = 36
	if len(name) < length || uuid.Validate(name[:length]) != nil {
		return ""
	}
	if rest := name[length:]; rest != "" && !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "-") {
		return ""
	}
	return name[:length]
}
