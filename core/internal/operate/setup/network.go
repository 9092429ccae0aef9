package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
)

// Network is one that there is a plugin for.
type Network struct {
	Label    string // of its plugin
	Settings []Setting
	Secrets  []string // the names of its arguments that are secrets
	Login    bool     // its account is linked with `clawhost plugin login`
}

// Setting is an argument of a plugin's config.
type Setting struct {
	Name        string
	Description string // for a person
	Secret      bool
	Variable    string // of a secret
	Value       string // empty: not set
}

// Set sets an argument, which need not be among the required ones. A secret is refused: what is set here stood on a command line.
func (n *Network) Set(name, value string) error {
	if slices.Contains(n.Secrets, name) {
		return errors.New("this is a secret, which others can read on a command line; init reads it from a variable, or asks for it")
	}
	for i := range n.Settings {
		if n.Settings[i].Name == name {
			n.Settings[i].Value = value
			return nil
		}
	}
	n.Settings = append(n.Settings, Setting{Name: name, Value: value})
	return nil
}

// block returns the plugin's block.
func (n Network) block() string {
	var list []argument
	for _, s := range n.Settings {
		switch {
		case s.Secret:
			list = append(list, argument{s.Name, "env(" + quoted(s.Variable) + ")", "in the file env beside this one"})
		case s.Value != "":
			list = append(list, argument{s.Name, quoted(s.Value), ""})
		}
	}
	if len(list) == 0 {
		return "plugin " + quoted(n.Label) + " {}\n"
	}
	return "plugin " + quoted(n.Label) + " {\n  config {\n" + aligned("    ", list...) + "  }\n}\n"
}

// usual are the networks that come with clawhost, in the order in which they are offered.
var usual = []string{"webchat", "telegram", "discord", "whatsapp"}

// prefix is that of plugins' programs.
const prefix = "clawhost-"

// Networks returns the networks whose plugins are in a folder, with the settings that they require. Programs there that are no channels,
// or do not answer, are left out. Has reports whether the folder has a plugin.
func Networks(ctx context.Context, dir string, h Host) (list []Network, has func(label string) bool, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return nil, nil, err
	}
	labels := make([]string, len(paths))
	for i, path := range paths {
		labels[i] = strings.TrimPrefix(filepath.Base(path), prefix)
	}
	plugins, err := blocks(dir, labels)
	if err != nil {
		return nil, nil, err
	}
	found := make([]*Network, len(plugins))
	var asking sync.WaitGroup
	for i, p := range plugins {
		asking.Go(func() { found[i] = ask(ctx, p, h) })
	}
	asking.Wait()
	for _, n := range found {
		if n != nil {
			list = append(list, *n)
		}
	}
	place := func(n Network) int {
		if i := slices.Index(usual, n.Label); i >= 0 {
			return i
		}
		return len(usual)
	}
	slices.SortStableFunc(list, func(a, b Network) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Label, b.Label))
	})
	return list, func(label string) bool { return slices.Contains(labels, label) }, ctx.Err()
}

// blocks returns empty blocks of plugins.
func blocks(dir string, labels []string) (_ []*config.Plugin, err error) {
	temporary, err := os.MkdirTemp("", "clawhost-init-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	text := "plugin_dir = " + quoted(dir) + "\n"
	for _, label := range labels {
		text += "plugin " + quoted(label) + " {}\n"
	}
	path := filepath.Join(temporary, "config.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	c, err := config.Load(path, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return c.Plugins, nil
}

// ask asks a plugin what it is; nil: it is no channel.
func ask(ctx context.Context, p *config.Plugin, h Host) *Network {
	said, err := supervisor.Check(ctx, p, supervisor.Checking{
		HostVersion: h.Version, SocketDir: os.TempDir(), Children: h.Children,
	}, hclog.NewNullLogger())
	if err != nil || !said.Can(remote.Channel) {
		return nil
	}
	n := &Network{Label: p.Label, Login: said.Can(remote.Login)}
	n.Settings, n.Secrets = required(p.Label, said.Schema)
	return n
}

// required returns the settings that a config must have, and the names of those that are secrets.
func required(label string, schema []byte) (list []Setting, secrets []string) {
	var s struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Description string `json:"description"`
			WriteOnly   bool   `json:"writeOnly"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, nil
	}
	for name, p := range s.Properties {
		if p.WriteOnly {
			secrets = append(secrets, name)
		}
	}
	for _, name := range s.Required {
		p := s.Properties[name]
		list = append(list, Setting{
			Name: name, Description: p.Description, Secret: p.WriteOnly,
			Variable: strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(label + "_" + name)),
		})
	}
	return list, secrets
}
