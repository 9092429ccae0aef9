package command

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// mistypedName is the name of the command that answers a mistyped one. It cannot be typed.
const mistypedName = "?"

// shortestMistyped is the minimum length of a mistyped name. Shorter words are similar to too many others.
const shortestMistyped = 4

// Mistyped turns into a command a text that begins with a slash and an unknown name that differs from a known one by one
// slip: a letter too many, too few, wrong, or swapped with its neighbour. Its answer suggests the known one.
func (r *Registry) Mistyped(agent, text string) (domain.Command, bool) {
	match := shape().FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return domain.Command{}, false
	}
	typed := canonical(match[1])
	if _, known := r.Lookup(typed); known || len(typed) < shortestMistyped {
		return domain.Command{}, false
	}
	for _, c := range r.List(agent, chat.Owner) {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if oneSlip(typed, name) {
				return domain.Command{Name: mistypedName, Args: typed + " " + name}, true
			}
		}
	}
	return domain.Command{}, false
}

// mistyped answers a mistyped command.
func mistyped(_ context.Context, call Call) (string, error) {
	typed, meant, _ := strings.Cut(call.Args, " ")
	return wording.DidYouMean(typed, meant), nil
}

// oneSlip reports whether one slip turns a into b, which differ.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(b) == len(a)+1:
		return a[i:] == b[i+1:]
	case len(a) != len(b) || i == len(a):
		return false
	case a[i+1:] == b[i+1:]:
		return true
	default:
		return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	}
}
