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

// writePrompt writes the file of a process's system prompt. Without a prompt it returns no name.
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

// remove removes the files of a process. Those without a name were not written.
func remove(log hclog.Logger, files ...string) {
	for _, file := range files {
		if file == "" {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Warn("cannot remove a file of a claude process", "error", err)
		}
	}
}
