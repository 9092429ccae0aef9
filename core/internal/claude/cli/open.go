package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Open is a process that has a session open.
type Open struct {
	PID      int
	Terminal bool // it is a person's, in a terminal; else it is another program's
	Since    time.Time
}

// openFolder is where each process of the CLI says, in a file named after its pid, which session it has open. A killed one leaves its
// file. The form is that of the CLI 2.1.331.
const openFolder = "sessions"

const (
	maxOpen     = 1000     // files
	maxOpenFile = 64 << 10 // bytes of one
)

// Opened returns the other processes that have sessions of the CLI open, by session. Mine reports whether a
// process is this host's own, which is left out.
func (c *Command) Opened(mine func(pid int) bool) map[string]Open {
	folder, err := workspace.New(filepath.Join(configDir(c.env), openFolder)).Open()
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _, err := folder.List(".", maxOpen)
	if err != nil {
		return nil
	}
	found := map[string]Open{}
	for _, e := range entries {
		name, isJSON := strings.CutSuffix(e.Name(), ".json")
		pid, err := strconv.Atoi(name)
		if !isJSON || err != nil || mine(pid) {
			continue
		}
		data, err := folder.ReadFile(e.Name(), maxOpenFile)
		var says struct {
			Session    string `json:"sessionId"`
			Entrypoint string `json:"entrypoint"`
			ProcStart  string `json:"procStart"`
			StartedAt  int64  `json:"startedAt"` // in milliseconds
		}
		if err != nil || json.Unmarshal(data, &says) != nil || says.Session == "" || !runs(pid, says.ProcStart) {
			continue
		}
		found[says.Session] = Open{PID: pid, Terminal: says.Entrypoint == transcript.Terminal, Since: time.UnixMilli(says.StartedAt)}
	}
	return found
}

// runs reports whether the process that says that it started at this time runs.
func runs(pid int, started string) bool {
	now, err := process.StartTime(pid)
	if err != nil {
		return !errors.Is(err, process.ErrGone)
	}
	said, err := strconv.ParseUint(started, 10, 64)
	return err != nil || now == 0 || now == said
}
