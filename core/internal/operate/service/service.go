// Package service makes a host a service of systemd, of the system or of a user. What is to be done is a list of steps, which people read
// before it is done.
package service

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/docs"
)

// Names of a service of the system, as docs/operations.md has them.
const (
	Unit = "clawhost.service"
	User = "clawhost"
	Home = "/var/lib/clawhost" // of User

	settings     = "/etc/clawhost"
	Config       = settings + "/config.hcl"
	variables    = settings + "/env"
	programs     = "/opt/clawhost/bin"
	host         = "clawhost" // the file name of the host's binary
	unit         = "/etc/systemd/system/" + Unit
	packaged     = "/usr/lib/clawhost" // where packages have the programs
	packagedUnit = "/usr/lib/systemd/system/" + Unit
	dropIns      = ".d" // behind the path of a unit
)

// Options are which service is meant, and what it is made of.
type Options struct {
	PerUser    bool   // a service of this user, not of the system
	Program    string // the absolute path of the host's binary
	Config     string // the absolute path of the config file; not needed to uninstall
	Named      bool   // Config was named by a person, not found
	Path       string // the variable PATH of a service of this user
	UnitFolder string // of this user's units
	Root       string // the folder that stands for /; empty: /
}

// Service is a service of systemd, installed or not.
type Service struct{ Options }

// New returns a service.
func New(options Options) *Service { return &Service{options} }

// UnitPath is the path of the service's unit.
func (s *Service) UnitPath() string {
	switch {
	case s.PerUser:
		return filepath.Join(s.UnitFolder, Unit)
	case s.packaged():
		return packagedUnit
	}
	return unit
}

// Installed reports whether the service has a unit.
func (s *Service) Installed() bool { return s.exists(s.UnitPath()) }

// packaged reports whether a package of the system has installed the service.
func (s *Service) packaged() bool { return s.exists(packagedUnit) }

// ConfigPath is the path of the config file that the installed service has; empty: that is unknown.
func (s *Service) ConfigPath() string {
	_, config := s.starts()
	return config
}

// ConfigToBe is the config file with the text that the service will have: that of the options, or the one that an installation keeps.
func (s *Service) ConfigToBe() string {
	if !s.PerUser && s.exists(Config) {
		return Config
	}
	return s.Config
}

// InstalledProgram is the path of the host's binary that the installed service has; empty: that is unknown.
func (s *Service) InstalledProgram() string {
	program, _ := s.starts()
	return program
}

// starts is what the unit starts.
func (s *Service) starts() (program, config string) {
	text, err := os.ReadFile(s.at(s.UnitPath()))
	if err != nil {
		return "", ""
	}
	return startOf(string(text))
}

// Finds reports whether the service finds a program.
func (s *Service) Finds(program string) bool {
	if filepath.IsAbs(program) {
		return s.exists(program)
	}
	for _, folder := range filepath.SplitList(s.SearchPath()) {
		if info, err := os.Stat(s.at(filepath.Join(folder, program))); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// SearchPath is the variable PATH of the service.
func (s *Service) SearchPath() string {
	if s.PerUser {
		return s.Path
	}
	_, path, _ := strings.Cut(docs.Unit, "\nEnvironment=PATH=")
	path, _, _ = strings.Cut(path, "\n")
	return path
}

// at is where a path is below the root.
func (s *Service) at(path string) string { return filepath.Join(s.Root, path) }

// exists reports whether something is at a path, as far as this user can see.
func (s *Service) exists(path string) bool {
	_, err := os.Stat(s.at(path))
	return !errors.Is(err, fs.ErrNotExist)
}

// systemctl is a command for the service's manager.
func (s *Service) systemctl(args ...string) command {
	if s.PerUser {
		args = append([]string{"--user"}, args...)
	}
	return append(command{"systemctl"}, args...)
}

// Lingers reports whether this user's services run without a session of the user.
func (s *Service) Lingers(ctx context.Context, uid string) bool {
	said, err := run(ctx, command{"loginctl", "show-user", uid, "--property=Linger", "--value"})
	return err == nil && strings.TrimSpace(said) == "yes"
}

// same reports whether a file has a text.
func (s *Service) same(path string, text []byte) bool {
	there, err := os.ReadFile(s.at(path))
	return err == nil && bytes.Equal(there, text)
}

// mode returns the permissions of a file, and false if there is none.
func (s *Service) mode(path string) (fs.FileMode, bool, error) {
	info, err := os.Stat(s.at(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	return info.Mode().Perm(), true, nil
}
