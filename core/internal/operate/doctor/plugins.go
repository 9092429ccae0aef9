package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/claims"
)

// codes are those of problems with the config that are no mistake in it, by their summaries.
var codes = map[string]string{
	config.MissingProgram: codeMissing, config.UnusableFolder: "state_dir", claims.NoStart: "plugin_start",
}

// findPlugins starts the plugins to ask them about their configs and, online, about their accounts. It also tries the addresses at which
// they, and the host, will listen.
func findPlugins(ctx context.Context, o Options, listen bool) (list []Finding) {
	report := claims.Check(ctx, o.Config, claims.Options{
		Version: o.Version, Demo: o.Demo, Online: o.Online, Children: o.Children,
	})
	for _, p := range report.Problems {
		code, advice := codes[p.Summary], ""
		switch {
		case slices.Contains(report.Refused, p):
			code = "account"
		case code == codeMissing:
			advice = "`npm install -g @anthropic-ai/claude-code`, then `claude auth login`."
		case code == "" && strings.HasPrefix(p.Summary, "No plugin "):
			code = "plugin_missing"
		case code == "":
			code = "config"
		}
		list = append(list, misconfigured(code, Error, p, advice))
	}
	for _, p := range report.Warnings {
		list = append(list, misconfigured("plugin_warning", Warning, p, ""))
	}
	for _, a := range report.Accounts {
		list = append(list, good("account", "plugin %s: its network accepts it as %s", a.Plugin, a.Name))
	}
	if len(report.Problems) == 0 {
		list = append(list, good("plugins", "the enabled plugins start and accept their configs"))
	}
	if !listen {
		return list
	}
	for _, a := range report.Addresses {
		l, err := process.Listen(ctx, "tcp", a.Listen)
		if err != nil {
			list = append(list, misconfigured("port", Error, a.CannotListen(err), ""))
			continue
		}
		_ = l.Close()
	}
	return list
}
