package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// How much of its files the agent is shown.
const (
	maxFile  = 32 << 10 // bytes of each
	maxFiles = 64 << 10 // bytes of all
)

var (
	errNotRegular = errors.New("it is not a regular file")
	errCut        = errors.New("it is too long: only its beginning is shown")
	errNoRoom     = errors.New("the files before it are too long: it is not shown")
)

// contextFile is a file to be shown.
type contextFile struct {
	name string // relative to the workspace, if it is in it
	text string
}

// contextFiles reads the files in their order. The errors name those that are not shown, or not whole.
func contextFiles(workspace string, paths []string) (files []contextFile, skipped []error) {
	room := maxFiles
	for _, path := range paths {
		f, err := readContext(workspace, path, min(room, maxFile))
		if err != nil {
			skipped = append(skipped, fmt.Errorf("context file %s: %w", path, err))
		}
		if f.text != "" {
			files = append(files, f)
			room -= len(f.text)
		}
	}
	return files, skipped
}

// readContext reads at most limit bytes of a file. With [errCut] there is a text all the same.
func readContext(workspace, path string, limit int) (contextFile, error) {
	if limit <= 0 {
		return contextFile{}, errNoRoom
	}
	name, opened, err := open(workspace, path)
	if err != nil {
		return contextFile{}, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return contextFile{}, err
	}
	if !info.Mode().IsRegular() {
		return contextFile{}, errNotRegular
	}
	data, err := io.ReadAll(io.LimitReader(opened, int64(limit)+1))
	if err != nil {
		return contextFile{}, err
	}
	if len(data) > limit {
		data, err = data[:limit], errCut
	}
	// A character that was cut is no UTF-8 and goes, too.
	// A file must not end its own block.
	text := strings.ReplaceAll(strings.ToValidUTF8(string(data), ""), "</file>", `<\/file>`)
	return contextFile{name: name, text: strings.TrimSpace(text)}, err
}

// open opens a file for reading, without waiting for the other end of a pipe.
func open(workspace, path string) (name string, f *os.File, err error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	name, err = filepath.Rel(workspace, path)
	if err != nil || !filepath.IsLocal(name) {
		f, err = os.OpenFile(path, flags, 0)
		return path, f, err
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	f, err = root.OpenFile(name, flags, 0)
	return filepath.ToSlash(name), f, err
}
