// Command clawhost-memory recalls notes: before a turn it searches the workspace's memory files and previous conversations
// for the prompt, and puts the best passages before it. The agent can search for more with two tools.
package main

import (
	"cmp"
	"context"
	"errors"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// version is set at build time.
var version = "dev"

func main() {
	sdk.Serve("memory", version, sdk.Service(func(ctx context.Context, env sdk.Env, c config) (*agents, error) {
		return open(ctx, env, c, time.Now)
	}))
}

// config is the plugin's block in the host's config file.
type config struct {
	Workspace   string   `json:"workspace" default:"" jsonschema:"The folder with MEMORY.md and memory/*.md: an absolute path, or one that begins with ~/. Empty: the agent's workspace. It is for the agent main only."`
	MaxPassages int      `json:"max_passages" default:"5" jsonschema:"How many passages a turn is given at most, from 1 to 20."`
	MaxBytes    int      `json:"max_bytes" default:"6000" jsonschema:"How long they are together at most, in bytes, from 200 to 32000."`
	MemoryFile  int      `json:"memory_file" default:"8000" jsonschema:"How much of MEMORY.md a conversation is given when it begins, in bytes, from 200 to 32000; 0: nothing, only passages that match."`
	Sessions    bool     `json:"sessions" default:"true" jsonschema:"Whether conversations are recalled too. If not, what was kept of them is removed."`
	OpenTo      []string `json:"open_to" default:"[]" jsonschema:"Session keys, or what they begin with, where others than owners in direct chats are reminded too; \"all\" is everywhere."`
	Groups      string   `json:"groups" default:"" jsonschema:"\"own\": each group has a memory of its own, in a folder in memory/groups, and finds nothing else. Empty: groups have none, except those of open_to."`
	SamePerson  []string `json:"same_person" default:"[]" jsonschema:"Owners, as channel:user, who are one person: what was said in one of their direct chats is recalled in the others."`
}

// open opens the memory of the agent main.
func open(ctx context.Context, env sdk.Env, c config, now func() time.Time) (*agents, error) {
	workspace, err := expand(cmp.Or(c.Workspace, env.Workspace))
	if err := errors.Join(sdk.ConfigError("workspace", err), c.check()); err != nil {
		return nil, err
	}
	return openAgents(ctx, env, c, workspace, now)
}

// check validates what the schema cannot.
func (c config) check() error {
	var errs []error
	if c.MaxPassages < 1 || c.MaxPassages > 20 {
		errs = append(errs, sdk.ConfigError("max_passages", errors.New("must be from 1 to 20")))
	}
	if c.MaxBytes < 200 || c.MaxBytes > 32_000 {
		errs = append(errs, sdk.ConfigError("max_bytes", errors.New("must be from 200 to 32000")))
	}
	if c.MemoryFile != 0 && (c.MemoryFile < 200 || c.MemoryFile > 32_000) {
		errs = append(errs, sdk.ConfigError("memory_file", errors.New("must be 0, or from 200 to 32000")))
	}
	if c.Groups != "" && c.Groups != ownGroups {
		errs = append(errs, sdk.ConfigError("groups", errors.New(`must be "own", or empty`)))
	}
	for _, prefix := range c.OpenTo {
		if prefix == "" {
			errs = append(errs, sdk.ConfigError("open_to", errors.New(`an empty name opens nothing; "all" opens every session`)))
		}
	}
	for _, id := range c.SamePerson {
		if channel, name, ok := strings.Cut(id, ":"); !ok || channel == "" || name == "" {
			errs = append(errs, sdk.ConfigError("same_person", errors.New("must be written channel:user, such as \"telegram:123\"")))
		}
	}
	return errors.Join(errs...)
}

// expand replaces ~/ by the user's home folder; a plugin has no variable HOME.
func expand(path string) (string, error) {
	if path == "" {
		return "", errors.New("is needed, because this host does not tell the agent's workspace")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		self, err := user.Current()
		if err != nil {
			return "", err
		}
		path = filepath.Join(self.HomeDir, rest)
	}
	if !filepath.IsAbs(path) {
		return "", errors.New("must be an absolute path, or one that begins with ~/")
	}
	return filepath.Clean(path), nil
}
