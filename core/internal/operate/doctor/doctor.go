// Package doctor finds what keeps a host from working, and says what to do about it. It examines the machine, the config and its plugins,
// and, if one runs, the host.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/service"
)

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Good    Severity = "good"    // it works
	Warning Severity = "warning" // it works, and may not as meant
	Error   Severity = "error"   // something does not work
)

// severities are all of them, the worst last.
var severities = []Severity{Good, Warning, Error}

// Finding is the result of a check.
type Finding struct {
	Code     string   `json:"code"` // of the check, such as claude_login; the same in each version
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Advice   string   `json:"advice,omitempty"`  // what to do
	Fixable  bool     `json:"fixable,omitempty"` // by Options.Fix
	Fixed    bool     `json:"fixed,omitempty"`

	Problem *config.Problem `json:"problem,omitempty"` // of the config file, with its place; nil: it is about something else

	path string      // of what is open to others
	mode fs.FileMode // that closes it
}

// repair closes what is open.
func (f *Finding) repair() {
	if !f.Fixable {
		return
	}
	if err := os.Chmod(f.path, f.mode); err != nil {
		f.Advice += fmt.Sprintf(", as its owner: this user cannot (%v)", err)
		return
	}
	f.Fixed = true
}

// Options are what is examined.
type Options struct {
	Command  string            // by which this program is called with the config, for advice; empty: clawhost
	Path     string            // of the config file
	Others   []string          // further config files in the usual places, which are not read
	Config   *config.Config    // nil: Problem says why
	Problem  error             // of the config file
	Host     *admin.Status     // the host that runs with the config; nil: none does, or HostErr says why it is unknown
	HostErr  error             // why the host cannot be asked; nil: it was, or none runs
	Service  *service.State    // the service of systemd that runs the host with the config; nil: there is none
	Manager  string            // the command that changes that service, such as "sudo systemctl"
	Version  string            // of this program
	Demo     bool              // no Claude is needed
	Online   bool              // ask the networks and the model's API
	Fix      bool              // repair what needs no decision of a person
	Children *process.Children // starts programs; nil: without adopting processes
}

// Check makes the checks of what a host needs to work with the config. What the running host has is no fault. A fault that hides the
// others stands alone. The error is that of ctx.
func Check(ctx context.Context, o Options) ([]Finding, error) {
	o.Command = cmp.Or(o.Command, "clawhost")
	list := findConfig(o)
	if o.Config == nil {
		return list, nil
	}
	if f, is := findUser(o); is {
		return append(list, f), nil
	}
	list = append(list, findFiles(o)...)
	list = append(list, findMachine(o)...)
	state := findState(ctx, o)
	list = append(list, state...)
	if !o.Demo {
		list = append(list, findClaude(ctx, o)...)
	}
	list = append(list, findPlugins(ctx, o, o.Host == nil && !has(state, codeLocked))...)
	return list, context.Cause(ctx)
}

// Examine makes these checks, and those of the running host and of the networks. The worst findings are the last ones.
func Examine(ctx context.Context, o Options) ([]Finding, error) {
	o.Command = cmp.Or(o.Command, "clawhost")
	list, err := Check(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Config != nil && !has(list, codeUser) {
		list = append(append(list, findService(o)...), findHost(o, list)...)
		if o.Online && !o.Demo {
			list = append(list, findAPIs(ctx, o)...)
		}
	}
	for i := range list {
		if o.Fix {
			list[i].repair()
		}
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(a.rank(), b.rank()) })
	return list, context.Cause(ctx)
}

// rank is greater the worse the finding is.
func (f *Finding) rank() int {
	if f.Fixed {
		return 0
	}
	return slices.Index(severities, f.Severity)
}

// Summary counts what was found, in a line.
func Summary(o Options, list []Finding) string {
	var parts []string
	for _, s := range []Severity{Error, Warning} {
		if n := Count(list, s); n > 0 {
			parts = append(parts, counted(n, string(s)))
		}
	}
	if len(parts) == 0 {
		return "All is well."
	}
	text := enumerate(parts) + "."
	if !o.Fix && slices.ContainsFunc(list, func(f Finding) bool { return f.Fixable }) {
		text += fmt.Sprintf(" `%s doctor -fix` does each chmod.", cmp.Or(o.Command, "clawhost"))
	}
	return text
}

// Count returns how many findings have a severity and are not fixed.
func Count(list []Finding, s Severity) (n int) {
	for _, f := range list {
		if f.Severity == s && !f.Fixed {
			n++
		}
	}
	return n
}

func has(list []Finding, code string) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Code == code })
}

func good(code, format string, args ...any) Finding {
	return Finding{Code: code, Severity: Good, Text: fmt.Sprintf(format, args...)}
}

func warning(code, text, advice string) Finding {
	return Finding{Code: code, Severity: Warning, Text: text, Advice: advice}
}

func fault(code, text, advice string) Finding {
	return Finding{Code: code, Severity: Error, Text: text, Advice: advice}
}

// misconfigured is a problem of the config file.
func misconfigured(code string, severity Severity, p config.Problem, advice string) Finding {
	return Finding{Code: code, Severity: severity, Text: p.String(), Advice: advice, Problem: &p}
}

// open is a warning about a file or folder that is open to others. A mode closes it.
func open(code, text, path string, mode fs.FileMode) Finding {
	return Finding{
		Code: code, Severity: Warning, Text: text, Advice: fmt.Sprintf("`chmod %o %s`", mode, process.Quoted(path)),
		Fixable: true, path: path, mode: mode,
	}
}

// findConfig examines the config file.
func findConfig(o Options) (list []Finding) {
	if len(o.Others) > 0 {
		list = append(list, warning("two_configs", fmt.Sprintf("%s is read, not %s", o.Path, enumerate(o.Others)),
			"Keep one of them, or name the one that is meant with -config or CLAWHOST_CONFIG."))
	}
	if problems, ok := errors.AsType[config.Problems](o.Problem); ok {
		for _, p := range problems {
			list = append(list, misconfigured("config", Error, p, adviceToRead(o)))
		}
		return append(list, findVariables(o)...)
	}
	if o.Problem != nil {
		return append(list, fault("config", o.Problem.Error(), ""))
	}
	list = append(list, good("config", "%s is read", o.Path))
	for _, text := range o.Config.Warnings(os.Geteuid() == 0, o.Demo) {
		list = append(list, warning("config_warning", text, ""))
	}
	return append(list, findOwner(o.Config)...)
}

// findOwner looks for an owner whom the host can reach.
func findOwner(c *config.Config) []Finding {
	enabled := func(owner string) bool {
		p := c.Plugin(channelOf(owner))
		return p != nil && p.Enabled
	}
	none := !slices.ContainsFunc(c.Plugins, func(p *config.Plugin) bool { return p.Enabled })
	if none || slices.ContainsFunc(c.Access.Owners, enabled) { // that there is no plugin is a warning of the config
		return nil
	}
	text := "access.owners is empty"
	if len(c.Access.Owners) > 0 {
		text = fmt.Sprintf("access.owners names %s, and no plugin of these channels is enabled", enumerate(c.Access.Owners))
	}
	return []Finding{warning("no_owner", text+": nobody can let people in, or approve what Claude asks for",
		"Write `/whoami` to the bot, and what it answers into access.owners, such as `owners = [\"telegram:123456789\"]`.")}
}

// enumerate joins words.
func enumerate(words []string) string { return strings.Join(words, ", ") }

// channelOf returns the channel of a person, written channel:user.
func channelOf(person string) string {
	channel, _, _ := strings.Cut(person, ":")
	return channel
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
