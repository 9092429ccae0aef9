package scripts_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// shelves is a network that has the files of people's messages until they are fetched.
type shelves interface {
	// served is how many files were asked for.
	served() int
}

func (t *telegram) served() int { return len(t.Calls("download")) }

func (d *discord) served() int { return d.Fetched() }

func (w *whatsapp) served() int { return w.Fetched() }

// served is the command of the same name.
func (s *stage) served(_ *testscript.TestScript, args []string) error {
	b := s.bots[args[0]]
	if b == nil {
		return fmt.Errorf("there is no bot %q", args[0])
	}
	n, ok := b.network.(shelves)
	if !ok {
		return errors.New("no one counts the files of this network")
	}
	if want, err := strconv.Atoi(args[1]); err != nil || n.served() != want {
		return fmt.Errorf("%d files were fetched, want %s", n.served(), args[1])
	}
	return nil
}

// disk is the command of the same name: the folder becomes a disk of its own.
func (s *stage) disk(_ *testscript.TestScript, args []string) error {
	dir := filepath.Join(s.dir, args[0])
	options := "size=" + args[1]
	if s.disks[dir] {
		options += ",remount"
	}
	if out, err := exec.CommandContext(s.ctx, "mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	s.disks[dir] = true
	return nil
}

// removeDisks is called once the host has ended.
func (s *stage) removeDisks() {
	for dir := range s.disks {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			s.t.Errorf("umount: %v: %s", err, out)
		}
	}
}

// condition tells what a script can ask for: whether the tests may mount.
func condition(name string) (bool, error) {
	if name != "mounts" {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	_, err := exec.LookPath("mount")
	return err == nil && os.Getuid() == 0, nil
}
