package supervisor

import (
	"maps"
	"os"
	"slices"

	"github.com/clawhost/clawhost/core/internal/config"
)

// maxSocketPath is the longest path of a unix socket on the systems with the lowest limit.
const maxSocketPath = 103

// Specs returns the plugins of a config that are to run.
func Specs(list []*config.Plugin) []Spec {
	var specs []Spec
	for _, p := range list {
		if p.Enabled {
			specs = append(specs, NewSpec(p))
		}
	}
	return specs
}

// NewSpec returns a plugin of a config that is to run.
func NewSpec(p *config.Plugin) Spec {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, name+"="+p.Env[name])
	}
	return Spec{Name: p.Label, Path: p.Source, SHA256: p.SHA256, Env: env, Block: p}
}

// SocketDir is the folder of the plugins' sockets: the host's, if that keeps the sockets' paths short enough.
func SocketDir(run string) string {
	const socket = "/plugin-dir0123456789/plugin0123456789"
	if len(run)+len(socket) <= maxSocketPath {
		return run
	}
	return os.TempDir()
}
