package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Bounds of the context files.
const (
	maxFile  = 32 << 10 // bytes of each
	maxFiles = 64 << 10 // bytes of all
)

var (
	errNotRegular = errors.New("it is not a regular file")
	errCut        = errors.New("it is too long: only its beginning is shown")
	errNoRoom     = errors.New("the files before it are too long: it is not shown")
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
func contextFiles(workspace string, paths []string) shownFiles {
	var shown shownFiles
	space := maxFiles
	for _, path := range paths {
		f, err := readContext(workspace, path, min(space, maxFile))
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

// ReadFile returns the beginning of a file of the workspace. The agent controls the workspace, so a link that leads out
// of it, or a file that is not regular, is refused without blocking. A missing file is [io/fs.ErrNotExist].
func ReadFile(workspace, name string) (string, error) {
	f, err := readContext(workspace, filepath.Join(workspace, name), maxFile)
	if err != nil && !errors.Is(err, errCut) {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return f.text, nil
}

// readContext reads at most limit bytes of a file. With [errCut] it still returns a text.
func readContext(workspace, path string, limit int) (contextFile, error) {
	if limit <= 0 {
		return contextFile{}, errNoRoom
	}
	text, err := read(workspace, path, limit)
	if err != nil && !errors.Is(err, errCut) {
		return contextFile{}, err
	}
	name, ok := within(workspace, path)
	if !ok {
		name = path
	}
	// A file must not end its own block.
	text = strings.ReplaceAll(text, "</file>", `<\/file>`)
	return contextFile{name: filepath.ToSlash(name), text: strings.TrimSpace(text)}, err
}

// read reads at most limit bytes of a regular file, as valid UTF-8. With [errCut] it still returns a text.
func read(workspace, path string, limit int) (string, error) {
	f, err := open(workspace, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotRegular
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return "", err
	}
	if len(data) > limit {
		data, err = data[:limit], errCut
	}
	// This also removes a character that was cut.
	return strings.ToValidUTF8(string(data), ""), err
}

// open opens a file for reading, without waiting for the other end of a pipe. Links within the workspace cannot lead
// out of it.
func open(workspace, path string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	name, ok := within(workspace, path)
	if !ok {
		return os.OpenFile(path, flags, 0)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(name, flags, 0)
}

// within returns the workspace-relative name of a path inside the workspace.
func within(workspace, path string) (name string, ok bool) {
	name, err := filepath.Rel(workspace, path)
	return name, err == nil && filepath.IsLocal(name)
}

// reason returns an error without the path, which the caller names.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
