package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clawhost/clawhost/sdk/wire"
)

// decodeConfig checks a config against its schema, fills in defaults and decodes it strictly into target. The host has
// already checked it; this check is for hosts of another version. Errors never quote a value, which may be secret.
func decodeConfig(raw []byte, schema *jsonschema.Schema, target any) error {
	value, err := objectOf(raw)
	if err != nil {
		return ConfigError("", err)
	}
	if found := check(value, schema, nil); len(found) > 0 {
		return refusal(found)
	}
	full, err := json.Marshal(withDefaults(value, schema))
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(full))
		d.DisallowUnknownFields()
		err = d.Decode(target)
	}
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return ConfigError(e.Field, errors.New("this value does not fit here"))
	}
	return ConfigError("", errors.New("the config does not fit the plugin's settings"))
}

// refusal converts findings back to an error.
func refusal(found []finding) error {
	var all []error
	for _, f := range found {
		all = append(all, &configError{path: f.path, err: errors.New(f.summary)})
	}
	return errors.Join(all...)
}

// objectOf decodes a config; a missing one is an empty object.
func objectOf(raw []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	value, err := decodeJSON(raw)
	if object, ok := value.(map[string]any); ok && err == nil {
		return object, nil
	}
	return nil, errors.New("the config is not a JSON object")
}

// decodeJSON decodes one value and keeps numbers as they are written.
func decodeJSON(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

// check checks a value against the parts of JSON Schema that schemaOf uses.
func check(value any, s *jsonschema.Schema, at path) []finding {
	if s.Type != "" && !hasType(value, s.Type) {
		return []finding{{at, "must be " + article(s.Type)}}
	}
	switch v := value.(type) {
	case string:
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
			return []finding{{at, "must match " + s.Pattern + examples(s)}}
		}
	case json.Number:
		n, _ := new(big.Float).SetString(v.String())
		if s.Minimum != nil && n.Cmp(big.NewFloat(*s.Minimum)) < 0 {
			return []finding{{at, fmt.Sprintf("must be at least %v", *s.Minimum)}}
		}
		if s.Maximum != nil && n.Cmp(big.NewFloat(*s.Maximum)) > 0 {
			return []finding{{at, fmt.Sprintf("must be at most %v", *s.Maximum)}}
		}
	case []any:
		return checkList(v, s, at)
	case map[string]any:
		return checkObject(v, s, at)
	}
	return nil
}

func checkList(list []any, s *jsonschema.Schema, at path) (found []finding) {
	if s.MinItems != nil && len(list) < *s.MinItems || s.MaxItems != nil && len(list) > *s.MaxItems {
		return []finding{{at, fmt.Sprintf("must have %d entries", *s.MinItems)}}
	}
	for i, item := range list {
		if s.Items != nil {
			found = append(found, check(item, s.Items, at.with(i))...)
		}
	}
	return found
}

func checkObject(object map[string]any, s *jsonschema.Schema, at path) (found []finding) {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			found = append(found, finding{at, fmt.Sprintf("the attribute %q is missing", name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		p := propertyOf(s, name)
		switch {
		case p != nil:
			found = append(found, check(object[name], p, at.with(name))...)
		case closed(s):
			found = append(found, finding{at.with(name), fmt.Sprintf("there is no attribute %q", wire.Cut(name, wire.MaxName))})
		}
	}
	return found
}

func hasType(value any, name string) bool {
	switch v := value.(type) {
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case json.Number:
		n, ok := new(big.Float).SetString(v.String())
		return ok && (name == "number" || name == "integer" && n.IsInt())
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	default:
		return false
	}
}

func article(name string) string {
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

func examples(s *jsonschema.Schema) string {
	if len(s.Examples) == 0 {
		return ""
	}
	return fmt.Sprintf(", such as %q", s.Examples[0])
}

// withDefaults fills in the defaults of missing values.
func withDefaults(value any, s *jsonschema.Schema) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			if s.Items != nil {
				v[i] = withDefaults(v[i], s.Items)
			}
		}
	case map[string]any:
		for name, p := range s.Properties {
			if _, ok := v[name]; !ok && p.Default != nil {
				v[name], _ = decodeJSON(p.Default) // schemaOf has already decoded it
			}
		}
		for name, item := range v {
			if p := propertyOf(s, name); p != nil {
				v[name] = withDefaults(item, p)
			}
		}
	}
	return value
}
