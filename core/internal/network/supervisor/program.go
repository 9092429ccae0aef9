package supervisor

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
)

// program is what a plugin's process executes: a sealed copy of the plugin's binary or, if that is impossible, the binary
// itself.
type program struct {
	name   string // the plugin's binary
	path   string // what is executed
	sealed *process.Program
}

// close closes the copy after it was executed.
func (p *program) close() {
	if p.sealed != nil {
		_ = p.sealed.Close()
	}
}

// open opens a plugin's current binary and checks it against the pinned checksum. If it can be sealed, exactly what was
// checked is executed.
func open(block *config.Plugin, log hclog.Logger) (*program, error) {
	sum := sha256.New()
	var to io.Writer
	if block.SHA256 != nil {
		to = sum
	}
	sealed, err := process.Seal(block.Source, to)
	switch {
	case err == nil:
		p := &program{block.Source, sealed.Path, sealed}
		if err := compare(block, sum.Sum(nil)); err != nil {
			p.close()
			return nil, err
		}
		return p, nil
	case errors.Is(err, process.ErrNotExecutable):
		return nil, &Unfit{Attribute: "source", err: err}
	case errors.Is(err, fs.ErrPermission) && block.SHA256 == nil:
		return &program{name: block.Source, path: block.Source}, nil // an execute-only file needs no copy
	case !errors.Is(err, process.ErrNotSealed):
		if missing, is := block.Missing(); is {
			return nil, config.Problems{missing}
		}
		return nil, fmt.Errorf("its binary: %w", err)
	}
	log.Warn("other processes of this user can read the plugin's memory while it starts", "error", err)
	if block.SHA256 != nil {
		f, err := os.Open(block.Source)
		if err != nil {
			return nil, fmt.Errorf("its binary: %w", err)
		}
		defer f.Close()
		if _, err := io.Copy(sum, f); err != nil {
			return nil, fmt.Errorf("read the plugin: %w", err)
		}
		if err := compare(block, sum.Sum(nil)); err != nil {
			return nil, err
		}
	}
	return &program{name: block.Source, path: block.Source}, nil
}

// compare returns an error if a binary's checksum differs from the pinned one.
func compare(block *config.Plugin, got []byte) error {
	if block.SHA256 == nil || bytes.Equal(got, block.SHA256) {
		return nil
	}
	err := fmt.Errorf("%s has the sha256 %x, the config requires %x: the plugin is not started", block.Source, got, block.SHA256)
	return &Unfit{Attribute: "sha256", err: err}
}
