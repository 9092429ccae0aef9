package sdk

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ConfigError ties an error to the config value that caused it. Path is such as "endpoint.url" or "list[2]". The host shows
// the error at the value's place in the config file and does not start the plugin. A nil error stays nil. [errors.Join]
// combines several.
func ConfigError(path string, err error) error {
	if err == nil {
		return nil
	}
	return &configError{path: parsePath(path), err: err}
}

// ConfigChecker is a config struct that checks what its schema cannot express. Check uses the config alone: it is called
// before the component is opened, and by `clawhost validate`, which opens nothing. Its errors are [ConfigError]s.
type ConfigChecker interface {
	Check() error
}

// AccountChecker is a config struct that asks its network about the account that it names, for `clawhost init` and `clawhost doctor`.
// CheckAccount changes nothing there and receives no messages: another process may be using the account. It is called with a config
// that passed its other checks. Its errors are [ConfigError]s where a value is wrong, such as a token that the network rejects; any
// other error says why the network cannot be asked.
type AccountChecker interface {
	CheckAccount(ctx context.Context) (Account, error)
}

// Account is an account of a network.
type Account struct {
	Name     string   // as people of the network see it, such as "@my_bot"; empty: unknown
	Link     string   // the address of a page by which a person begins to write to it; empty: there is none
	Warnings []string // what works only in part, and what to do
}

// Forgetter is a config struct that deletes what its plugin keeps of a person, for `clawhost forget`. The component is not opened, and no
// other process of the instance runs. What is deleted must be in no byte of a file: SQLite needs secure_delete or VACUUM, and an emptied
// log. What the plugin keeps in [State] is the host's matter. Left is what still has the person and why, a line each; after an error
// Forget is called again some time.
type Forgetter interface {
	Forget(ctx context.Context, p Person) (left []string, err error)
}

// Person is whom a plugin forgets.
type Person struct {
	Instance string   // as in [Env]
	StateDir string   // as in [Env]
	Users    []User   // all ids of the person, on every channel
	Names    []string // by which chats show the person
}

// User is a person on a channel.
type User struct {
	Channel string
	ID      chat.UserID
}

// Own returns the person's ids on the plugin's own channel.
func (p Person) Own() (ids []chat.UserID) {
	for _, u := range p.Users {
		if u.Channel == p.Instance {
			ids = append(ids, u.ID)
		}
	}
	return ids
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

// finding is an error in a config, with its place.
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

// findings extracts the config errors from the error of an open function. It returns none if nothing in the error is a
// [ConfigError]: then the config is not at fault.
func findings(err error) []finding {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case *configError:
		return []finding{{path: e.path, summary: e.err.Error()}} // the diagnostic has the path as its place
	case interface{ Unwrap() []error }:
		return findingsOf(e.Unwrap())
	case interface{ Unwrap() error }:
		return findings(e.Unwrap())
	default:
		return nil
	}
}

// findingsOf also keeps, with a config error, the other joined errors: they concern the config as a whole.
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

// parsePath parses "a.b[2].c". Brackets without an index stay part of a name.
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
