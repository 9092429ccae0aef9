package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Install plans an installation, or what an upgrade changes. A unit that was edited is replaced only with force.
func (s *Service) Install(ctx context.Context, force bool) (*Plan, error) {
	state, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	program, config := s.Program, s.Config
	if s.PerUser {
		p.add(s.folderIfMissing(s.UnitFolder, 0o755)...)
	} else {
		if program, err = s.installSystem(ctx, p); err != nil {
			return nil, err
		}
		config = Config
	}
	reload := state.stale
	if !s.packaged() || s.PerUser {
		differs, err := s.installUnit(p, program, config, force)
		if err != nil {
			return nil, err
		}
		reload = reload || differs
	}
	changed := len(p.Steps) > 0 || s.newer(program, state)
	if reload {
		p.add(s.systemctl("daemon-reload"))
	}
	if !state.Enabled {
		p.add(s.systemctl("enable", Unit))
	}
	switch {
	case state.Running && !changed: // it runs as it should
	case state.wants():
		p.add(s.systemctl("restart", Unit))
	case !state.Enabled:
		p.add(s.systemctl("start", Unit))
	default:
		p.note("the service is stopped, and stays so: `%s` starts it", s.systemctl("start", Unit))
	}
	return p, nil
}

// installSystem plans what a service of the system has besides its unit. It returns the path of the host's binary.
func (s *Service) installSystem(ctx context.Context, p *Plan) (program string, err error) {
	from := filepath.Dir(s.Program)
	if s.packaged() && from != packaged {
		return "", fmt.Errorf("a package of this system has installed the service (%s): install the package's newer version, or remove it first", packagedUnit)
	}
	group, err := s.group(ctx)
	if err != nil {
		return "", err
	}
	if group < 0 {
		p.add(command{"useradd", "--system", "--user-group", "--create-home", "--home-dir", Home, "--shell", "/usr/sbin/nologin", User},
			command{"chmod", "0700", Home})
	}
	program = s.Program
	if from != programs && from != packaged {
		program = filepath.Join(programs, host)
		p.add(s.folderIfMissing(filepath.Dir(programs), 0o755)...)
		p.add(s.folderIfMissing(programs, 0o755)...)
		if err := s.copyPrograms(p, from); err != nil {
			return "", err
		}
	}
	p.add(s.folderIfMissing(settings, 0o750)...)
	if err := s.copySettings(p); err != nil {
		return "", err
	}
	return program, s.shareSettings(p, group)
}

// shareSettings plans that the host's group may read the config, and not write it.
func (s *Service) shareSettings(p *Plan, group int) error {
	for _, shared := range []struct {
		path string
		mode fs.FileMode
	}{{settings, 0o750}, {Config, 0o640}} {
		mode, there, err := s.mode(shared.path)
		if err != nil {
			return err
		}
		if group < 0 || s.groupOf(shared.path) != group {
			p.add(command{"chgrp", User, shared.path})
		}
		if needs := shared.mode & 0o070; there && mode&needs != needs {
			p.add(command{"chmod", fmt.Sprintf("%04o", shared.mode), shared.path})
		}
	}
	return nil
}

// copyPrograms plans the copies of the programs that are not installed as they are: the host's, which its user may execute but not read, the
// stand-in for claude and the plugins.
func (s *Service) copyPrograms(p *Plan, from string) error {
	list, err := os.ReadDir(s.at(from))
	if err != nil {
		return err
	}
	for _, entry := range list {
		name, mode := entry.Name(), fs.FileMode(0o755)
		if !entry.Type().IsRegular() || !isProgram(name) {
			continue
		}
		if name == host {
			mode = 0o711
		}
		if err := s.copyIfDifferent(p, copied{filepath.Join(from, name), filepath.Join(programs, name), mode}); err != nil {
			return err
		}
	}
	return nil
}

// isProgram reports whether a file name is that of the host, its stand-in for claude or a plugin.
func isProgram(name string) bool {
	return name == host || name == "claude-stub" || strings.HasPrefix(name, host+"-")
}

// copySettings plans the config and the file of variables. Those that exist stay as they are.
func (s *Service) copySettings(p *Plan) error {
	text, err := os.ReadFile(s.at(s.Config))
	switch {
	case err != nil:
		return err
	case !s.exists(Config):
		p.add(copied{s.Config, Config, 0o640})
	case s.same(Config, text):
	case s.Named:
		return fmt.Errorf("%s exists, and differs from %s: change it there, or remove it", Config, s.Config)
	default:
		p.note("%s is kept; %s differs from it", Config, s.Config)
	}
	if s.exists(variables) {
		return nil
	}
	if beside := config.VariablesPath(s.Config); s.exists(beside) {
		p.add(copied{beside, variables, 0o600})
	} else {
		p.add(file{path: variables, mode: 0o600})
	}
	return nil
}

// installUnit plans the unit, unless it is there already or a person has edited it. It reports whether it will be written.
func (s *Service) installUnit(p *Plan, program, config string, force bool) (differs bool, err error) {
	text, err := s.unitText(program, config)
	if err != nil {
		return false, err
	}
	path := s.UnitPath()
	there, err := os.ReadFile(s.at(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.add(file{path: path, mode: 0o644, text: text})
		return true, nil
	case err != nil:
		return false, err
	case string(there) == text:
		return false, nil
	case edited(string(there), text) && !force:
		p.note("%s was edited, and is kept; `-force` replaces it, and a drop-in by `%s` would stay. It differs:\n%s",
			path, s.systemctl("edit", Unit), differences(string(there), text))
		return false, nil
	}
	p.add(file{path, 0o644, text, differences(string(there), text)})
	return true, nil
}

// group is the group of the host's user; negative: there is no such user.
func (s *Service) group(ctx context.Context) (int, error) {
	said, err := run(ctx, command{"id", "-g", User})
	switch {
	case code(err) == 1:
		return -1, nil
	case err != nil:
		return 0, err
	}
	group, err := strconv.Atoi(strings.TrimSpace(said))
	if err != nil {
		return 0, fmt.Errorf("the group of the user %s is unknown: %w", User, err)
	}
	return group, nil
}

// groupOf is the group of a file; negative: there is no such file.
func (s *Service) groupOf(path string) int {
	info, err := os.Stat(s.at(path))
	if err != nil {
		return -1
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Gid)
	}
	return -1
}

// folderIfMissing plans a folder.
func (s *Service) folderIfMissing(path string, mode fs.FileMode) []Step {
	if s.exists(path) {
		return nil
	}
	return []Step{folder{path, mode}}
}

// copyIfDifferent plans a copy, if it would change something.
func (s *Service) copyIfDifferent(p *Plan, c copied) error {
	mode, there, err := s.mode(c.to)
	if err != nil {
		return err
	}
	if there && mode == c.mode {
		same, err := equal(s.at(c.from), s.at(c.to))
		if err != nil || same {
			return err
		}
	}
	p.add(c)
	return nil
}

// equal reports whether two files have the same text.
func equal(one, other string) (bool, error) {
	a, err := os.Open(one)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(other)
	if err != nil {
		return false, err
	}
	defer b.Close()
	const size = 64 << 10
	for left, right := make([]byte, size), make([]byte, size); ; {
		n, err := io.ReadFull(a, left)
		m, otherErr := io.ReadFull(b, right)
		if !bytes.Equal(left[:n], right[:m]) {
			return false, nil
		}
		switch {
		case ended(err) && ended(otherErr):
			return true, nil
		case err != nil || otherErr != nil:
			return false, errors.Join(err, otherErr)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// newer reports whether a program, or a plugin beside it, was written after the host that runs was started.
func (s *Service) newer(program string, state State) bool {
	if !state.Running || state.Since.IsZero() {
		return false
	}
	list, _ := os.ReadDir(s.at(filepath.Dir(program)))
	for _, entry := range list {
		info, err := entry.Info()
		if err == nil && isProgram(entry.Name()) && info.ModTime().Truncate(time.Second).After(state.Since) {
			return true
		}
	}
	return false
}
