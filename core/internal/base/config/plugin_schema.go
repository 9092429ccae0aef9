package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limits of a plugin's schema: it is untrusted, and a deep or large one is expensive to read.
const (
	maxSchema      = 256 << 10 // bytes
	maxSchemaDepth = 64        // of nested JSON values
	maxRefs        = 16        // from one $ref to the next
)

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// A schema is a plugin's JSON Schema that the host can apply: each value is described by exactly one schema, which either
// has all rules or refers to another one within the document.
type schema struct {
	root *jsonschema.Schema
}

// parseSchema parses a schema. An empty one allows no config.
func parseSchema(text []byte) (*schema, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(`{"type": "object", "additionalProperties": false}`)
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("it is larger than %d KiB", maxSchema>>10)
	}
	if err := checkDepth(text); err != nil {
		return nil, err
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(text, root); err != nil {
		return nil, err
	}
	s := &schema{root: root}
	switch {
	case root.Schema != "" && strings.TrimSuffix(root.Schema, "#") != draft2020:
		return nil, errors.New("it must be JSON Schema 2020-12")
	case root.Type != "object":
		return nil, errors.New(`its type is not "object"`)
	}
	if err := s.check(root); err != nil {
		return nil, err
	}
	// Resolve follows references recursively, so it must run after the check for cycles.
	if _, err := root.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		return nil, err
	}
	return s, nil
}

func checkDepth(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end, or an error that full decoding reports better
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxSchemaDepth {
			return fmt.Errorf("it is nested deeper than %d values", maxSchemaDepth)
		}
	}
}

// typeNames are the types' names in error messages, in the order in which they are tried.
var typeNames = []struct{ name, title string }{
	{"integer", "a whole number"},
	{"number", "a number"},
	{"boolean", "true or false"},
	{"string", "text in quotes"},
	{"array", "a list"},
	{"object", "an object"},
	{"null", ""},
}

// check refuses schemas, including nested ones, that the host cannot apply.
func (s *schema) check(node *jsonschema.Schema) error {
	if node == nil {
		return errors.New("null is not a schema")
	}
	if isFalse(node) {
		return nil
	}
	for keyword, used := range map[string]bool{
		"$id":                   node.ID != "" && node != s.root,
		"$anchor":               node.Anchor != "",
		"$dynamicAnchor":        node.DynamicAnchor != "",
		"$dynamicRef":           node.DynamicRef != "",
		"allOf":                 node.AllOf != nil,
		"anyOf":                 node.AnyOf != nil,
		"oneOf":                 node.OneOf != nil,
		"not":                   node.Not != nil,
		"if":                    node.If != nil || node.Then != nil || node.Else != nil,
		"dependencies":          node.DependencySchemas != nil || node.DependencyStrings != nil,
		"dependentSchemas":      node.DependentSchemas != nil,
		"dependentRequired":     node.DependentRequired != nil,
		"prefixItems":           node.PrefixItems != nil,
		"items as a list":       node.ItemsArray != nil,
		"additionalItems":       node.AdditionalItems != nil,
		"contains":              node.Contains != nil || node.MinContains != nil || node.MaxContains != nil,
		"unevaluatedItems":      node.UnevaluatedItems != nil,
		"unevaluatedProperties": node.UnevaluatedProperties != nil,
		"patternProperties":     node.PatternProperties != nil,
		"propertyNames":         node.PropertyNames != nil,
	} {
		if used {
			return fmt.Errorf("it uses %s, which a config schema must not use", keyword)
		}
	}
	for _, t := range types(node) {
		if !slices.ContainsFunc(typeNames, func(known struct{ name, title string }) bool { return known.name == t }) {
			return fmt.Errorf("there is no type %q", t)
		}
	}
	if node.Types != nil && len(node.Types) == 0 {
		return errors.New("a list of types is empty")
	}
	if err := s.checkRef(node); err != nil {
		return err
	}
	for _, group := range []map[string]*jsonschema.Schema{node.Properties, node.Defs, node.Definitions} {
		for _, inner := range group {
			if err := s.check(inner); err != nil {
				return err
			}
		}
	}
	for _, inner := range []*jsonschema.Schema{node.AdditionalProperties, node.Items} {
		if inner == nil {
			continue
		}
		if err := s.check(inner); err != nil {
			return err
		}
	}
	return nil
}

// checkRef refuses dangling and cyclic references, and references with other rules next to them.
func (s *schema) checkRef(node *jsonschema.Schema) error {
	if node.Ref == "" {
		return nil
	}
	rest := *node
	rest.Ref, rest.Schema, rest.ID, rest.Comment = "", "", "", ""
	rest.Title, rest.Description, rest.Default, rest.Examples = "", "", nil, nil
	rest.Deprecated, rest.ReadOnly, rest.WriteOnly = false, false, false
	rest.Defs, rest.Definitions, rest.Extra, rest.PropertyOrder, rest.Format = nil, nil, nil, nil, ""
	if !reflect.DeepEqual(rest, jsonschema.Schema{}) {
		return fmt.Errorf("the reference %q has rules beside it", node.Ref)
	}
	for range maxRefs {
		target := s.lookup(node.Ref)
		if target == nil {
			return fmt.Errorf("the reference %q leads to no schema in $defs", node.Ref)
		}
		if target.Ref == "" {
			return nil
		}
		node = target
	}
	return fmt.Errorf("the reference %q is cyclic", node.Ref)
}

// lookup returns the target of a reference within the document, or nil.
func (s *schema) lookup(ref string) *jsonschema.Schema {
	if ref == "#" {
		return s.root
	}
	pointer, err := url.PathUnescape(ref)
	if err != nil {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	if name, ok := strings.CutPrefix(pointer, "#/$defs/"); ok {
		return s.root.Defs[unescape.Replace(name)]
	}
	if name, ok := strings.CutPrefix(pointer, "#/definitions/"); ok {
		return s.root.Definitions[unescape.Replace(name)]
	}
	return nil
}

// follow returns the final target of a reference, and whether the value is a secret.
func (s *schema) follow(node *jsonschema.Schema) (end *jsonschema.Schema, secret bool) {
	secret = node.WriteOnly
	for node.Ref != "" {
		node = s.lookup(node.Ref)
		secret = secret || node.WriteOnly
	}
	return node, secret
}

// isFalse reports whether no value matches the schema.
func isFalse(node *jsonschema.Schema) bool {
	return reflect.DeepEqual(node, &jsonschema.Schema{Not: &jsonschema.Schema{}})
}

// types returns the types that a schema allows; none: all.
func types(node *jsonschema.Schema) []string {
	if node.Type != "" {
		return []string{node.Type}
	}
	return node.Types
}

// A rule is a keyword that checks a single value.
type rule struct {
	alone     *jsonschema.Schema // with only this keyword
	complaint string             // what the value must be
}

// rules returns the keywords of a schema that check a single value. Error texts contain nothing about a secret.
func rules(node *jsonschema.Schema, secret bool) []rule {
	var found []rule
	add := func(used bool, alone jsonschema.Schema, format string, args ...any) {
		if used {
			found = append(found, rule{alone: &alone, complaint: fmt.Sprintf(format, args...)})
		}
	}
	values := func(allowed []any) string {
		if secret {
			return "one of the values that the plugin accepts"
		}
		texts := make([]string, len(allowed))
		for i, v := range allowed {
			text, _ := json.Marshal(v) // v was decoded from JSON
			texts[i] = string(text)
		}
		return strings.Join(texts, " or ")
	}
	add(node.Enum != nil, jsonschema.Schema{Enum: node.Enum}, "must be %s", values(node.Enum))
	if node.Const != nil {
		add(true, jsonschema.Schema{Const: node.Const}, "must be %s", values([]any{*node.Const}))
	}
	add(node.Minimum != nil, jsonschema.Schema{Minimum: node.Minimum}, "must be at least %v", deref(node.Minimum))
	add(node.Maximum != nil, jsonschema.Schema{Maximum: node.Maximum}, "must be at most %v", deref(node.Maximum))
	add(node.ExclusiveMinimum != nil, jsonschema.Schema{ExclusiveMinimum: node.ExclusiveMinimum}, "must be above %v",
		deref(node.ExclusiveMinimum))
	add(node.ExclusiveMaximum != nil, jsonschema.Schema{ExclusiveMaximum: node.ExclusiveMaximum}, "must be below %v",
		deref(node.ExclusiveMaximum))
	add(node.MultipleOf != nil, jsonschema.Schema{MultipleOf: node.MultipleOf}, "must be a multiple of %v", deref(node.MultipleOf))
	add(node.MinLength != nil, jsonschema.Schema{MinLength: node.MinLength}, "must have at least %d characters", deref(node.MinLength))
	add(node.MaxLength != nil, jsonschema.Schema{MaxLength: node.MaxLength}, "must have at most %d characters", deref(node.MaxLength))
	shape := "match the pattern " + node.Pattern
	if len(node.Examples) > 0 && !secret {
		shape = "look like " + values(node.Examples)
	}
	add(node.Pattern != "", jsonschema.Schema{Pattern: node.Pattern}, "must %s", shape)
	add(node.MinItems != nil, jsonschema.Schema{MinItems: node.MinItems}, "must have at least %d elements", deref(node.MinItems))
	add(node.MaxItems != nil, jsonschema.Schema{MaxItems: node.MaxItems}, "must have at most %d elements", deref(node.MaxItems))
	add(node.UniqueItems, jsonschema.Schema{UniqueItems: true}, "must not contain an element twice")
	add(node.MinProperties != nil, jsonschema.Schema{MinProperties: node.MinProperties}, "must have at least %d arguments",
		deref(node.MinProperties))
	add(node.MaxProperties != nil, jsonschema.Schema{MaxProperties: node.MaxProperties}, "must have at most %d arguments",
		deref(node.MaxProperties))
	return found
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// admits reports whether a value satisfies the rule. An invalid rule, such as a multiple of 0, admits nothing.
func (r rule) admits(v any) bool {
	resolved, err := r.alone.Resolve(nil)
	return err == nil && resolved.Validate(v) == nil
}
