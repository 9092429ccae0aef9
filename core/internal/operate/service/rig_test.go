package service_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/operate/service"
)

// fake is every command that an installation runs: it notes how it was called, and says what the file with its name has. With a file of
// errors it fails.
const fake = `#!/bin/sh
name=${0##*/}
echo "$name $*" >>"$FAKE/calls"
if [ -e "$FAKE/$name.errors" ]; then cat "$FAKE/$name.errors" >&2; exit 1; fi
case "$name $*" in
"systemctl "*show*) cat "$FAKE/show" ;;
systemctl*) ;;
*) [ ! -e "$FAKE/$name" ] || cat "$FAKE/$name" ;;
esac
`

// What systemd says about a service.
const (
	running = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nMainPID=7\nResult=success\nNRestarts=0\n" +
		"StateChangeTimestamp=Thu 2126-11-26 03:43:04 UTC\nStatusText=plugins running: 1 of 1; turns: 0\n"
	stopped   = "LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\nMainPID=0\nResult=success\nNRestarts=0\n"
	failing   = "LoadState=loaded\nActiveState=activating\nUnitFileState=enabled\nMainPID=0\nResult=exit-code\nExecMainStatus=1\nNRestarts=3\n"
	installed = "LoadState=loaded\nActiveState=inactive\nUnitFileState=disabled\nMainPID=0\nResult=success\nNRestarts=0\n"
	unknown   = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\nMainPID=0\nResult=success\nNRestarts=0\n"
)

// machine is a machine of its own: a root folder, and commands that do nothing.
type machine struct {
	*testing.T
	root, commands string
}

// newMachine returns a machine with an unpacked archive in /src, where systemd knows no service and no user clawhost exists.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t, t.TempDir(), t.TempDir()}
	for _, name := range []string{"systemctl", "loginctl", "journalctl", "useradd", "id", "chgrp", "chmod"} {
		m.must(os.WriteFile(filepath.Join(m.commands, name+".sh"), []byte(fake), 0o600))
		m.must(os.Chmod(filepath.Join(m.commands, name+".sh"), 0o700))
		m.must(os.Rename(filepath.Join(m.commands, name+".sh"), filepath.Join(m.commands, name)))
	}
	state := t.TempDir()
	t.Setenv("FAKE", state)
	t.Setenv("PATH", m.commands+":/usr/bin:/bin")
	m.says("show", unknown)
	m.says("id.errors", "id: 'clawhost': no such user\n")
	m.writes("/src/bin/clawhost", "the host", 0o755)
	m.writes("/src/bin/claude-stub", "the stand-in", 0o755)
	m.writes("/src/bin/clawhost-webchat", "the web chat", 0o755)
	m.writes("/src/bin/README", "no program", 0o644)
	m.writes("/src/config.hcl", "# the config\n", 0o644)
	m.writes("/etc/systemd/system/README", "", 0o644)
	return m
}

func (m *machine) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// says lets a command print a text.
func (m *machine) says(name, text string) {
	m.Helper()
	m.must(os.WriteFile(filepath.Join(os.Getenv("FAKE"), name), []byte(text), 0o600))
}

// hasUser lets the user clawhost exist, with the group of this process.
func (m *machine) hasUser() {
	m.Helper()
	m.must(os.Remove(filepath.Join(os.Getenv("FAKE"), "id.errors")))
	m.says("id", strconv.Itoa(os.Getgid())+"\n")
}

// calls are the commands that were run since the last call, but for questions.
func (m *machine) calls() []string {
	m.Helper()
	path := filepath.Join(os.Getenv("FAKE"), "calls")
	text, _ := os.ReadFile(path)
	m.must(os.WriteFile(path, nil, 0o600))
	var list []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.Contains(line, " show ") && !strings.HasPrefix(line, "id ") {
			list = append(list, line)
		}
	}
	return list
}

func (m *machine) writes(path, text string, mode fs.FileMode) {
	m.Helper()
	path = filepath.Join(m.root, path)
	m.must(os.MkdirAll(filepath.Dir(path), 0o755))
	m.must(os.WriteFile(path, []byte(text), mode))
	m.must(os.Chmod(path, mode))
}

// has is the text of a file and its permissions; empty: there is none.
func (m *machine) has(path string) (string, fs.FileMode) {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil {
		return "", 0
	}
	info, err := os.Stat(filepath.Join(m.root, path))
	m.must(err)
	return string(text), info.Mode().Perm()
}

// system is the service of the system, from the archive.
func (m *machine) system() *service.Service {
	return service.New(service.Options{Program: "/src/bin/clawhost", Config: "/src/config.hcl", Root: m.root})
}

// user is a service of a user.
func (m *machine) user() *service.Service {
	return service.New(service.Options{
		PerUser: true, Program: "/src/bin/clawhost", Config: "/src/config.hcl", Path: "/usr/bin:/home/anna/50% of it/bin", UnitFolder: "/home/anna/.config/systemd/user",
		Root: m.root,
	})
}

// plans returns the steps of an installation.
func (m *machine) plans(s *service.Service, force bool) (*service.Plan, []string) {
	m.Helper()
	p, err := s.Install(m.Context(), force)
	m.must(err)
	return p, steps(p)
}

// installs installs a service, and lets systemd say that it runs.
func (m *machine) installs(s *service.Service) {
	m.Helper()
	p, _ := m.plans(s, false)
	m.must(s.Do(m.Context(), p))
	m.says("show", running)
	if !s.PerUser {
		m.hasUser()
		m.must(os.Chmod(filepath.Join(m.root, "/etc/clawhost"), 0o750))
	}
	m.calls()
}

func steps(p *service.Plan) (list []string) {
	for _, step := range p.Steps {
		list = append(list, step.String())
	}
	return list
}
