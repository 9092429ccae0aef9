package supervisor_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
)

// A reload of the config starts plugins that are new, ends those that are gone, and leaves the others as they are. One that comes back
// while it still ends is started after that.
func TestAReloadStartsAndEndsPlugins(t *testing.T) {
	t.Parallel()
	well, other := spec(t, "well"), spec(t, "listen")
	r := begin(t, well)
	r.await(t, "well", 0)
	stays := r.status("well").PID
	r.Registry.Configure([]*config.Plugin{well, other})
	r.await(t, "listen", 0)
	first := r.status("listen").PID
	r.Registry.Configure([]*config.Plugin{well})
	if r.Registry.Enabled("listen") {
		t.Error("the plugin is still enabled")
	}
	if err := r.Restart("listen"); err == nil {
		t.Error("a plugin that the config does not have is restarted")
	}
	r.Registry.Configure([]*config.Plugin{other, well})
	r.await(t, "listen", first)
	if now := r.status("well"); now.PID != stays || now.Restarts != 0 || now.State != plugins.Running {
		t.Errorf("the other plugin is %+v, its process was %d", now, stays)
	}
	r.stop()
	if now := r.status("listen"); now.State != plugins.Stopped {
		t.Errorf("at the end the plugin is %s", now.State)
	}
}
