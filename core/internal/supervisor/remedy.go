package supervisor

import (
	"errors"

	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// Unfit is the error of a plugin's binary that does not run as it is, however often it is started.
type Unfit struct {
	Attribute string // of the plugin's block, which names the binary or its checksum: source or sha256
	err       error
}

// Error says what is wrong with the binary.
func (u *Unfit) Error() string { return u.err.Error() }

// Unwrap returns what the system said.
func (u *Unfit) Unwrap() error { return u.err }

// placed is an error with its place in the config file.
type placed struct {
	text string
	err  error
}

// Error returns the text, which says the place.
func (p placed) Error() string { return p.text }

// Unwrap returns the error.
func (p placed) Unwrap() error { return p.err }

// The errors of a plugin that a new start alone does not help.
type (
	// misfit: the config file does not fit what the plugin describes.
	misfit struct{ error }
	// refusal: the plugin cannot work with its config, or the host not with the plugin.
	refusal struct{ error }
)

// remedy is what helps a plugin that does not run.
type remedy int

const (
	unknown remedy = iota
	otherCredentials
	otherConfig
	otherBinary
	otherConfigOrSurroundings
)

func remedyOf(err error) remedy {
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

// rereads reports whether the host must read its config file again, which it does only as it starts.
func (r remedy) rereads() bool { return r == otherCredentials || r == otherConfig }

// advice says what to do for the plugin of a name.
func (r remedy) advice(name string) string {
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
