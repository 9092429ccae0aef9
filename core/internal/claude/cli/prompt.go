package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"
)

// writePrompt writes the file of a process's system prompt. It returns no name for no prompt.
func (c *Command) writePrompt(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	file := filepath.Join(c.options.RunDir, "system-prompt-"+uuid.NewString()+".md")
	if err := writePrivate(file, []byte(text)); err != nil {
		return "", fmt.Errorf("write the system prompt: %w", err)
	}
	return file, nil
}

// removePrompt removes what writePrompt wrote.
func (c *Command) removePrompt(file string, log hclog.Logger) {
	if file == "" {
		return
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("remove a system prompt", "error", err)
	}
}
