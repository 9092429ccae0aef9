package agent

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/clawhost/clawhost/sdk/workspace"
)

//go:embed templates
var templates embed.FS

// Bootstrap fills an empty or missing workspace with an agent's first files: AGENTS.md, MEMORY.md, HEARTBEAT.md and the
// folders memory and skills. A workspace that contains anything, even a hidden file, is left unchanged. The files are
// the user's: they have the permissions that an editor would give them.
func Bootstrap(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create workspace: %w", err)
	}
	empty, err := isEmpty(dir)
	if err != nil {
		return fmt.Errorf("look into workspace: %w", err)
	}
	if !empty {
		return nil
	}
	for _, folder := range []string{"memory", skillFolder} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			return fmt.Errorf("fill workspace: %w", err)
		}
	}
	names, err := fs.Glob(templates, "templates/*")
	if err != nil {
		return fmt.Errorf("list templates: %w", err)
	}
	for _, name := range names {
		if err := writeTemplate(filepath.Join(dir, path.Base(name)), name); err != nil {
			return fmt.Errorf("fill workspace: %w", err)
		}
	}
	return nil
}

// isEmpty reports whether a folder is empty.
func isEmpty(dir string) (bool, error) {
	folder, err := workspace.New(dir).Open()
	if err != nil {
		return false, err
	}
	defer folder.Close()
	entries, _, err := folder.List(".", 1)
	return len(entries) == 0, err
}

// writeTemplate writes a template to a file that must not exist yet.
func writeTemplate(file, template string) error {
	text, err := templates.ReadFile(template)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
