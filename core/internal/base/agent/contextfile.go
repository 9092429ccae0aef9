package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/sdk/workspace"
)

// Bounds of the context files.
const (
	maxFile  = 32 << 10 // bytes of each
	maxFiles = 64 << 10 // bytes of all
)

var (
	errCut     = errors.New("it is too long: only its beginning is shown")
	errNoSpace = errors.New("the files before it are too long: it is not shown")
)

// shownFiles are the files that the prompt includes.
type shownFiles struct {
	files    []contextFile
	problems []error
}

// contextFile is a file in the prompt.
type contextFile struct {
	name string // relative to the workspace, if it is inside
	text string
}

// contextFiles reads the files in order. The problems name those that are missing or cut.
func contextFiles(dir string, folder *workspace.Folder, paths []string) shownFiles {
	var shown shownFiles
	space := maxFiles
	for _, path := range paths {
		f, err := readContext(dir, folder, path, min(space, maxFile))
		if err != nil {
			shown.problems = append(shown.problems, fmt.Errorf("context file %s: %w", path, reason(err)))
		}
		if f.text != "" {
			shown.files = append(shown.files, f)
			space -= len(f.text)
		}
	}
	return shown
}

// readContext reads at most limit bytes of a file. With [errCut] it still returns a text.
func readContext(dir string, folder *workspace.Folder, path string, limit int) (contextFile, error) {
	if limit <= 0 {
		return contextFile{}, errNoSpace
	}
	name, err := filepath.Rel(dir, path)
	read := folder.ReadFile
	if err != nil || !filepath.IsLocal(name) {
		name, read = path, folder.ReadOutside
	}
	text, err := text(read(name, limit))
	if err != nil && !errors.Is(err, errCut) {
		return contextFile{}, err
	}
	// A file must not end its own block.
	text = strings.ReplaceAll(text, "</file>", `<\/file>`)
	return contextFile{name: filepath.ToSlash(name), text: strings.TrimSpace(text)}, err
}

// text returns what was read as valid UTF-8, which also removes a character that was cut. With [errCut] it is the beginning
// of a file.
func text(data []byte, err error) (string, error) {
	if errors.Is(err, workspace.ErrTooLong) {
		err = errCut
	}
	return strings.ToValidUTF8(string(data), ""), err
}

// ReadFile returns the beginning of a file of the workspace, which the agent controls. A missing file is
// [io/fs.ErrNotExist].
func ReadFile(w *workspace.Workspace, name string) (string, error) {
	folder, err := w.Open()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	defer folder.Close()
	text, err := text(folder.ReadFile(name, maxFile))
	if err != nil && !errors.Is(err, errCut) {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// reason returns an error without the path, which the caller names.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
