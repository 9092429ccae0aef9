package supervisor

import (
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// errExhausted marks a failure of the host and not of the plugin.
var errExhausted = errors.New("the host lacks resources")

// exhausted reports whether a plugin failed because the host lacks resources. That is waited out and never counted against
// the plugin.
func exhausted(err error) bool { return errors.Is(err, errExhausted) || process.Exhausted(err) }
