package doctor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/operate/service"
)

// findService examines the service that runs the host.
func findService(o Options) (list []Finding) {
	if o.Service != nil && !o.Service.Enabled {
		list = append(list, warning("service_off", "the service does not start with the machine", fmt.Sprintf("`%s enable %s`", o.Manager, service.Unit)))
	}
	return list
}

// findNone says that no host runs.
func findNone(o Options) Finding {
	switch {
	case o.Service == nil:
		return warning("host_down", "no host runs with this config",
			fmt.Sprintf("Start it: `%s`, or `clawhost service install` to have it run always.", o.Command))
	case o.Service.Failure == "":
		return warning("host_down", "no host runs with this config: the service is "+o.Service.Doing, fmt.Sprintf("`%s start %s`", o.Manager, service.Unit))
	}
	return fault("service_failed", "the service does not run: "+o.Service.Failure,
		fmt.Sprintf("`%s service logs` shows why. When that is corrected: `%s restart %s`", o.Command, o.Manager, service.Unit))
}

// findHost examines the running host. What was found before is not said again.
func findHost(o Options, before []Finding) (list []Finding) {
	restart := "Restart the host: `/restart` in a chat, or the service."
	s := o.Host
	switch {
	case has(before, codeLocked):
		return nil // it runs, and does not answer
	case o.HostErr != nil:
		return []Finding{fault("host", "the host cannot be asked: "+o.HostErr.Error(), "")}
	case s == nil:
		return []Finding{findNone(o)}
	}
	claude := slices.ContainsFunc(before, func(f Finding) bool { return f.Severity == Error && strings.HasPrefix(f.Code, "claude_") })
	list = append(list, good("host", "the host runs, process %d, since %s", s.PID, s.Started.Local().Format(time.DateTime)))
	if s.Version != o.Version {
		list = append(list, warning("host_version", fmt.Sprintf("the host runs version %s, and this program is %s", s.Version, o.Version), restart))
	}
	applied := s.ConfigAt
	if applied.IsZero() { // an earlier version, which reads it only when it starts
		applied = s.Started
	}
	if info, err := os.Stat(o.Config.Path); err == nil && info.ModTime().After(applied) {
		list = append(list, warning("host_config", "the config was changed after the host has read it, which does not use the change yet", fmt.Sprintf("Apply it: `%s reload`, or `/reload` in a chat.", o.Command)))
	}
	for _, p := range s.Problems {
		switch p.Code {
		case health.ConfigWarning: // found above
		case health.ClaudeUnusable, health.ClaudeLoggedOut:
			if !claude {
				list = append(list, fault("host_claude", "the running host cannot use Claude Code: "+p.Text,
					"Its PATH and its variables are others than here: compare them, such as in the service's unit."))
			}
		default:
			list = append(list, Finding{
				Code: string(p.Code), Severity: Severity(p.Severity), Text: p.Text, Advice: strings.ReplaceAll(p.Advice, "`clawhost ", "`"+o.Command+" "),
			})
		}
	}
	return list
}
