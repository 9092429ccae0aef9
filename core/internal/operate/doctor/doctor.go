// Package doctor finds what keeps a host from working, and says what to do about it. It examines the machine, the config and its plugins,
// and, if one runs, the host.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/claims"
)

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Good    Severity = "good"    // it works
	Warning Severity = "warning" // it works, and may not as meant
	Error   Severity = "error"   // something does not work
)

// Finding is the result of a check.
type Finding struct {
	Code     string   `json:"code"` // of the check, such as claude_login; the same in each version
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Advice   string   `json:"advice,omitempty"`  // what to do
	Fixable  bool     `json:"fixable,omitempty"` // by [Finding.Fix]
	Fixed    bool     `json:"fixed,omitempty"`

	Problem *config.Problem `json:"problem,omitempty"` // of the config file, with its place; nil: it is about something else

	fix func() error
}

// Fix repairs what was found, if that is possible without a decision of a person. It reports whether it did.
func (f *Finding) Fix() error {
	if f.fix == nil {
		return nil
	}
	if err := f.fix(); err != nil {
		return err
	}
	f.Fixed = true
	return nil
}

// Options are what is examined.
type Options struct {
	Path     string            // of the config file
	Others   []string          // further config files in the usual places, which are not read
	Config   *config.Config    // nil: Problem says why
	Problem  error             // of the config file
	Host     *admin.Status     // the host that runs with the config; nil: none does, or HostProblem says why it is unknown
	HostErr  error             // why the host cannot be asked; nil: it was, or none runs
	Version  string            // of this program
	Demo     bool              // no Claude is needed
	Online   bool              // ask the networks and the model's API
	Children *process.Children // starts programs; nil: without adopting processes
}

// Examine makes all checks. What stands alone at the beginning is a fault that hides the others.
func Examine(ctx context.Context, o Options) []Finding {
	list := findConfig(o)
	if o.Config == nil {
		return list
	}
	list = append(list, findHost(o)...)
	list = append(list, findMachine(o)...)
	list = append(list, findState(ctx, o)...)
	if !o.Demo {
		list = append(list, findClaude(ctx, o)...)
	}
	list = append(list, findPlugins(ctx, o)...)
	if o.Online && !o.Demo {
		list = append(list, findAPI(ctx, o)...)
	}
	return list
}

// Worst returns the worst severity.
func Worst(list []Finding) Severity {
	order := []Severity{Good, Warning, Error}
	worst := 0
	for _, f := range list {
		if !f.Fixed {
			worst = max(worst, slices.Index(order, f.Severity))
		}
	}
	return order[worst]
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

// fixable adds how a finding is repaired.
func fixable(f Finding, fix func() error) Finding {
	f.fix, f.Fixable = fix, true
	return f
}

// findConfig examines the config file.
func findConfig(o Options) (list []Finding) {
	if len(o.Others) > 0 {
		list = append(list, warning("two_configs", fmt.Sprintf("%s is read, and %s is not", o.Path, enumerate(o.Others)),
			"Keep one of them, or name the one that is meant with -config or CLAWHOST_CONFIG."))
	}
	var problems config.Problems
	switch {
	case errors.As(o.Problem, &problems):
		for _, p := range problems {
			list = append(list, misconfigured("config", Error, p, ""))
		}
		return list
	case o.Problem != nil:
		return append(list, fault("config", o.Problem.Error(), ""))
	}
	for _, text := range o.Config.Warnings(os.Geteuid() == 0, o.Demo) {
		list = append(list, warning("config_warning", text, ""))
	}
	list = append(list, good("config", "%s is read", o.Path))
	return append(list, findFiles(o)...)
}

// findPlugins starts the plugins to ask them about their configs and, online, about their accounts.
func findPlugins(ctx context.Context, o Options) (list []Finding) {
	report := claims.Check(ctx, o.Config, claims.Options{
		Version: o.Version, Demo: o.Demo, Online: o.Online, Children: o.Children,
	})
	for _, p := range report.Problems {
		code, advice := "config", ""
		if p.Summary == config.MissingProgram {
			code, advice = "claude_missing", "`npm install -g @anthropic-ai/claude-code`, then `claude auth login`."
		}
		list = append(list, misconfigured(code, Error, p, advice))
	}
	for _, p := range report.Warnings {
		list = append(list, misconfigured("plugin", Warning, p, ""))
	}
	for _, a := range report.Accounts {
		list = append(list, good("account", "plugin %s: its network accepts it as %s", a.Plugin, a.Name))
	}
	if len(report.Problems) == 0 {
		list = append(list, good("plugins", "the enabled plugins start and accept their configs"))
	}
	if o.Host == nil {
		for _, a := range report.Addresses {
			list = append(list, findAddress(ctx, a)...)
		}
	}
	return list
}

// findAddress tries to listen at an address that the host or a plugin will use.
func findAddress(ctx context.Context, a config.Address) []Finding {
	l, err := process.Listen(ctx, "tcp", a.Listen)
	if err != nil {
		return []Finding{misconfigured("port", Error, a.CannotListen(err), "")}
	}
	_ = l.Close()
	return []Finding{good("port", "%s is free for %s", a.Listen, a.Who)}
}
