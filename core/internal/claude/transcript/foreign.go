package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// foreignTail is how much of the end of a transcript is looked at for lines of a terminal.
const foreignTail = 64 << 10

// Foreign returns the id of the last line that a terminal has written into a session, as far as it is near the end of its transcript;
// empty: there is none. Another one than before means that a process that has read the transcript before does not know all of it.
func (f Folder) Foreign(session string) (string, error) {
	file, err := f.open(session)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	from := max(file.Info().Size()-foreignTail, 0)
	data, err := io.ReadAll(io.NewSectionReader(file, from, 2*foreignTail))
	if err != nil {
		return "", fmt.Errorf("read transcript: %w", err)
	}
	lines := bytes.Split(data, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		var l struct {
			UUID       string `json:"uuid"`
			Entrypoint string `json:"entrypoint"`
		}
		if bytes.Contains(lines[i], []byte(`"entrypoint"`)) && protocol.Unmarshal(lines[i], &l) == nil && l.Entrypoint == Terminal && l.UUID != "" {
			return l.UUID, nil
		}
	}
	return "", nil
}

// Terminal is the origin of the lines that a process in a terminal writes.
const Terminal = "cli"
