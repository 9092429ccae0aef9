package service

import (
	"context"
	"os"
	"path/filepath"
)

// Uninstall plans what takes the service away: all that an installation made, but for the config, what the host keeps, and its user.
func (s *Service) Uninstall(ctx context.Context) (*Plan, error) {
	state, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	if state.Installed && (state.Enabled || state.wants()) {
		p.add(s.systemctl("disable", "--now", Unit))
	}
	if !s.PerUser && s.packaged() {
		p.note("the programs and the unit are a package's, which `apt remove clawhost` or `dnf remove clawhost` removes")
		return p, nil
	}
	if s.Installed() {
		p.add(removed{path: s.UnitPath()}, s.systemctl("daemon-reload"))
	}
	if dropIns := s.UnitPath() + dropIns; s.exists(dropIns) {
		p.note("%s is kept", dropIns)
	}
	if s.PerUser {
		return p, nil
	}
	list, _ := os.ReadDir(s.at(programs))
	for _, entry := range list {
		if isProgram(entry.Name()) {
			p.add(removed{path: filepath.Join(programs, entry.Name())})
		}
	}
	if list != nil {
		p.add(removed{programs, true}, removed{filepath.Dir(programs), true})
	}
	return p, nil
}
