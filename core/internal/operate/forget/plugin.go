package forget

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Plugin is a plugin with files of its own.
type Plugin struct {
	Label  string   `json:"label"`
	Folder string   `json:"folder"`
	Left   []string `json:"left"` // what it says that still has the person
	Why    string   `json:"why"`  // why it has deleted nothing; empty: it has, or would
}

// pluginsFolder is the folder in the state folder with a folder for each plugin.
const pluginsFolder = "plugins"

// ask has each plugin that keeps files delete what it has of the person. One that has no way to, or is not in the config, is not asked and
// says so; one that should and fails is an error, so that the database still knows the person when this is repeated.
func ask(ctx context.Context, o Options, found store.Forgotten) (list []Plugin, err error) {
	in, err := workspace.New(o.Config.StateDir).Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	labels, _, err := in.Names(pluginsFolder, maxListed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	blocks := map[string]*config.Plugin{}
	for _, p := range o.Config.Plugins {
		blocks[p.Label] = p
	}
	for _, label := range labels {
		if files, _, err := in.Names(path.Join(pluginsFolder, label), 1); err != nil || len(files) == 0 {
			continue
		}
		p := Plugin{Label: label, Folder: filepath.Join(o.Config.StateDir, pluginsFolder, label), Left: []string{}}
		block := blocks[label]
		switch {
		case block == nil || !block.Enabled:
			p.Why = "no enabled plugin of the config has this label"
		case o.DryRun:
		default:
			left, err := supervisor.Forget(ctx, block, personFor(p, found), os.TempDir(), hclog.NewNullLogger())
			switch {
			case errors.Is(err, supervisor.ErrCannotForget):
				p.Why = err.Error()
			case err != nil:
				return list, fmt.Errorf("plugin %s has not deleted what it keeps in %s, and nothing of the host's was deleted. "+
					"Correct this, or disable the plugin and delete the folder yourself, and repeat: %w", label, p.Folder, err)
			}
			p.Left = append(p.Left, left...)
		}
		list = append(list, p)
	}
	return list, nil
}

// personFor is the person as a plugin has to know them.
func personFor(p Plugin, found store.Forgotten) remote.Person {
	who := remote.Person{Instance: p.Label, StateDir: p.Folder, Names: found.Names}
	for _, u := range found.Users {
		who.Users = append(who.Users, remote.User{Channel: u.Channel, ID: u.ID})
	}
	return who
}
