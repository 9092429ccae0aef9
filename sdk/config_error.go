package sdk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ConfigError ties an error to the config value that caused it: path is such as "endpoint.url" or "list[2]". The host
// shows it at the value's place in the config file and does not start the plugin. A nil error stays nil. Several go
// together by [errors.Join].
func ConfigError(path string, err error) error {
	if err == nil {
		return nil
	}
	return &configError{path: parsePath(path), err: err}
}

// ConfigChecker is a config struct that can tell what its schema cannot. Check looks at the config alone: it is called before the
// component is opened, and by `clawhost validate`, which opens none. Its errors are [ConfigError]s.
type ConfigChecker interface {
	Check() error
}

type configError struct {
	path path
	err  error
}

func (e *configError) Error() string {
	if len(e.path) == 0 {
		return e.err.Error()
	}
	return e.path.String() + ": " + e.err.Error()
}

func (e *configError) Unwrap() error { return e.err }

// finding is what is wrong with a config, and where.
type finding struct {
	path    path
	summary string
}

func (f finding) diagnostic() *pluginv1.Diagnostic {
	return &pluginv1.Diagnostic{
		Severity: pluginv1.Diagnostic_SEVERITY_ERROR,
		Summary:  wire.Cut(f.summary, wire.MaxDetail),
		Path:     f.path.toProto(),
	}
}

// findings takes an error of an open function apart. It is empty if nothing in the error is a [ConfigError]: then the
// config is not to blame.
func findings(err error) []finding {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case *configError:
		return []finding{{path: e.path, summary: e.err.Error()}} // the place says the path already
	case interface{ Unwrap() []error }:
		return findingsOf(e.Unwrap())
	case interface{ Unwrap() error }:
		return findings(e.Unwrap())
	default:
		return nil
	}
}

// findingsOf keeps, beside a config error, the errors that are none: they are about the config as a whole.
func findingsOf(joined []error) []finding {
	var all, others []finding
	for _, e := range joined {
		found := findings(e)
		if len(found) == 0 {
			others = append(others, finding{summary: e.Error()})
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil
	}
	return append(all, others...)
}

// path leads from a config's root to a value: names (string) and indices (int).
type path []any

func (p path) with(step any) path { return append(slices.Clip(p), step) }

func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

func (p path) toProto() []*pluginv1.PathStep {
	var steps []*pluginv1.PathStep
	for _, step := range p {
		switch s := step.(type) {
		case int:
			steps = append(steps, &pluginv1.PathStep{Step: &pluginv1.PathStep_Index{Index: int64(s)}})
		case string:
			steps = append(steps, &pluginv1.PathStep{Step: &pluginv1.PathStep_Name{Name: wire.Cut(s, wire.MaxName)}})
		}
	}
	return steps
}

// parsePath reads "a.b[2].c". What is no index stays part of a name.
func parsePath(s string) (p path) {
	for part := range strings.SplitSeq(s, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name != "" {
			p = append(p, name)
		}
		for rest != "" {
			var number string
			number, rest, _ = strings.Cut(rest, "]")
			rest = strings.TrimPrefix(rest, "[")
			if i, err := strconv.Atoi(number); err == nil && i >= 0 {
				p = append(p, i)
			} else if number != "" {
				p = append(p, number)
			}
		}
	}
	return p
}
