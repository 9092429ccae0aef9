package supervisor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/programtest"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
)

// What the host lacks is waited out, however often, and reported once; the plugin is not failed for it.
func TestResourceShortageDoesNotFailAPlugin(t *testing.T) {
	t.Parallel()
	const times = 6 // more than the deaths that park a plugin
	r := &fixture{register: panicking, records: records{full: times}}
	r.begin(t, supervisor.Options{Plugins: plugins.New([]*config.Plugin{spec(t, "well")})})
	if why := r.next(t, r.failed); !strings.Contains(why, "no space left on device") || !strings.Contains(why, "starts it by itself") {
		t.Fatalf("the operator hears %q", why)
	}
	if name := r.next(t, r.runs); name != "well" || len(r.failed) != 0 {
		t.Errorf("the operator hears that %q runs again, and of %d failures more", name, len(r.failed))
	}
	if s := r.status("well"); s.Restarts != times {
		t.Errorf("it runs after %d restarts, want %d", s.Restarts, times)
	}
}

// A plugin that died too often is tried again after a while, and the operator hears that it runs.
func TestAParkedPluginIsTriedAgain(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fickle := spec(t, "well")
	fickle.Source = filepath.Join(dir, "plugin")
	script := fmt.Sprintf("#!/bin/sh\ntest -e '%s' && exit 3\nexec '%s'\n", broken, self)
	programtest.Write(t, fickle.Source, script)
	r := &fixture{register: panicking}
	r.begin(t, supervisor.Options{Plugins: plugins.New([]*config.Plugin{fickle}), Retry: 20 * time.Millisecond})
	if why := r.next(t, r.failed); !strings.Contains(why, "tries again every few minutes") {
		t.Errorf("the operator hears %q", why)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if name := r.next(t, r.runs); name != "well" {
		t.Errorf("the operator hears that %q runs again", name)
	}
	r.await(t, "well", 0)
}
