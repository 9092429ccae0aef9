package config

import (
	"slices"
	"strings"
)

// Patterns are names, or patterns in which * stands for any characters. Each is followed by a line break, so that Patterns can be
// compared. The zero Patterns fits every name.
type Patterns string

// PatternsOf returns the patterns of a list, of which none fits a name if the list is empty.
func PatternsOf(list ...string) Patterns {
	if len(list) == 0 {
		return "\n"
	}
	return Patterns(strings.Join(list, "\n") + "\n")
}

// Fit reports whether a name fits one of the patterns.
func (p Patterns) Fit(name string) bool {
	if p == "" || p == "\n" {
		return p == ""
	}
	return slices.ContainsFunc(strings.Split(strings.TrimSuffix(string(p), "\n"), "\n"), func(pattern string) bool { return fits(pattern, name) })
}

// fits reports whether a name fits a pattern: it begins with the part before the first star, ends with the part after the last one, and
// has the others between them, in order.
func fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return name == pattern
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1:last] {
		var found bool
		_, rest, found = strings.Cut(rest, part)
		ok = ok && found
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// globs stores names and patterns.
func globs(to *Patterns) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			s, ok := e.filled()
			switch {
			case !ok:
			case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`?[]\,()`, r) }):
				e.refuse("must be names, in which * may stand for any characters")
			default:
				list = append(list, s)
			}
		}
		*to = PatternsOf(list...)
	}
}
