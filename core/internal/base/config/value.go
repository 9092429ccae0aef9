package config

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// A setter stores a value of the file, or reports an error. It is not called for missing or null attributes, which keep
// their previous value.
type setter func(v value)

// value is a value in the file, possibly nested.
type value struct {
	cty.Value
	d    *decoder
	name string               // the attribute's name, with its block's
	expr hclsyntax.Expression // the attribute's
	path []string             // from the attribute's value to this one: keys and decimal indices
}

// refuse reports an invalid value. The text continues after the attribute's name.
func (v value) refuse(format string, args ...any) {
	text := v.name + " " + fmt.Sprintf(format, args...)
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	v.d.report(v.at(), "Unsuitable value", text)
}

// at returns the value's position, or the nearest one in the file.
func (v value) at() hcl.Range {
	rng := locate(v.expr, v.path)
	return rng
}

// child returns an element of a list or object.
func (v value) child(step string, element cty.Value) value {
	v.Value = element
	v.path = append(slices.Clone(v.path), step)
	return v
}

// list returns the elements of a list.
func (v value) list() ([]value, bool) {
	if t := v.Type(); v.IsNull() || !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		v.refuse("must be a list, such as [\"a\", \"b\"]")
		return nil, false
	}
	var elements []value
	for i, element := range v.AsValueSlice() {
		elements = append(elements, v.child(strconv.Itoa(i), element))
	}
	return elements, true
}

// object returns the elements of an object in the order of their keys.
func (v value) object() ([]value, bool) {
	if t := v.Type(); v.IsNull() || !t.IsObjectType() && !t.IsMapType() {
		v.refuse("must be an object, such as { name = \"value\" }")
		return nil, false
	}
	fields := v.AsValueMap()
	var elements []value
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		elements = append(elements, v.child(key, fields[key]))
	}
	return elements, true
}

// key returns the last step of the value's path.
func (v value) key() string { return v.path[len(v.path)-1] }

func (v value) text() (string, bool) { return v.textOf("must be text in quotes") }

// textOf returns a text. The complaint about what is none says what the text must be.
func (v value) textOf(complaint string) (string, bool) {
	if v.IsNull() || v.Type() != cty.String {
		v.refuse("%s", complaint)
		return "", false
	}
	s := v.AsString()
	if strings.ContainsRune(s, 0) {
		v.refuse("must not contain the character U+0000")
		return "", false
	}
	return s, true
}

func (v value) filled() (string, bool) {
	s, ok := v.text()
	if ok && strings.TrimSpace(s) == "" {
		v.refuse("must not be empty")
		return "", false
	}
	return s, ok
}

// texts returns the list's texts, none of them empty. It is never nil, because an empty list overrides a default.
func (v value) texts() ([]string, bool) {
	elements, ok := v.list()
	texts := []string{}
	for _, e := range elements {
		s, good := e.filled()
		texts, ok = append(texts, s), ok && good
	}
	return texts, ok
}

func text(to *string) setter {
	return func(v value) {
		if s, ok := v.text(); ok {
			*to = s
		}
	}
}

func filled(to *string) setter {
	return func(v value) {
		if s, ok := v.filled(); ok {
			*to = s
		}
	}
}

func texts(to *[]string) setter {
	return func(v value) {
		if list, ok := v.texts(); ok {
			*to = list
		}
	}
}

// oneOf stores one of a few words.
func oneOf[T ~string](to *T, words ...string) setter {
	return func(v value) {
		must := "must be " + alternatives(words)
		s, ok := v.textOf(must)
		switch {
		case !ok:
		case !slices.Contains(words, s):
			v.refuse("%s.%s", must, suggestion(s, words))
		default:
			*to = T(s)
		}
	}
}

// boolean also accepts the texts "true" and "false", which env returns.
func boolean(to *bool) setter {
	return func(v value) {
		b, err := convert.Convert(v.Value, cty.Bool)
		if err != nil {
			v.refuse("must be true or false")
			return
		}
		*to = b.True()
	}
}

// whole stores a whole number within a range, given as a number or as text.
func whole[T int | int64](to *T, least, most T) setter {
	return func(v value) {
		n, err := convert.Convert(v.Value, cty.Number)
		if v.Type() == cty.Bool || err != nil {
			v.refuse("must be a whole number")
			return
		}
		i, accuracy := n.AsBigFloat().Int64()
		if accuracy != big.Exact || i < int64(least) || i > int64(most) {
			v.refuse("must be a whole number from %d to %d", least, most)
			return
		}
		*to = T(i)
	}
}

// autoOrWhole stores a whole number from 0, or the word auto, which is stored as the given value.
func autoOrWhole(to *int, auto, most int) setter {
	set := whole(to, 0, most)
	return func(v value) {
		if v.Type() == cty.String && v.AsString() == "auto" {
			*to = auto
			return
		}
		if _, err := convert.Convert(v.Value, cty.Number); err != nil {
			v.refuse(`must be "auto" or a whole number from 0 to %d`, most)
			return
		}
		set(v)
	}
}

// maxDuration limits durations: more than a year is probably a wrong unit.
const maxDuration = 366 * 24 * time.Hour

const mustBeDuration = `must be a duration, such as "500ms", "30s" or "2h"`

// parseDuration returns the duration, or an error text.
func parseDuration(s string, least time.Duration) (time.Duration, string) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, mustBeDuration
	case d < least:
		return 0, fmt.Sprintf("must be at least %q", least)
	case d > maxDuration:
		return 0, "must be at most 366 days"
	}
	return d, ""
}

func duration(to *time.Duration, least time.Duration) setter {
	return func(v value) {
		s, ok := v.textOf(mustBeDuration)
		if !ok {
			return
		}
		d, complaint := parseDuration(s, least)
		if complaint != "" {
			v.refuse("%s", complaint)
			return
		}
		*to = d
	}
}

// orAuto is a duration, or the word auto, which is stored as the given value.
func orAuto(to *time.Duration, auto, least time.Duration) setter {
	const must = `must be "auto" or a duration, such as "500ms", "30s" or "2h"`
	return func(v value) {
		s, ok := v.textOf(must)
		if !ok {
			return
		}
		if s == "auto" {
			*to = auto
			return
		}
		d, complaint := parseDuration(s, least)
		switch complaint {
		case "":
			*to = d
		case mustBeDuration:
			v.refuse(must)
		default:
			v.refuse("%s", complaint)
		}
	}
}

// path stores a path and makes it absolute. A relative one is relative to the file.
func path(to *string) setter {
	return func(v value) {
		s, ok := v.filled()
		if !ok {
			return
		}
		resolved, err := v.d.resolve(v.d.dir, s)
		if err != nil {
			v.refuse("is not a path: %s", err)
			return
		}
		*to = resolved
	}
}

// own stores a value in a new variable, so that a nil pointer means that the file has none.
func own[T any](to **T, set func(*T) setter) setter {
	return func(v value) {
		*to = new(T)
		set(*to)(v)
	}
}

// entry stores attributes in a map's entry. The entry exists even if the file sets none of them.
func entry[T any](entries *map[string]T, key string, attrs func(*T) []attr) []attr {
	e := (*entries)[key]
	put := func() {
		if *entries == nil {
			*entries = map[string]T{}
		}
		(*entries)[key] = e
	}
	put()
	list := attrs(&e)
	for i, a := range list {
		list[i].set = func(v value) {
			a.set(v)
			put()
		}
	}
	return list
}

// patterns stores regular expressions, which ignore case.
func patterns(to *[]*regexp.Regexp) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []*regexp.Regexp{}
		for _, e := range elements {
			s, ok := e.filled()
			if !ok {
				continue
			}
			pattern, err := regexp.Compile("(?i)" + s)
			if err != nil {
				e.refuse("must be a regular expression%s", fault(err))
				continue
			}
			list = append(list, pattern)
		}
		*to = list
	}
}

// fault describes the error in a regular expression without quoting it.
func fault(err error) string {
	var malformed *syntax.Error
	if errors.As(err, &malformed) {
		return ": " + malformed.Code.String()
	}
	return ""
}

// alternatives formats words as an enumeration.
func alternatives(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

// locate follows a path of keys and decimal indices into an expression, and returns the position of the last one it
// reached.
func locate(expr hcl.Expression, path []string) hcl.Range {
	for _, step := range path {
		next := inner(expr, step)
		if next == nil {
			break
		}
		expr = next
	}
	return expr.Range()
}

// inner returns the expression of an element, or nil if the file does not list the elements.
func inner(expr hcl.Expression, step string) hcl.Expression {
	for {
		parentheses, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			break
		}
		expr = parentheses.Expression
	}
	switch expr := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(expr.Exprs) {
			return expr.Exprs[i]
		}
	case *hclsyntax.ObjectConsExpr:
		// The last of several equal keys counts.
		for _, item := range slices.Backward(expr.Items) {
			if key, diagnostics := item.KeyExpr.Value(nil); !diagnostics.HasErrors() && key.Type() == cty.String &&
				!key.IsNull() && key.AsString() == step {
				return item.ValueExpr
			}
		}
	}
	return nil
}
