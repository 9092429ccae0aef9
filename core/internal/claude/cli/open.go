package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
	// settled is how long a folder must be unchanged, so that its time of change tells of the next change.
	settled = 100 * time.Millisecond
)

// OpenSessions knows which sessions the processes of a CLI have open. It is safe for concurrent use.
type OpenSessions struct {
	dir string

	mu   sync.Mutex
	at   time.Time // when the folder had changed last before its names were read; zero: they must be read
	pids []int
}

// OpenSessions returns the open sessions of the CLI.
func (c *Command) OpenSessions() *OpenSessions {
	return &OpenSessions{dir: filepath.Join(configDir(c.env), openFolder)}
}

// ByOthers returns the processes of others that have sessions open, by session. Mine reports whether a process is this host's own. The
// time is when a process came or went last; zero: it is not known, as the CLI does not say it, or it was just now.
func (o *OpenSessions) ByOthers(mine func(pid int) bool) (map[string]Open, time.Time) {
	pids, at := o.list()
	found := map[string]Open{}
	for _, pid := range pids {
		if mine(pid) {
			continue
		}
		if session, open, ok := o.read(pid); ok {
			found[session] = open
		}
	}
	return found, at
}

// list returns the pids of the processes that have said something. Nothing is read if the folder has not changed.
func (o *OpenSessions) list() ([]int, time.Time) {
	info, err := os.Stat(o.dir)
	if err != nil {
		return nil, time.Time{}
	}
	at := info.ModTime()
	if time.Since(at) < settled {
		at = time.Time{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !at.IsZero() && at.Equal(o.at) {
		return o.pids, at
	}
	folder, err := workspace.New(o.dir).Open()
	if err != nil {
		return nil, time.Time{}
	}
	defer folder.Close()
	names, _, err := folder.Names(".", maxOpen)
	if err != nil {
		return nil, time.Time{}
	}
	o.at, o.pids = at, nil
	for _, file := range names {
		name, isJSON := strings.CutSuffix(file, ".json")
		if pid, err := strconv.Atoi(name); isJSON && err == nil {
			o.pids = append(o.pids, pid)
		}
	}
	return o.pids, at
}

// read returns which session a process has open; false: it does not run, or does not say so.
func (o *OpenSessions) read(pid int) (session string, open Open, ok bool) {
	folder, err := workspace.New(o.dir).Open()
	if err != nil {
		return "", open, false
	}
	defer folder.Close()
	data, err := folder.ReadFile(strconv.Itoa(pid)+".json", maxOpenFile)
	var says struct {
		Session    string `json:"sessionId"`
		Entrypoint string `json:"entrypoint"`
		ProcStart  string `json:"procStart"`
		StartedAt  int64  `json:"startedAt"` // in milliseconds
	}
	if err != nil || json.Unmarshal(data, &says) != nil || says.Session == "" || !runs(pid, says.ProcStart) {
		return "", open, false
	}
	return says.Session, Open{PID: pid, Terminal: says.Entrypoint == transcript.Terminal, Since: time.UnixMilli(says.StartedAt)}, true
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
