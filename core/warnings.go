package core

import "github.com/clawhost/clawhost/core/internal/base/config"

// Warnings returns the problems of a valid config; root reports whether the host runs as root, demo whether no real
// claude runs.
func Warnings(c *config.Config, root, demo bool) []string {
	var list []string
	for _, w := range c.Warnings(demo) {
		list = append(list, w.String())
	}
	if demo || !root || c.Claude.PermissionMode != "bypassPermissions" || c.Claude.Env["IS_SANDBOX"] == "1" {
		return list
	}
	return append(list, `claude.permission_mode is "bypassPermissions", which Claude Code refuses as root: no message can be answered. `+
		"Choose another mode, or run the host as a user of its own.")
}

// asRoot is what the log says at the start of a host that runs as root.
const asRoot = "the host runs as root: all that Claude is allowed to run is run as root, and no secret of the host is hidden from it; " +
	"give the host a user of its own"
