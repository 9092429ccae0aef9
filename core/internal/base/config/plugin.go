package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Plugin is a plugin block. For a disabled one only Label and Enabled are set.
type Plugin struct {
	// Label is the instance's name, and the channel's in session keys: lower-case letters, digits, - and _, at most 32.
	Label   string
	Enabled bool
	// Source is the absolute path of the binary. Default: clawhost-<label> in the plugin folder.
	Source string
	// SHA256 is the checksum of the only binary that may run; nil allows any.
	SHA256 []byte
	// Env is the plugin's whole environment.
	Env map[string]string
	// Grants are the other channels that the plugin may post to, read and run turns in.
	Grants []string
	// ReadTranscripts lets a plugin that follows the transcripts of all channels also read what was said before.
	ReadTranscripts bool
	// ServeHTTP lets the plugin answer requests at the admin address.
	ServeHTTP bool
	// Overrides are the host's commands that the plugin's of the same name replace, in lower case with underscores.
	Overrides []string
	Hook      Hook

	settings Settings
	channels []string // the labels of all plugin blocks
	source   *source
	block    *hclsyntax.Block
	// configBlock is nil without one; config contains the values of its arguments.
	configBlock *hclsyntax.Block
	config      map[string]cty.Value
}

// Hook configures the calls of the plugin's hooks.
type Hook struct {
	Timeout time.Duration // default 5 seconds
	OnError string        // skip (default): go on without the hook; fail: end the turn
}

var (
	labelForm   = lazyregexp.New(`^[a-z0-9_-]{1,32}$`)
	commandForm = lazyregexp.New(`^[a-z][a-z0-9_]{0,31}$`)
	letterForm  = lazyregexp.New(`^[\pL\pN_-]+$`)
)

// identityName reports whether a person may have the name. A bound within the expression would make it 64 times as large.
func identityName(name string) bool {
	return letterForm().MatchString(name) && utf8.RuneCountInString(name) <= 64
}

// reservedLabels have another meaning in session keys.
var reservedLabels = []string{"main", "peer", "plugin", "cron", "cli", "agent"}

// blockOf returns the description of the plugin's block.
func (p *Plugin) blockOf(d *decoder, c *Config) block {
	return block{
		path: "plugin",
		attrs: []attr{
			{"enabled", boolean(&p.Enabled)},
			{"source", binary(&p.Source, &c.PluginDir)},
			{"sha256", checksum(&p.SHA256)},
			{"env", variables(&p.Env, nil)},
			{"grants", channels(&p.Grants)},
			{"read_transcripts", boolean(&p.ReadTranscripts)},
			{"serve_http", boolean(&p.ServeHTTP)},
			{"overrides", commands(&p.Overrides)},
		},
		blocks: append([]child{
			one(p.Hook.block()),
			{
				name:  "config",
				holds: func(string) block { return block{path: "plugin.config"} },
				read:  func(b *hclsyntax.Block) { p.readConfig(d, b) },
			},
		}, p.settings.blocks()...),
	}
}

func (h *Hook) block() block {
	return block{path: "plugin.hook", attrs: []attr{
		{"timeout", duration(&h.Timeout, time.Millisecond)},
		{"on_error", oneOf(&h.OnError, "skip", "fail")},
	}}
}

// plugin reads a plugin block. The rest of the file must have been read before.
func (d *decoder) plugin(b *hclsyntax.Block, c *Config) *Plugin {
	p := &Plugin{Label: b.Labels[0], Enabled: true, channels: d.channels[1:], source: d.source, block: b, settings: c.Settings.clone()}
	switch {
	case !labelForm().MatchString(p.Label):
		d.report(b.LabelRanges[0], "Unsuitable label", "A plugin's label has 1 to 32 of the characters a to z, 0 to 9, _ and -.")
	case slices.Contains(reservedLabels, p.Label):
		d.report(b.LabelRanges[0], "Unsuitable label", fmt.Sprintf("The label %q is reserved.", p.Label))
	}
	if enabled := b.Body.Attributes["enabled"]; enabled != nil {
		d.attribute(enabled, "plugin", boolean(&p.Enabled))
	}
	if !p.Enabled {
		return p
	}
	p.Source = filepath.Join(c.PluginDir, "clawhost-"+p.Label)
	p.Hook = Hook{Timeout: 5 * time.Second, OnError: "skip"}
	d.decode(b.Body, p.blockOf(d, c))
	return p
}

// readConfig evaluates the plugin's own config for [Plugin.Decode].
func (p *Plugin) readConfig(d *decoder, b *hclsyntax.Block) {
	p.configBlock = b
	p.config = map[string]cty.Value{}
	for name, a := range b.Body.Attributes {
		if found, ok := d.evaluate(a.Expr); ok {
			p.config[name] = found
		}
	}
	for _, inner := range b.Body.Blocks {
		d.report(inner.TypeRange, "Unexpected block",
			fmt.Sprintf("A plugin's config contains only arguments: write %s = { … }.", inner.Type))
	}
}

// Missing returns a problem at the plugin's block if its program does not exist. It suggests another plugin in the same
// folder with a similar name.
func (p *Plugin) Missing() (missing Problem, is bool) {
	if _, err := os.Stat(p.Source); !errors.Is(err, fs.ErrNotExist) {
		return Problem{}, false
	}
	const prefix = "clawhost-"
	var known []string
	entries, _ := os.ReadDir(filepath.Dir(p.Source)) // on error nothing is suggested
	for _, entry := range entries {
		if name, ok := strings.CutPrefix(entry.Name(), prefix); ok {
			known = append(known, name)
		}
	}
	name := strings.TrimPrefix(filepath.Base(p.Source), prefix)
	hint := cmp.Or(suggestion(name, known), " Plugins that do not come with clawhost are programs that you put there: docs/writing-a-channel.md.")
	return p.Place(nil, fmt.Sprintf("No plugin %q", name), fmt.Sprintf("There is no program %s.%s", p.Source, hint)), true
}

// binary stores the name of a binary in a folder, which must have been read before, or a path.
func binary(to, folder *string) setter {
	return func(v value) {
		s, ok := v.filled()
		switch {
		case !ok:
		case s == "." || s == "..":
			v.refuse("must be the name or the path of a binary")
		case strings.HasPrefix(s, "~") || strings.Contains(s, "/"):
			path(to)(v)
		default:
			*to = filepath.Join(*folder, s)
		}
	}
}

func checksum(to *[]byte) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		sum, err := hex.DecodeString(s)
		if err != nil || len(sum) != sha256.Size {
			v.refuse("must be a SHA-256 checksum of 64 hexadecimal digits")
			return
		}
		*to = sum
	}
}

// channels stores labels of plugin blocks.
func channels(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		labels := []string{}
		for _, e := range elements {
			s, ok := e.text()
			if !ok {
				continue
			}
			if !slices.Contains(v.d.channels, s) {
				e.refuseChannel(s)
				continue
			}
			labels = append(labels, s)
		}
		*to = labels
	}
}

// commands stores names of commands.
func commands(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		names := []string{}
		for _, e := range elements {
			s, ok := e.text()
			if !ok {
				continue
			}
			name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, "/")), "-", "_")
			if !commandForm().MatchString(name) {
				e.refuse(`must name commands, such as "status"`)
				continue
			}
			names = append(names, name)
		}
		*to = names
	}
}
