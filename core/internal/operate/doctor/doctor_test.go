package doctor

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/service"
	"github.com/clawhost/clawhost/core/internal/store"
)

// load reads a config that has more than a state folder.
func load(t *testing.T, more string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.hcl")
	if err := os.WriteFile(path, []byte("state_dir = \"state\"\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// said are the codes, severities and texts of findings that are not good, one a line.
func said(list []Finding) string {
	var lines []string
	for _, f := range list {
		if f.Severity != Good && f.Code != "root" {
			lines = append(lines, f.Code+" "+string(f.Severity)+" "+f.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// A disk that is nearly full, of another machine or without space for files is found.
// Behaviour: doctor-state.
func TestDisk(t *testing.T) {
	t.Parallel()
	const block = 4096
	for name, c := range map[string]struct {
		disk unix.Statfs_t
		want string
	}{
		"space enough":          {unix.Statfs_t{Bavail: 2 << 30 / block, Files: 1e6, Ffree: 1e5}, ""},
		"little":                {unix.Statfs_t{Bavail: 800 << 20 / block, Files: 1e6, Ffree: 1e5}, "disk warning only 800 MB are free for /var/lib/claw"},
		"full":                  {unix.Statfs_t{Bavail: 63 << 20 / block, Files: 1e6, Ffree: 1e5}, "disk error only 63 MB are free for /var/lib/claw"},
		"no files":              {unix.Statfs_t{Bavail: 2 << 30 / block, Files: 1e6, Ffree: 3}, "inodes error the disk of /var/lib/claw can have only 3 more files"},
		"files without a bound": {unix.Statfs_t{Bavail: 2 << 30 / block}, ""},
		"another machine":       {unix.Statfs_t{Type: 0x6969, Bavail: 2 << 30 / block}, "state_remote warning /var/lib/claw is on another machine, by NFS"},
	} {
		c.disk.Bsize = block
		if got := said(judge("/var/lib/claw", c.disk)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What a running host says about itself is found, but not a second time.
// Behaviour: doctor-host.
func TestHost(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(time.Minute)
	for name, c := range map[string]struct {
		host   *admin.Status
		err    error
		before []Finding
		want   string
	}{
		"it works": {host: &admin.Status{Version: "1", Started: now, Plugins: []admin.Plugin{
			{Name: "a", State: "running", Connection: "connected"}, {Name: "b", State: "running"}, {Name: "c", State: "disabled"},
		}}},
		"another version": {
			host: &admin.Status{Version: "0.9", Started: now},
			want: "host_version warning the host runs version 0.9, and this program is 1",
		},
		"a changed config": {
			host: &admin.Status{Version: "1", Started: now.Add(-2 * time.Hour), ConfigAt: now.Add(-time.Hour)},
			want: "host_config warning the config was changed after the host has read it, which does not use the change yet",
		},
		"a config that was reloaded": {
			host: &admin.Status{Version: "1", Started: now.Add(-time.Hour), ConfigAt: now},
		},
		"a changed config of an earlier version": {
			host: &admin.Status{Version: "1", Started: now.Add(-time.Hour)},
			want: "host_config warning the config was changed after the host has read it, which does not use the change yet",
		},
		"no claude on the service's PATH": {
			host: &admin.Status{Version: "1", Started: now, Problems: []health.Problem{{Code: health.ClaudeUnusable, Severity: health.Error, Text: "it is gone"}}},
			want: "host_claude error the running host cannot use Claude Code: it is gone",
		},
		"no claude here either": {
			host:   &admin.Status{Version: "1", Started: now, Problems: []health.Problem{{Code: health.ClaudeUnusable, Severity: health.Error, Text: "it is gone"}}},
			before: []Finding{fault("claude_missing", "", "")},
		},
		"what the host knows": {
			host: &admin.Status{Version: "1", Started: now, Problems: []health.Problem{
				{Code: health.PluginFailed, Severity: health.Error, Text: "a has failed: no token"},
				{Code: health.DeadLetters, Severity: health.Warning, Text: "messages could not be delivered: 2"},
				{Code: health.ConfigWarning, Severity: health.Warning, Text: "which is found above"},
			}},
			want: "plugin_failed error a has failed: no token\ndead_letters warning messages could not be delivered: 2",
		},
		"none":               {want: "host_down warning no host runs with this config"},
		"none that can say":  {err: errors.New("it is busy"), want: "host error the host cannot be asked: it is busy"},
		"one that is silent": {err: errors.New("no answer"), before: []Finding{fault(codeLocked, "", "")}},
	} {
		o := Options{Command: "clawhost", Config: load(t, ""), Host: c.host, HostErr: c.err, Version: "1"}
		if got := said(findHost(o, c.before)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A service that does not start with the machine, or has ended, is found.
// Behaviour: doctor-host.
func TestService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state        service.State
		want, advice string
	}{
		"disabled": {
			service.State{Doing: "stopped"},
			"service_off warning the service does not start with the machine\nhost_down warning no host runs with this config: the service is stopped",
			"`systemctl --user enable clawhost.service` `systemctl --user start clawhost.service` ",
		},
		"failed": {
			service.State{Enabled: true, Doing: "failed", Failure: "it exited with the code 1"},
			"service_failed error the service does not run: it exited with the code 1",
			"`clawhost service logs` shows why. When that is corrected: `systemctl --user restart clawhost.service` ",
		},
	} {
		o := Options{Command: "clawhost", Config: load(t, ""), Service: &c.state, Manager: "systemctl --user"}
		list := append(findService(o), findHost(o, nil)...)
		advice := ""
		for _, f := range list {
			advice += f.Advice + " "
		}
		if got := said(list); got != c.want || advice != c.advice {
			t.Errorf("%s: %q, advice %q", name, got, advice)
		}
	}
}

// A host that has the database and does not answer is one fault, with why it does not.
// Behaviour: doctor-state.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	c := load(t, "plugin \"dice\" {\n  enabled = false\n}\n")
	s, err := store.Open(t.Context(), filepath.Join(c.StateDir, store.File), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := Examine(t.Context(), Options{Path: c.Path, Config: c, HostErr: errors.New("no answer within 10 s"), Demo: true})
	list = slices.DeleteFunc(list, func(f Finding) bool { return f.Severity != Error })
	if err != nil || len(list) != 1 || list[0].Code != "database_locked" ||
		!strings.Contains(list[0].Text, "another clawhost ") || !strings.HasSuffix(list[0].Text, ". It does not answer at its control socket: no answer within 10 s") {
		t.Errorf("got %+v, %v", list, err)
	}
}

// The check of a huge database ends, and says how to go on.
// Behaviour: doctor-state.
func TestDatabaseTooLarge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.File)
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := findDatabase(t.Context(), Options{}, path, 0); got.Code != "database_unchecked" || got.Severity != Warning || !strings.Contains(got.Advice, "sqlite3 "+path) {
		t.Errorf("without time: %+v", got)
	}
	if got := findDatabase(t.Context(), Options{}, path, time.Hour); got.Severity != Good {
		t.Errorf("with time: %+v", got)
	}
}

// The API is asked by the proxy by which Claude Code reaches it, and not at all if another provider has the model.
// Behaviour: doctor-online.
func TestAPI(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method + " " + r.URL.Host }))
	defer proxy.Close()
	c := load(t, `claude {
  env = {
    ANTHROPIC_BASE_URL = "http://model.invalid"
    HTTP_PROXY         = "`+proxy.URL+`"
  }
}`)
	list := findAPIs(t.Context(), Options{Config: c})
	if got := said(list); got != "" || list[0].Code != "api" {
		t.Fatalf("by the proxy: %q, %+v", got, list)
	}
	if got := <-asked; got != "HEAD model.invalid" {
		t.Errorf("the proxy was asked %q", got)
	}
	c = load(t, "claude {\n  env = {\n    CLAUDE_CODE_USE_BEDROCK = \"1\"\n  }\n}")
	if list := findAPIs(t.Context(), Options{Config: c}); len(list) != 0 {
		t.Errorf("another provider's: %+v", list)
	}
}

// An agent that needs git where there is none is found.
// Behaviour: doctor-machine.
func TestGit(t *testing.T) {
	c := load(t, "agent {\n  worktree = \"thread\"\n}\n")
	t.Setenv("PATH", t.TempDir())
	if got := said(findMachine(Options{Config: c})); got != "git error agent main works in git worktrees, and git is not installed" {
		t.Errorf("got %q", got)
	}
}

// Whoever may not read the variables of a service is told how to run as the service runs.
// Behaviour: doctor-state.
func TestAsAnotherUser(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.hcl")
	o := Options{Path: path}
	if got := as("claw", o); !strings.HasPrefix(got, "`sudo -u claw -H /") || !strings.HasSuffix(got, " -config "+path+" doctor`") {
		t.Errorf("without a file of variables: %s", got)
	}
	if err := os.WriteFile(variables(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := as("claw", o), "`sudo systemd-run --pipe --wait --uid=claw -p EnvironmentFile="+variables(path)+" /"; !strings.HasPrefix(got, want) {
		t.Errorf("with one: %s, want %s…", got, want)
	}
	if got := as(nameOf(os.Geteuid()), o); strings.Contains(got, "systemd-run") {
		t.Errorf("as its owner: %s", got)
	}
}

// What cannot be repaired stays, with why.
// Behaviour: doctor-fix.
func TestRepairFails(t *testing.T) {
	t.Parallel()
	f := open("state_open", "it is open", filepath.Join(t.TempDir(), "gone"), 0o700)
	if f.repair(); f.Fixed || !strings.Contains(f.Advice, ", as its owner: this user cannot (chmod ") {
		t.Errorf("got %+v", f)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := load(t, "")
	if list, err := Examine(ctx, Options{Path: c.Path, Config: c, Online: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", list, err)
	}
}
