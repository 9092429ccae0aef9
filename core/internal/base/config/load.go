package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/session"
)

const (
	// socketName is the control socket's name in the state folder.
	socketName = "clawhost.sock"
	// maxSocketPath is a portable limit for the path of a Unix socket, in bytes, including the final zero byte.
	maxSocketPath = 104
	// maxOperators limits the tokens that open, close or join something. The parser uses up to 8 KB of stack for each
	// (measured).
	maxOperators = 20_000
)

// Load reads the file at path. Variables come from env, which is usually [os.LookupEnv]; ~ expands to HOME. The error is a
// [Problems] with all errors of the file.
func Load(path string, env func(name string) (value string, ok bool)) (*Config, error) {
	return load(path, env, nil)
}

func load(path string, env func(name string) (value string, ok bool), overrides []Override) (*Config, error) {
	d, text, err := open(path, env)
	if err != nil {
		return nil, err
	}
	body, problems := d.parse(text)
	if problems != nil {
		return nil, problems.err()
	}
	d.overrides = map[string]Override{}
	for _, o := range overrides {
		d.overrides[o.source()] = o
		if err := o.apply(body); err != nil {
			d.problems = append(d.problems, Problem{File: o.source(), Summary: "Unsuitable override", Detail: err.Error()})
		}
	}
	c := d.file(body, filepath.Join(d.dir, filepath.Base(path)))
	if err := d.problems.err(); err != nil {
		return nil, err
	}
	c.written = d.written(body, nil, "")
	return c, nil
}

// Misfit is an override that does not fit the file, or that another one excludes.
type Misfit struct {
	Override
	Why string `json:"why"`
}

// LoadWith reads as [Load] does, and then applies overrides. Those that do not fit are left out.
func LoadWith(path string, env func(name string) (value string, ok bool), overrides []Override) (*Config, []Misfit, error) {
	c, err := Load(path, env)
	if err != nil || len(overrides) == 0 {
		return c, nil, err
	}
	c.set = slices.Clone(overrides)
	var misfits []Misfit
	for fitting := slices.Clone(overrides); ; {
		with, err := load(path, env, fitting)
		if err == nil {
			with.set = c.set
			return with, misfits, nil
		}
		problems, _ := errors.AsType[Problems](err)
		why := func(o Override) string {
			for _, p := range problems {
				if p.File == o.source() {
					return p.Summary + "; " + p.Detail
				}
			}
			return ""
		}
		unfit := slices.DeleteFunc(slices.Clone(fitting), func(o Override) bool { return why(o) == "" })
		for _, o := range unfit {
			misfits = append(misfits, Misfit{o, why(o)})
		}
		fitting = slices.DeleteFunc(fitting, func(o Override) bool { return why(o) != "" })
		if len(unfit) > 0 {
			continue
		}
		for _, o := range fitting { // together they make the file invalid elsewhere
			misfits = append(misfits, Misfit{o, err.Error()})
		}
		return c, misfits, nil
	}
}

// LoadSocket returns the path of the control socket of the host that runs with the file at path. It evaluates only the
// state folder: clients of a running host need none of its variables. The error is a [Problems].
func LoadSocket(path string, env func(name string) (value string, ok bool)) (string, error) {
	d, text, err := open(path, env)
	if err != nil {
		return "", err
	}
	body, problems := d.parse(text)
	if problems != nil {
		return "", problems.err()
	}
	c, only := defaults(), &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: body.SrcRange, EndRange: body.EndRange}
	if a, ok := body.Attributes["state_dir"]; ok {
		only.Attributes["state_dir"] = a
	}
	d.defaultPaths(c)
	d.decode(only, c.fileBlock(func(*hclsyntax.Block) {}))
	d.checkPaths(c, only.Attributes["state_dir"])
	return c.Socket(), d.problems.err()
}

// LoadPlugins returns the names of the plugins of the file at path. The rest of it may be wrong. The error is a [Problems].
func LoadPlugins(path string, env func(name string) (value string, ok bool)) (names []string, err error) {
	d, text, err := open(path, env)
	if err != nil {
		return nil, err
	}
	body, problems := d.parse(text)
	if problems != nil {
		return nil, problems.err()
	}
	for _, b := range body.Blocks {
		if b.Type == "plugin" && len(b.Labels) == 1 {
			names = append(names, b.Labels[0])
		}
	}
	return names, nil
}

// LoadPlaces returns what the file at path says of the places of a host's files: where its state is, and where its agents work and keep
// Claude's transcripts. The rest may be wrong, such as variables that only the host's own process has; then it is told by the second
// result, and what depends on it has its default. The error is a [Problems].
func LoadPlaces(path string, env func(name string) (value string, ok bool)) (c *Config, wrong, err error) {
	if _, err := LoadSocket(path, env); err != nil {
		return nil, nil, err
	}
	d, text, err := open(path, env)
	if err != nil {
		return nil, nil, err
	}
	body, problems := d.parse(text)
	if problems != nil {
		return nil, nil, problems.err()
	}
	c = d.file(body, filepath.Join(d.dir, filepath.Base(path)))
	return c, d.problems.err(), nil
}

// open reads a file and prepares to decode it.
func open(path string, env func(name string) (value string, ok bool)) (*decoder, []byte, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, Problems{{File: path, Summary: "Cannot find the config file", Detail: err.Error()}}
	}
	now := time.Now()
	text, err := readFile(absolute)
	if err != nil {
		detail := printable(err.Error())
		if errors.Is(err, fs.ErrNotExist) {
			detail += "." + meantFile(absolute) + " Write one with `clawhost init`, copy one of examples/, or name another one with -config FILE."
		}
		return nil, nil, Problems{{File: path, Summary: "Cannot read the config file", Detail: detail}}
	}
	d := &decoder{place: place{dir: filepath.Dir(absolute), env: env}, source: newSource(path, text), readAt: now}
	d.eval = d.functions()
	return d, text, nil
}

// meantFile names the file that may be meant by the path of one that does not exist.
func meantFile(path string) string {
	there, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+filepath.Ext(path))) // the pattern is good but for odd names
	for i := range there {
		there[i] = filepath.Base(there[i])
	}
	return suggestion(filepath.Base(path), there)
}

func (d *decoder) parse(text []byte) (*hclsyntax.Body, Problems) {
	if problems := d.checkSize(text); problems != nil {
		return nil, problems
	}
	file, diagnostics := hclsyntax.ParseConfig(text, d.name, hcl.InitialPos)
	if diagnostics.HasErrors() {
		d.hideUnparsed()
		return nil, d.fromSyntax(diagnostics)
	}
	body := file.Body.(*hclsyntax.Body) // documented by ParseConfig
	d.hideSecrets(body)
	return body, nil
}

// checkSize refuses a file with too many nested expressions for the recursive parser, whose stack overflow would end the
// process.
func (d *decoder) checkSize(text []byte) Problems {
	tokens, _ := hclsyntax.LexConfig(text, d.name, hcl.InitialPos) // the parser reports the same errors
	operators := 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenComment, hclsyntax.TokenNewline, hclsyntax.TokenIdent, hclsyntax.TokenEqual, hclsyntax.TokenComma,
			hclsyntax.TokenNumberLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			continue
		}
		if operators++; operators > maxOperators {
			d.hide(1, len(d.quiet))
			return Problems{d.problem(token.Range, "File too large",
				fmt.Sprintf("The file has more than %d brackets, quotes and operators.", maxOperators))}
		}
	}
	return nil
}

// file reads the whole file: the top level first, because the blocks of agents and plugins inherit from it.
func (d *decoder) file(body *hclsyntax.Body, path string) *Config {
	c := defaults()
	c.Path, c.readAt, c.source, c.body = path, d.readAt, d.source, body
	d.channels, d.agents = []string{"webchat"}, []string{session.MainAgent}
	for _, b := range body.Blocks {
		switch {
		case len(b.Labels) != 1:
		case b.Type == "plugin":
			d.channels = append(d.channels, b.Labels[0])
		case b.Type == "agent":
			d.agents = append(d.agents, b.Labels[0])
		}
	}
	d.defaultPaths(c)
	var agents, plugins []*hclsyntax.Block
	d.decode(body, c.fileBlock(func(b *hclsyntax.Block) {
		switch {
		case b.Type == "plugin":
			plugins = append(plugins, b)
		case len(b.Labels) == 0:
			d.decode(b.Body, c.Agent.block())
		default:
			agents = append(agents, b)
		}
	}))
	d.checkPaths(c, body.Attributes["state_dir"])
	d.checkDatabase(c, body)
	c.Media.fillFolderSizes()
	for _, b := range agents {
		c.Agents = append(c.Agents, d.agent(b, c))
	}
	c.Agent.complete() // after the others: they inherit names of models, not models
	for _, b := range plugins {
		c.Plugins = append(c.Plugins, d.plugin(b, c))
	}
	for _, a := range c.AllAgents() {
		d.checkTarget(c, a, body)
		a.Claude.ConfigDir = d.claudeDir(a)
		d.checkWorkspace(c, a, body)
	}
	d.checkApprovals(c, body)
	c.warnings = d.warn(c, body)
	return c
}

// checkTarget refuses a group as the target of an agent's heartbeat.
func (d *decoder) checkTarget(c *Config, a *Agent, body *hclsyntax.Body) {
	channel, id, _ := strings.Cut(a.Heartbeat.Target, ":")
	if _, group := c.For(channel).Access.Group[id]; !group {
		return
	}
	if given := a.attribute(body, "heartbeat", "target"); given != nil {
		d.report(given.Expr.Range(), "Unsuitable value",
			fmt.Sprintf("%s must be a person, and %s is a group in access.group.", a.title("heartbeat", "target"), a.Heartbeat.Target))
	}
}

// defaultPaths makes the default paths absolute. On error they are left empty: the file may set them.
func (d *decoder) defaultPaths(c *Config) {
	c.StateDir, _ = d.resolve(d.dir, c.StateDir)
	c.Agent.Workspace, _ = d.resolve(d.dir, c.Agent.Workspace)
	if program, err := process.Executable(); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			c.PluginDir = filepath.Dir(program)
		}
	}
}

// checkPaths reports default paths that could not be made absolute, and a state folder whose path is too long.
func (d *decoder) checkPaths(c *Config, stateDir *hclsyntax.Attribute) {
	at := hcl.Range{}
	for _, p := range []struct{ name, path string }{
		{"state_dir", c.StateDir}, {"agent.workspace", c.Agent.Workspace}, {"plugin_dir", c.PluginDir},
	} {
		if p.path == "" {
			d.report(at, "Missing value", fmt.Sprintf("%s must be set, because its default is unknown: is HOME set?", p.name))
		}
	}
	if stateDir != nil {
		at = stateDir.Expr.Range()
	}
	if socket := c.Socket(); len(socket) >= maxSocketPath {
		d.report(at, "Unsuitable value",
			fmt.Sprintf("state_dir is too deep: the path of its control socket has %d bytes and must have fewer than %d.",
				len(socket), maxSocketPath))
	}
}
