package stub

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// announce writes which session this process has open, as the CLI does, until it is forgotten. A killed process leaves the file.
func announce(opts options) (forget func()) {
	pid := os.Getpid()
	path := filepath.Join(opts.conf, "sessions", strconv.Itoa(pid)+".json")
	started, _ := process.StartTime(pid)
	now := time.Now().UnixMilli()
	data, err := json.Marshal(map[string]any{
		"pid": pid, "sessionId": opts.session, "cwd": opts.workDir, "startedAt": now, "procStart": strconv.FormatUint(started, 10),
		"version": Version, "kind": "interactive", "entrypoint": opts.entry, "updatedAt": now, "status": "idle",
	})
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, data, 0o600) != nil {
		return func() {}
	}
	return func() { _ = os.Remove(path) }
}

// entrypoint is how the CLI calls its origin. Tests set it to be a terminal.
func entrypoint(getenv func(string) string) string {
	return cmp.Or(getenv("CLAUDE_STUB_ENTRYPOINT"), "sdk-cli")
}
