package doctor

import (
	"fmt"
	"os"
	"time"
)

// HostDown is the code of the finding that no host runs with the config.
const HostDown = "host_down"

// findHost examines the running host.
func findHost(o Options) (list []Finding) {
	switch {
	case o.HostErr != nil:
		return []Finding{fault("host", "the running host cannot be asked: "+o.HostErr.Error(), "")}
	case o.Host == nil:
		return []Finding{warning(HostDown, "no host runs with this config",
			"Start it: `clawhost -config "+o.Path+"`, or `clawhost service install` to have it run always.")}
	}
	s := o.Host
	list = append(list, good("host", "the host runs, process %d, for %s", s.PID, time.Since(s.Started).Round(time.Second)))
	if s.Version != o.Version {
		list = append(list, warning("host_version", fmt.Sprintf("the host runs version %s, and this program is %s", s.Version, o.Version),
			"Restart the host: `/restart` in a chat, or the service."))
	}
	if info, err := os.Stat(o.Config.Path); err == nil && info.ModTime().After(s.Started) {
		list = append(list, warning("host_config", "the config was changed after the host has started",
			"Restart the host to apply it: `/restart` in a chat, or the service."))
	}
	for _, p := range s.Plugins {
		switch {
		case p.State == "failed":
			list = append(list, fault("plugin_failed", fmt.Sprintf("plugin %s has failed: %s", p.Name, p.Detail),
				fmt.Sprintf("Correct that, then `clawhost plugin restart %s`.", p.Name)))
		case p.State == "waiting":
			list = append(list, warning("plugin_waits", fmt.Sprintf("plugin %s ended and is started again: %s", p.Name, p.Detail), ""))
		case p.Connection != "" && p.Connection != "connected":
			list = append(list, warning("plugin_disconnected", fmt.Sprintf("plugin %s is %s: %s", p.Name, p.Connection, p.Detail), ""))
		}
	}
	if s.Dead > 0 {
		list = append(list, warning("dead_letters", fmt.Sprintf("%d messages could not be delivered", s.Dead),
			"`clawhost queue dead` says why; `clawhost queue retry all` sends them again."))
	}
	return list
}
