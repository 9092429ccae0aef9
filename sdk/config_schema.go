package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// propertyName matches valid names of config attributes: lower-case HCL identifiers.
var propertyName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// schemaOf derives the JSON Schema of a config struct from its fields' types and tags:
//
//   - json names the attribute; omitempty and omitzero make it optional;
//   - default, such as `default:"30s"` or `default:"5"`, makes it optional and fills it in;
//   - jsonschema is its description;
//   - format:"chat" says that a string names a chat as session keys do, such as "telegram:1001": the host checks, before the
//     plugin starts, that the channel is in its config and that the plugin's block grants it.
//
// A struct without fields has no schema.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the config is a %s, not a struct", t)
	}
	if t.NumField() == 0 {
		return nil, nil
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Secret]():   {Type: "string", WriteOnly: true},
		reflect.TypeFor[Duration](): {Type: "string", Pattern: durationPattern, Examples: []any{"30s", "1h30m"}},
	}})
	if err != nil {
		return nil, err
	}
	if err := refine(t, schema, ""); err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	return schema, nil
}

// refine adds what the tags say and package jsonschema does not read, and rejects what a config file cannot express.
func refine(t reflect.Type, s *jsonschema.Schema, where string) error {
	// A pointer or slice may be null in JSON. A config file has no null.
	if s.Types = slices.DeleteFunc(s.Types, func(name string) bool { return name == "null" }); len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return fmt.Errorf("%s: use sdk.Duration, which is written as \"30s\", instead of time.Duration", where)
	case t == reflect.TypeFor[Secret](), t == reflect.TypeFor[Duration](), t == reflect.TypeFor[time.Time]():
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return refine(t.Elem(), s.Items, where+"[]")
	case reflect.Map:
		return refine(t.Elem(), s.AdditionalProperties, where+"{}")
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if err := refineField(f, s, where); err != nil {
				return err
			}
		}
	}
	return nil
}

func refineField(f reflect.StructField, s *jsonschema.Schema, where string) error {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || !f.IsExported() || name == "-" {
		return nil
	}
	where = strings.TrimPrefix(where+"."+f.Name, ".")
	if !propertyName.MatchString(name) {
		return fmt.Errorf("%s: it needs a json tag with a lower-case name, such as `json:%q`", where, strings.ToLower(f.Name))
	}
	property := s.Properties[name]
	if err := refine(f.Type, property, where); err != nil {
		return err
	}
	if format, ok := f.Tag.Lookup("format"); ok && (format != "chat" || property.Type != "string") {
		return fmt.Errorf("%s: the only format is \"chat\", of a string", where)
	} else if ok {
		property.Format = format
	}
	text, ok := f.Tag.Lookup("default")
	if !ok {
		// An optional struct that is left out still has the defaults of its own fields.
		if f.Type.Kind() == reflect.Struct && property.Type == "object" && !slices.Contains(s.Required, name) &&
			len(check(map[string]any{}, property, nil)) == 0 {
			property.Default = json.RawMessage("{}")
		}
		return nil
	}
	value := json.RawMessage(text)
	if property.Type == "string" {
		value, _ = json.Marshal(text) // a string always marshals
	}
	decoded, err := decodeJSON(value)
	if err != nil {
		return fmt.Errorf("%s: the default %q is not of type %s", where, text, property.Type)
	}
	if findings := check(decoded, property, nil); len(findings) > 0 {
		return fmt.Errorf("%s: the default %q %s", where, text, findings[0].summary)
	}
	property.Default = value
	s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
	return nil
}

// secretsIn returns the values whose schema is writeOnly.
func secretsIn(value any, s *jsonschema.Schema) (secrets []string) {
	switch v := value.(type) {
	case string:
		if s.WriteOnly {
			secrets = append(secrets, v)
		}
	case []any:
		for _, item := range v {
			if s.Items != nil {
				secrets = append(secrets, secretsIn(item, s.Items)...)
			}
		}
	case map[string]any:
		for name, item := range v {
			if p := propertyOf(s, name); p != nil {
				secrets = append(secrets, secretsIn(item, p)...)
			}
		}
	}
	return secrets
}

// propertyOf returns the schema of an object's property, or nil if it has none.
func propertyOf(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if p, ok := s.Properties[name]; ok {
		return p
	}
	if closed(s) {
		return nil
	}
	return s.AdditionalProperties
}

// closed reports whether an object may have only the properties that its schema names.
func closed(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
}
