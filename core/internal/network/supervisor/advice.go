package supervisor

import (
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/remote"
)

// Unfit is the error of a binary that permanently cannot run.
type Unfit struct {
	Attribute string // the attribute of the plugin's block at fault: source or sha256
	err       error
}

// Error describes the problem.
func (u *Unfit) Error() string { return u.err.Error() }

// Unwrap returns the system's error.
func (u *Unfit) Unwrap() error { return u.err }

// placed is an error with its position in the config file.
type placed struct {
	text string
	err  error
}

// Error returns the text, which contains the position.
func (p placed) Error() string { return p.text }

// Unwrap returns the error.
func (p placed) Unwrap() error { return p.err }

// Errors of a plugin that a restart alone does not fix.
type (
	// misfit: the config does not match the plugin's schema.
	misfit struct{ error }
	// refusal: the plugin refused its config, or the host refused the plugin.
	refusal struct{ error }
)

// action is what the operator can do about a failed plugin.
type action int

const (
	unknown action = iota
	otherCredentials
	otherConfig
	otherBinary
	otherConfigOrSurroundings
)

func actionFor(err error) action {
	var (
		fits    misfit
		refuses refusal
		unfit   *Unfit
	)
	switch {
	case errors.Is(err, remote.ErrTerminal):
		return otherCredentials
	case errors.As(err, &fits):
		return otherConfig
	case errors.As(err, &unfit):
		return otherBinary
	case errors.As(err, &refuses):
		return otherConfigOrSurroundings
	default:
		return unknown
	}
}

// rereads reports whether only another config helps, which a reload brings.
func (r action) rereads() bool { return r == otherCredentials || r == otherConfig }

// advice returns advice for the operator about the named plugin.
func (r action) advice(name string) string {
	switch r {
	case otherCredentials:
		return wording.AdviceCredentials
	case otherConfig:
		return wording.AdviceConfig
	case otherBinary:
		return wording.AdviceBinary
	case otherConfigOrSurroundings:
		return wording.AdviceSurroundings(name)
	default:
		return wording.AdviceRetry(name)
	}
}
