package supervisor_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/programtest"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
)

// A plugin runs from a copy that is checked as a whole before it is executed, and looks like the plugin all the same.
func TestAPluginRunsFromASealedCopy(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "well"))
	pid := r.status("well").PID
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if os.Getuid() == 0 && (err != nil || exe != "/memfd:"+self+" (deleted)") {
		t.Errorf("it executes %q, %v", exe, err)
	}
	for file, want := range map[string]string{"cmdline": self + "\x00", "comm": fmt.Sprintf("%.15s\n", filepath.Base(self))} {
		if got, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)); err != nil || string(got) != want {
			t.Errorf("its %s is %q, %v, want %q", file, got, err, want)
		}
	}
	if strings.Contains(r.log.String(), "can read the plugin's memory") {
		t.Error("the log warns of a binary that was sealed")
	}
}

// What cannot be sealed runs all the same, with a warning.
func TestAScriptRunsAsItIs(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := spec(t, "well")
	script.Source = filepath.Join(t.TempDir(), "script")
	programtest.Write(t, script.Source, "#!/bin/sh\nexec '"+self+"'\n")
	r := begin(t, script)
	if _, ok := r.Get("well"); !ok {
		t.Fatalf("not running: %+v", r.List())
	}
	if !strings.Contains(r.log.String(), "other processes of this user can read the plugin's memory while it starts") {
		t.Errorf("the log does not warn:\n%s", r.log)
	}
}

// A binary that the host's user may not execute is refused, whether its checksum is pinned or not.
func TestABinaryWithoutThePermissionIsRefused(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	plain := spec(t, "well")
	plain.Source = filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(plain.Source, binary, 0o600); err != nil {
		t.Fatal(err)
	}
	pinned, sum := *plain, sha256.Sum256(binary)
	pinned.SHA256 = sum[:]
	for name, spec := range map[string]*config.Plugin{"plain": plain, "pinned": &pinned} {
		_, err := supervisor.Check(t.Context(), spec, supervisor.Checking{HostVersion: "test", SocketDir: t.TempDir()}, hclog.NewNullLogger())
		var unfit *supervisor.Unfit
		if !errors.As(err, &unfit) || unfit.Attribute != "source" || !strings.Contains(err.Error(), plain.Source+": this user may not execute it") {
			t.Errorf("%s: %v, want that it may not be executed", name, err)
		}
	}
}
