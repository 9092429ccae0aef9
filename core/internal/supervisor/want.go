package supervisor

import (
	"errors"

	"github.com/clawhost/clawhost/core/internal/process"
)

// errWant marks a failure that is the host's and not the plugin's.
var errWant = errors.New("the host lacks what it needs")

// wanting reports whether a plugin failed for what the host lacks. It is waited out and never counted against the plugin.
func wanting(err error) bool { return errors.Is(err, errWant) || process.Exhausted(err) }
