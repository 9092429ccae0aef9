// Package lazyregexp compiles regular expressions when they are first used. Compiled at start, those of the host cost 8 ms and 1 MB,
// and a host that executes itself again compiled them twice.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expression when it is first called, and panics if it is not valid. A test compiles all
// expressions that are given to New.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
