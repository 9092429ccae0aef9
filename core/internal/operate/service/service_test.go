package service_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/operate/service"
	"github.com/clawhost/clawhost/docs"
)

// Behaviour: service.
func TestInstallForTheSystem(t *testing.T) {
	m := newMachine(t)
	m.writes("/src/env", "TOKEN=secret\n", 0o600)
	s := m.system()
	p, list := m.plans(s, false)
	want := []string{
		"useradd --system --user-group --create-home --home-dir /var/lib/clawhost --shell /usr/sbin/nologin clawhost",
		"chmod 0700 /var/lib/clawhost",
		"make the folder /opt/clawhost (0755)",
		"make the folder /opt/clawhost/bin (0755)",
		"copy /src/bin/claude-stub to /opt/clawhost/bin/claude-stub (0755)",
		"copy /src/bin/clawhost to /opt/clawhost/bin/clawhost (0711)",
		"copy /src/bin/clawhost-webchat to /opt/clawhost/bin/clawhost-webchat (0755)",
		"make the folder /etc/clawhost (0750)",
		"copy /src/config.hcl to /etc/clawhost/config.hcl (0640)",
		"copy /src/env to /etc/clawhost/env (0600)",
		"chgrp clawhost /etc/clawhost",
		"chgrp clawhost /etc/clawhost/config.hcl",
		"write /etc/systemd/system/clawhost.service (0644)",
		"systemctl daemon-reload",
		"systemctl enable clawhost.service",
		"systemctl start clawhost.service",
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if text, _ := m.has("/etc/systemd/system/clawhost.service"); text != "" || len(m.calls()) > 0 {
		t.Error("a plan was done without being asked for")
	}
	m.must(s.Do(t.Context(), p))
	ran := slices.DeleteFunc(slices.Clone(want), func(step string) bool {
		return strings.HasPrefix(step, "make ") || strings.HasPrefix(step, "copy ") || strings.HasPrefix(step, "write ")
	})
	if diff := cmp.Diff(ran, m.calls()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{
		"/opt/clawhost/bin/clawhost":         "the host -rwx--x--x",
		"/opt/clawhost/bin/clawhost-webchat": "the web chat -rwxr-xr-x",
		"/etc/clawhost/config.hcl":           "# the config\n -rw-r-----",
		"/etc/clawhost/env":                  "TOKEN=secret\n -rw-------",
	} {
		if text, mode := m.has(path); text+" "+mode.String() != want {
			t.Errorf("%s has %q and %s, want %q", path, text, mode, want)
		}
	}
	unit, _ := m.has("/etc/systemd/system/clawhost.service")
	if _, rest, _ := strings.Cut(unit, "\n"); rest != docs.Unit {
		t.Errorf("the unit is not the shipped one:\n%s", cmp.Diff(docs.Unit, rest))
	}
	if s.InstalledProgram() != "/opt/clawhost/bin/clawhost" || s.ConfigPath() != "/etc/clawhost/config.hcl" {
		t.Errorf("the unit starts %s with %s", s.InstalledProgram(), s.ConfigPath())
	}
}

// Behaviour: service-upgrade.
func TestUpgrade(t *testing.T) {
	m := newMachine(t)
	s := m.system()
	m.installs(s)
	if _, list := m.plans(s, false); len(list) > 0 {
		t.Errorf("nothing has changed, and it would do %q", list)
	}

	m.writes("/src/bin/clawhost-webchat", "the newer web chat", 0o755)
	old, err := os.Open(filepath.Join(m.root, "/opt/clawhost/bin/clawhost-webchat"))
	m.must(err)
	defer old.Close()
	p, list := m.plans(s, false)
	want := []string{"copy /src/bin/clawhost-webchat to /opt/clawhost/bin/clawhost-webchat (0755)", "systemctl restart clawhost.service"}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	m.must(s.Do(t.Context(), p))
	if text, err := io.ReadAll(old); err != nil || string(text) != "the web chat" {
		t.Errorf("who runs the old program reads %q, %v", text, err)
	}
	if text, _ := m.has("/opt/clawhost/bin/clawhost-webchat"); text != "the newer web chat" {
		t.Errorf("the new program is %q", text)
	}
	if left, _ := filepath.Glob(filepath.Join(m.root, "/opt/clawhost/bin/.*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}

	m.writes("/src/bin/clawhost", "the newest host", 0o755)
	for _, tc := range []struct {
		name, show, last, note string
	}{
		{"stopped", stopped, "copy /src/bin/clawhost to /opt/clawhost/bin/clawhost (0711)", "the service is stopped, and stays so: `systemctl start clawhost.service` starts it"},
		{"failing", failing, "systemctl restart clawhost.service", ""},
		{"disabled", installed, "systemctl start clawhost.service", ""},
	} {
		m.says("show", tc.show)
		p, list := m.plans(s, false)
		if last := list[len(list)-1]; last != tc.last || strings.Join(p.Notes, "") != tc.note {
			t.Errorf("%s: the last step is %q, and it says %q", tc.name, last, p.Notes)
		}
	}
}

// A program that is newer than the host that runs takes a restart, though nothing is copied.
func TestUpgradeInPlace(t *testing.T) {
	m := newMachine(t)
	s := m.user()
	m.installs(s)
	if _, list := m.plans(s, false); len(list) > 0 {
		t.Errorf("nothing has changed, and it would do %q", list)
	}
	m.says("show", strings.Replace(running, "2126", "2020", 1))
	if _, list := m.plans(s, false); !slices.Equal(list, []string{"systemctl --user restart clawhost.service"}) {
		t.Errorf("the programs are newer, and it would do %q", list)
	}
}

// Behaviour: service-kept.
func TestEditedUnitIsKept(t *testing.T) {
	const path = "/etc/systemd/system/clawhost.service"
	for _, tc := range []struct {
		name string
		edit func(string) string
		kept bool
	}{
		{"edited", func(unit string) string { return strings.Replace(unit, "RestartSec=2", "RestartSec=9", 1) }, true},
		{"of an administrator", func(string) string { return "[Service]\nExecStart=/usr/local/bin/claw\n" }, true},
		{"an older one, installed by hand", func(string) string { return docs.Unit }, false},
	} {
		m := newMachine(t)
		s := m.system()
		m.installs(s)
		unit, _ := m.has(path)
		m.writes(path, tc.edit(unit), 0o644)
		p, list := m.plans(s, false)
		if kept := len(list) == 0; kept != tc.kept {
			t.Errorf("%s: it would do %q", tc.name, list)
		}
		if notes := strings.Join(p.Notes, "\n"); strings.Contains(notes, "was edited, and is kept; `-force` replaces it") != tc.kept {
			t.Errorf("%s: it says %q", tc.name, notes)
		}
		p, list = m.plans(s, true)
		if len(list) != 3 || !strings.HasPrefix(list[0], "write "+path+" (0644), changed:\n") {
			t.Errorf("%s: with force it would do %q", tc.name, list)
		}
		m.must(s.Do(t.Context(), p))
		if text, _ := m.has(path); text != unit {
			t.Errorf("%s: with force the unit is %q", tc.name, text)
		}
	}
}

// A unit that an older version wrote differs, and nobody has edited it.
func TestOlderUnitIsReplaced(t *testing.T) {
	m := newMachine(t)
	older := service.New(service.Options{PerUser: true, Program: "/src/bin/clawhost", Config: "/src/other.hcl", Path: "/usr/bin", UnitFolder: "/home/anna/.config/systemd/user", Root: m.root})
	m.installs(older)
	_, list := m.plans(m.user(), false)
	const want = `write /home/anna/.config/systemd/user/clawhost.service (0644), changed:
- ExecStart=/src/bin/clawhost -config /src/other.hcl
- ExecReload=/src/bin/clawhost -config /src/other.hcl reload
- Environment=PATH=/usr/bin
+ ExecStart=/src/bin/clawhost -config /src/config.hcl
+ ExecReload=/src/bin/clawhost -config /src/config.hcl reload
+ Environment="PATH=/usr/bin:/home/anna/50%% of it/bin"`
	if len(list) != 3 || withoutSums(list[0]) != want {
		t.Errorf("it would do %s", strings.Join(list, "\n"))
	}
}

// withoutSums is a text without the lines that have the sum of a unit.
func withoutSums(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, "sum: ") })
	return strings.Join(lines, "\n")
}

// Behaviour: service-kept.
func TestConfigIsKept(t *testing.T) {
	m := newMachine(t)
	m.writes("/etc/clawhost/config.hcl", "# mine\n", 0o600)
	m.writes("/etc/clawhost/env", "TOKEN=mine\n", 0o600)
	s := m.system()
	p, list := m.plans(s, false)
	if notes := strings.Join(p.Notes, "\n"); notes != "/etc/clawhost/config.hcl is kept; /src/config.hcl differs from it" {
		t.Errorf("it says %q", notes)
	}
	if !slices.Contains(list, "chmod 0640 /etc/clawhost/config.hcl") {
		t.Errorf("the service could not read the config: %q", list)
	}
	m.must(s.Do(t.Context(), p))
	for path, want := range map[string]string{"/etc/clawhost/config.hcl": "# mine\n", "/etc/clawhost/env": "TOKEN=mine\n"} {
		if text, _ := m.has(path); text != want {
			t.Errorf("%s has %q", path, text)
		}
	}
	s.Named = true
	if _, err := s.Install(t.Context(), true); err == nil || err.Error() != "/etc/clawhost/config.hcl exists, and differs from /src/config.hcl: change it there, or remove it" {
		t.Errorf("a config that was named is ignored: %v", err)
	}
}

// What a package has installed stays the package's.
func TestPackage(t *testing.T) {
	m := newMachine(t)
	m.writes("/usr/lib/systemd/system/clawhost.service", docs.Unit, 0o644)
	m.writes("/usr/lib/clawhost/clawhost", "the host", 0o711)
	m.writes("/etc/clawhost/config.hcl", "# mine\n", 0o640)
	m.says("show", installed)
	m.hasUser()
	if _, err := m.system().Install(t.Context(), false); err == nil || !strings.Contains(err.Error(), "a package of this system has installed the service") {
		t.Errorf("an archive replaces a package: %v", err)
	}
	s := service.New(service.Options{Program: "/usr/lib/clawhost/clawhost", Config: "/etc/clawhost/config.hcl", Root: m.root})
	_, list := m.plans(s, false)
	want := []string{"write /etc/clawhost/env (0600), empty", "systemctl enable clawhost.service", "systemctl start clawhost.service"}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	m.says("show", running)
	p, err := s.Uninstall(t.Context())
	m.must(err)
	if list := steps(p); !slices.Equal(list, []string{"systemctl disable --now clawhost.service"}) || !strings.Contains(strings.Join(p.Notes, ""), "apt remove") {
		t.Errorf("it would do %q and says %q", list, p.Notes)
	}
}

// Behaviour: service-uninstall.
func TestUninstall(t *testing.T) {
	m := newMachine(t)
	s := m.system()
	m.installs(s)
	m.writes("/opt/clawhost/bin/clawhost-mine", "a plugin", 0o755)
	m.writes("/opt/clawhost/notes", "of an administrator", 0o644)
	m.writes("/etc/systemd/system/clawhost.service.d/mine.conf", "[Service]\n", 0o644)
	p, err := s.Uninstall(t.Context())
	m.must(err)
	m.must(s.Do(t.Context(), p))
	if diff := cmp.Diff([]string{"systemctl disable --now clawhost.service", "systemctl daemon-reload"}, m.calls()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/etc/systemd/system/clawhost.service", "/opt/clawhost/bin"} {
		if _, err := os.Stat(filepath.Join(m.root, path)); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range []string{"/etc/clawhost/config.hcl", "/etc/clawhost/env", "/opt/clawhost/notes", "/etc/systemd/system/clawhost.service.d/mine.conf"} {
		if _, err := os.Stat(filepath.Join(m.root, path)); err != nil {
			t.Errorf("it is not kept: %v", err)
		}
	}
	if notes := strings.Join(p.Notes, ""); notes != "/etc/systemd/system/clawhost.service.d is kept" {
		t.Errorf("it says %q", notes)
	}
	m.says("show", strings.Replace(unknown, "inactive", "failed", 1))
	m.must(os.RemoveAll(filepath.Join(m.root, "/opt/clawhost")))
	if p, err := s.Uninstall(t.Context()); err != nil || len(p.Steps) > 0 {
		t.Errorf("there is nothing, and it would do %q, %v", steps(p), err)
	}
}

// An error names the command, and what it said first.
func TestCommandErrors(t *testing.T) {
	m := newMachine(t)
	s := m.system()
	p, _ := m.plans(s, false)
	m.says("useradd.errors", "\nuseradd: cannot lock /etc/passwd; try again later.\n"+strings.Repeat("more\n", 100_000))
	err := s.Do(t.Context(), p)
	const want = "`useradd --system --user-group --create-home --home-dir /var/lib/clawhost --shell /usr/sbin/nologin clawhost` failed: " +
		"useradd: cannot lock /etc/passwd; try again later."
	if err == nil || err.Error() != want {
		t.Errorf("error: %v", err)
	}
	if calls := m.calls(); len(calls) != 1 {
		t.Errorf("it went on after an error: %q", calls)
	}
	m.says("useradd.errors", strings.Repeat("x", 1_000_000))
	if err := s.Do(t.Context(), p); err == nil || len(err.Error()) > 1000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

// Behaviour: service-elsewhere.
func TestWithoutSystemd(t *testing.T) {
	m := newMachine(t)
	none, booted := "systemd does not run on this machine", "this user has no service manager in this session"
	for _, tc := range []struct {
		of   *service.Service
		says string
		want string
	}{
		{m.system(), "System has not been booted with systemd as init system (PID 1). Can't operate.\n", none},
		{m.user(), "Failed to connect to bus: No medium found\n", none},
		{m.system(), "Access denied\n", "`systemctl show clawhost.service"},
	} {
		m.says("systemctl.errors", tc.says)
		if _, err := tc.of.Install(t.Context(), false); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.says, err)
		}
	}
	m.writes("/run/systemd/system/x", "", 0o644)
	m.says("systemctl.errors", "Failed to connect to bus: No medium found\n")
	if _, err := m.user().State(t.Context()); err == nil || !strings.HasPrefix(err.Error(), booted) {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := m.system().State(t.Context()); err == nil || !strings.HasPrefix(err.Error(), none) {
		t.Error(err)
	}
}

// Behaviour: service-status.
func TestState(t *testing.T) {
	m := newMachine(t)
	for _, tc := range []struct {
		show          string
		doing         string
		there, runs   bool
		failure, says string
	}{
		{unknown, "stopped", false, false, "", ""},
		{stopped, "stopped", true, false, "", ""},
		{running, "running", true, true, "", "plugins running: 1 of 1; turns: 0"},
		{failing, "starting", true, false, "it exited with the code 1", ""},
		{strings.Replace(failing, "exit-code", "watchdog", 1), "starting", true, false, "it hung, and systemd ended it", ""},
		{strings.Replace(failing, "exit-code", "new-in-systemd", 1), "starting", true, false, "new-in-systemd", ""},
	} {
		m.says("show", tc.show)
		state, err := m.system().State(t.Context())
		m.must(err)
		if state.Doing != tc.doing || state.Installed != tc.there || state.Running != tc.runs || state.Failure != tc.failure || state.Says != tc.says {
			t.Errorf("%q is %+v", tc.show, state)
		}
	}
	m.says("show", running)
	if state, err := m.system().State(t.Context()); err != nil || state.Since.Format("2006-01-02 15:04:05 -0700") != "2126-11-26 03:43:04 +0000" {
		t.Errorf("since %s, %v", state.Since, err)
	}
}

func TestLog(t *testing.T) {
	m := newMachine(t)
	m.says("journalctl", "one\ntwo\xff\n")
	var lines []string
	m.must(m.user().Log(t.Context(), 20, true, func(line string) { lines = append(lines, line) }))
	m.must(m.system().Log(t.Context(), 0, false, func(string) {}))
	if !slices.Equal(lines, []string{"one", "two?"}) {
		t.Errorf("lines %q", lines)
	}
	want := []string{
		"journalctl --no-pager --quiet --lines=20 --user-unit=clawhost.service --follow", "journalctl --no-pager --quiet --lines=0 --unit=clawhost.service",
	}
	if diff := cmp.Diff(want, m.calls()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	m.says("journalctl.errors", "No journal files were found.\n")
	var failed *service.CommandError
	if err := m.system().Log(t.Context(), 1, false, func(string) {}); !errors.As(err, &failed) || failed.Complaint != "No journal files were found." {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := m.system().Log(ended, 1, true, func(string) {}); err != nil {
		t.Errorf("a person has stopped it: %v", err)
	}
}

// Paths arrive in the unit as they are, whatever systemd replaces or splits.
func TestPathsInTheUnit(t *testing.T) {
	m := newMachine(t)
	for _, path := range []string{"/src/bin/clawhost", "/home/anna/50% of $HOME/claw", "/home/anna/Über uns/claw"} {
		s := m.user()
		s.Program, s.Config = path, path+`"\'.hcl`
		m.installs(s)
		if s.InstalledProgram() != path || s.ConfigPath() != s.Config {
			t.Errorf("%s and %s became %s and %s", path, s.Config, s.InstalledProgram(), s.ConfigPath())
		}
	}
	s := m.user()
	s.Config = "/home/anna/two\nlines"
	if _, err := s.Install(t.Context(), false); err == nil || !strings.Contains(err.Error(), "control character") {
		t.Error(err)
	}
	s = m.user()
	s.Program = `/home/anna/"quoted"/clawhost`
	if _, err := s.Install(t.Context(), false); err == nil || !strings.Contains(err.Error(), "quotes or a backslash") {
		t.Error(err)
	}
}

// Systemd accepts the units, and does with their words what is meant.
func TestSystemdVerifies(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("systemd-analyze is not installed")
	}
	m := newMachine(t)
	program := filepath.Join(t.TempDir(), `a 50% $HOME program`)
	m.must(os.Symlink("/bin/true", program))
	for _, s := range []*service.Service{m.system(), m.user()} {
		s.Program = program
		if !s.PerUser {
			s.Program = "/src/bin/clawhost"
		}
		s.Config = `/src/a "50%" config`
		m.writes(s.Config, "", 0o644)
		p, _ := m.plans(s, false)
		m.must(s.Do(t.Context(), p))
		args := []string{"--man=no", "verify"}
		if s.PerUser {
			args = append([]string{"--user"}, args...)
		}
		unit := filepath.Join(t.TempDir(), service.Unit)
		text, _ := m.has(s.UnitPath())
		m.must(os.WriteFile(unit, []byte(strings.ReplaceAll(text, "=/opt/clawhost/bin/clawhost ", "=/bin/true ")), 0o600))
		command := exec.CommandContext(t.Context(), analyze, append(args, unit)...)
		command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s\n%s", s.UnitPath(), err, out, text)
		}
	}
}
