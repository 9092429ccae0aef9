package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// botSchema uses every keyword that a config's schema may.
const botSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["token", "size"],
  "properties": {
    "token":   {"type": "string", "writeOnly": true, "minLength": 8, "pattern": "^[0-9]+:", "title": "Bot token"},
    "pin":     {"$ref": "#/$defs/pin", "writeOnly": true},
    "port":    {"type": "integer", "minimum": 1, "maximum": 65535, "default": 8080},
    "ratio":   {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25},
    "chat":    {"type": "string", "maxLength": 12},
    "debug":   {"type": "boolean"},
    "mode":    {"type": "string", "enum": ["poll", "push"], "default": "poll"},
    "version": {"const": 2},
    "allowed": {"type": ["null", "array"], "items": {"type": "string", "format": "hostname"}, "minItems": 1, "maxItems": 3, "uniqueItems": true},
    "limit":   {"type": ["integer", "string"]},
    "proxy":   {"$ref": "#/$defs/proxy"},
    "size":    {"type": "integer", "default": 7},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "maxProperties": 2},
    "any":     {},
    "wait":    {"type": "string", "pattern": "^([0-9]+[smh])+$", "examples": ["30s", "1h30m"]},
    "peers":   {"type": "array", "items": {"$ref": "#/$defs/proxy"}},
    "never":   false
  },
  "$defs": {
    "pin":   {"type": "string", "enum": ["0000", "1234"]},
    "proxy": {
      "type": "object",
      "description": "How to get out.",
      "required": ["url"],
      "properties": {
        "url":  {"type": "string", "minLength": 1},
        "next": {"$ref": "#/$defs/proxy"},
        "tls":  {"type": "boolean", "default": true}
      }
    }
  }
}`

// plugin loads a file whose only plugin block holds this text.
func plugin(t *testing.T, block string, env map[string]string) *config.Plugin {
	t.Helper()
	return load(t, "plugin \"p\" {\n"+block+"\n}\n", env).Plugin("p")
}

func TestDecode(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PORT": "443", "RATIO": "0.5", "DEBUG": "true", "TOKEN": "12345678:abc"}
	tests := []struct{ name, config, want string }{
		{
			"defaults fill what is left out or null",
			`token = "12345678:abc"
			mode  = null`,
			`{"mode": "poll", "port": 8080, "size": 7, "token": "12345678:abc"}`,
		},
		{
			"text becomes what the schema asks for",
			`token = env("TOKEN")
			port  = env("PORT")
			ratio = env("RATIO")
			debug = env("DEBUG")
			version = 2`,
			`{"mode": "poll", "port": 443, "ratio": 0.5, "debug": true, "size": 7, "token": "12345678:abc", "version": 2}`,
		},
		{
			"numbers become text only where text is asked for",
			`token = "12345678:abc"
			chat  = 12345678901
			limit = 9007199254740993
			any   = [18446744073709551615, -1]
			allowed = [true, 5, "x"]`,
			`{"allowed": ["true", "5", "x"], "any": [18446744073709551615, -1], "chat": "12345678901", "limit": 9007199254740993, "mode": "poll", "port": 8080,
			"size": 7, "token": "12345678:abc"}`,
		},
		{
			"what fits one of several types stays",
			`token = "12345678:abc"
			limit = "12"
			any   = { a = [1, "2", null], b = 1.5, c = true }`,
			`{"any": {"a": [1, "2", null], "b": 1.5, "c": true}, "limit": "12", "mode": "poll", "port": 8080, "size": 7,
			"token": "12345678:abc"}`,
		},
		{
			"objects within objects, and references",
			`token   = "12345678:abc"
			pin     = 1234
			proxy   = { url = "a", next = { url = "b", tls = "false", next = null } }
			headers = { "X-A" = 1, b = "c" }`,
			`{"headers": {"X-A": "1", "b": "c"}, "mode": "poll", "pin": "1234", "port": 8080, "size": 7, "token": "12345678:abc",
			"proxy": {"url": "a", "tls": true, "next": {"url": "b", "tls": false}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := plugin(t, "config {\n"+tt.config+"\n}", env).Decode([]byte(botSchema))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(canonical(t, []byte(tt.want)), canonical(t, got)); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}

// canonical writes JSON with sorted names and exact numbers.
func canonical(t *testing.T, text []byte) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	sorted, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

func TestDecodeFindsEverything(t *testing.T) {
	t.Parallel()
	p := plugin(t, `  enabled = true
  config {
    tokn    = "87654321"
    token   = "secret1"
    pin     = "secret2"
    port    = 70000
    ratio   = 1.1
    chat    = "longer than twelve"
    debug   = "maybe"
    mode    = "pull"
    version = 3
    allowed = ["a", "a", ["b"]]
    limit   = [1.5]
    proxy   = {
      next = {
        url  = ""
        next = { tls = 5 }
      }
    }
    size    = 1e400
    headers = {}
    never   = (1)
    wait    = "soon"
    peers   = [{ url = "u" }, { url = "u", next = { url = 7, tls = "perhaps" } }]
  }`, nil)
	_, err := p.Decode([]byte(botSchema))
	if err == nil {
		t.Fatal("Decode found nothing wrong")
	}
	file, _, _ := strings.Cut(err.Error(), ":4:")
	want := strings.TrimSpace(`
F:4:5: Unknown argument; The plugin's config has no argument "tokn". Did you mean "token"?
F:5:15: Unsuitable value; token must have at least 8 characters.
F:5:15: Unsuitable value; token must match the pattern ^[0-9]+:.
F:6:15: Unsuitable value; pin must be one of the values that the plugin accepts.
F:7:15: Unsuitable value; port must be at most 65535.
F:8:15: Unsuitable value; ratio must be below 1.
F:8:15: Unsuitable value; ratio must be a multiple of 0.25.
F:9:15: Unsuitable value; chat must have at most 12 characters.
F:10:15: Unsuitable value; debug must be true or false.
F:11:15: Unsuitable value; mode must be "poll" or "push".
F:12:15: Unsuitable value; version must be 2.
F:13:15: Unsuitable value; allowed must not contain an element twice.
F:13:26: Unsuitable value; allowed[2] must be text in quotes.
F:14:15: Unsuitable value; limit must be a whole number or text in quotes.
F:15:15: Missing argument; proxy needs the argument "url".
F:17:16: Unsuitable value; proxy.next.url must have at least 1 characters.
F:18:16: Missing argument; proxy.next.next needs the argument "url".
F:18:24: Unsuitable value; proxy.next.next.tls must be true or false.
F:21:15: Unsuitable value; size is too large a number.
F:22:15: Unsuitable value; headers must have at least 1 arguments.
F:23:15: Unsuitable value; never must be omitted.
F:24:15: Unsuitable value; wait must look like "30s" or "1h30m".
F:25:68: Unsuitable value; peers[1].next.tls must be true or false.
`)
	if diff := cmp.Diff(want, strings.ReplaceAll(err.Error(), file, "F")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// A chat that a schema says is one must be of a channel that the plugin may reach.
func TestChatsInAConfig(t *testing.T) {
	t.Parallel()
	const schema = `{"type": "object", "properties": {"to": {"type": "object", "additionalProperties": {"type": "string", "format": "chat"}}}}`
	c := load(t, `plugin "telegram" {}
plugin "webhook" {
  grants = ["telegram"]
  config {
    to = {
      own = "webhook:1",
      good = "telegram:group:-100",
      none = "telegrm:1",
      more = "discord:1",
      odd = "telegram"
    }
  }
}
plugin "discord" { enabled = false }
`, nil)
	const want = `config.hcl:8:14: Unknown channel; to.none names "telegrm", and no plugin block has this label. Did you mean "telegram"?
config.hcl:9:14: Missing grant; to.more names a chat of "discord", which the plugin may not reach: add grants = ["discord"] to its block.`
	_, err := c.Plugin("webhook").Decode([]byte(schema))
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.ReplaceAll(err.Error(), c.Path, "config.hcl")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestMissingArgumentsAreAtTheHeader(t *testing.T) {
	t.Parallel()
	for block, place := range map[string]string{
		"":                                ":1:1: ",
		"enabled = true\n  config {}":     ":3:3: ",
		"  config {\n    token = null\n}": ":2:3: ",
	} {
		_, err := plugin(t, block, nil).Decode([]byte(botSchema))
		if err == nil || !strings.Contains(err.Error(), place+`Missing argument; The plugin's config needs the argument "token".`) {
			t.Errorf("%q: error %v, want it at %s", block, err, place)
		}
	}
}

func TestNoSchemaTakesNoConfig(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", " \n", `{"type": "object", "additionalProperties": false}`} {
		for _, block := range []string{"", "config {}", "config {\n  a = null\n}"} {
			got, err := plugin(t, block, nil).Decode([]byte(schema))
			if err != nil || string(got) != "{}" {
				t.Errorf("schema %q, block %q: %s, %v", schema, block, got, err)
			}
		}
		_, err := plugin(t, "config {\n  a = 1\n}", nil).Decode([]byte(schema))
		if err == nil || !strings.HasSuffix(err.Error(), ":3:3: Unknown argument; The plugin takes no config.") {
			t.Errorf("schema %q: error %v", schema, err)
		}
	}
}

func TestUnnamedArguments(t *testing.T) {
	t.Parallel()
	for schema, fits := range map[string]bool{
		`{"type": "object"}`:                          true,
		`{"type": "object", "properties": {"b": {}}}`: false,
		`{"type": "object", "properties": {"b": {}}, "additionalProperties": true}`:                   true,
		`{"type": "object", "properties": {"b": {}}, "additionalProperties": {"type": "integer"}}`:    true,
		`{"type": "object", "properties": {"b": {}}, "additionalProperties": {"type": "array"}}`:      false,
		`{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}`: true,
	} {
		got, err := plugin(t, "config {\n  a = 1\n}", nil).Decode([]byte(schema))
		if fits != (err == nil) || fits && string(got) != `{"a":1}` {
			t.Errorf("%s: %s, %v", schema, got, err)
		}
	}
}

func TestDefaultsWithinDefaults(t *testing.T) {
	t.Parallel()
	const schema = `{"type": "object", "properties": {"proxy": {"type": "object", "default": {"b": 5}, "properties": {
		"a": {"type": "string", "default": "x"}, "b": {"type": "integer", "default": 1}, "c": {"type": "object", "default": {},
		"properties": {"d": {"type": "boolean", "default": true}}}}}}}`
	for block, want := range map[string]string{
		"":                                  `{"proxy":{"a":"x","b":5,"c":{"d":true}}}`,
		"config {\n  proxy = {}\n}":         `{"proxy":{"a":"x","b":1,"c":{"d":true}}}`,
		"config {\n  proxy = { c = {} }\n}": `{"proxy":{"a":"x","b":1,"c":{"d":true}}}`,
	} {
		if got, err := plugin(t, block, nil).Decode([]byte(schema)); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", block, got, err, want)
		}
	}
	many := strings.TrimSuffix(strings.Repeat("{}, ", 200), ", ")
	for _, endless := range []string{
		`{"type": "object", "properties": {"a": {"$ref": "#/$defs/t", "default": {}}}, "$defs": {"t": {"type": "object",
			"properties": {"l": {"$ref": "#/$defs/t", "default": {}}, "r": {"$ref": "#/$defs/t", "default": {}}}}}}`,
		fmt.Sprintf(`{"type": "object", "properties": {"a": {"type": "array", "default": [%s], "items": {"properties": {
			"a": {"type": "array", "default": [%[1]s], "items": {"properties": {"a": {"type": "array", "default": [%[1]s]}}}}}}}}}`, many),
	} {
		_, err := plugin(t, "", nil).Decode([]byte(endless))
		if err == nil || strings.Count(err.Error(), "its defaults are too large") != 1 {
			t.Errorf("%.100s: error %v", endless, err)
		}
	}
}

// A schema comes from outside. A bad one is its author's fault, is reported so, and has no other effect.
func TestUnsuitableSchemas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"properties":{"a":`, 50) + "{}" + strings.Repeat("}}", 50)
	for schema, want := range map[string]string{
		`{`:                            "unexpected end of JSON input",
		`[]`:                           "cannot unmarshal",
		`true`:                         `its type is not "object"`,
		`{"type": "string"}`:           `its type is not "object"`,
		`{"type": ["object", "null"]}`: `its type is not "object"`,
		`{"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}`:                              "it must be JSON Schema 2020-12",
		`{"type": "object", "anyOf": [{}]}`:                                                                     "it uses anyOf",
		`{"type": "object", "properties": {"a": {"not": {"type": "string"}}}}`:                                  "it uses not",
		`{"type": "object", "properties": {"a": {"type": "strin"}}}`:                                            `there is no type "strin"`,
		`{"type": "object", "properties": {"a": {"type": []}}}`:                                                 "a list of types is empty",
		`{"type": "object", "properties": {"a": null}}`:                                                         "null is not a schema",
		`{"type": "object", "properties": {"a": {"pattern": "("}}}`:                                             "missing closing )",
		`{"type": "object", "properties": {"a": {"type": "string", "default": 1}}}`:                             "want \"string\"",
		`{"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}`:                                     `the reference "#/$defs/none" leads to no schema`,
		`{"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}`:                                       "leads to no schema",
		`{"type": "object", "properties": {"a": {"$ref": "#/$defs/b", "minimum": 1}}, "$defs": {"b": {}}}`:      "has rules beside it",
		`{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$ref": "#/$defs/b"}}}`: "is cyclic",
		`{"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`:                 "is cyclic",
		`{"type": "object", "$ref": "#"}`:                                                                       "has rules beside it",
		`{"type": "object", "properties": {"a": ` + deep + `}}`:                                                 "it is nested deeper than 64 values",
		`{"type": "object", "title": "` + strings.Repeat("x", 256<<10) + `"}`:                                   "it is larger than 256 KiB",
	} {
		_, err := plugin(t, "config {\n  a = 1\n}", nil).Decode([]byte(schema))
		if err == nil || !strings.Contains(err.Error(), ":2:1: Unsuitable schema;") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s\nerror %v, want %s", schema, err, want)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	p := plugin(t, `  config {
    token = "secret"
    proxy = {
      "url" = "u"
      list  = ([1, { a = 2 }])
    }
    computed = jsonencode({ a = 1 })
  }`, nil)
	for path, want := range map[string]string{
		"":                 "2:3",
		"token":            "3:13",
		"token.x":          "3:13",
		"absent":           "2:3",
		"proxy":            "4:13",
		"proxy.url":        "5:15",
		"proxy.absent":     "4:13",
		"proxy.list.0":     "6:17",
		"proxy.list.1.a":   "6:26",
		"proxy.list.9":     "6:15",
		"proxy.list.-1":    "6:15",
		"computed.a":       "8:16",
		"proxy.list.1.a.b": "6:26",
	} {
		steps := strings.Split(path, ".")
		if path == "" {
			steps = nil
		}
		got := p.Place(steps, "Bad\x1b[31m", strings.Repeat("x", 5000)+"\n")
		if place := fmt.Sprintf("%d:%d", got.Line, got.Column); place != want {
			t.Errorf("%q: at %s, want %s", path, place, want)
		}
		if got.Snippet != "" || got.Summary != "Bad\ufffd[31m" || len(got.Detail) > 1010 {
			t.Errorf("%q: not made fit for a terminal: %+v", path, got)
		}
	}
	if got := plugin(t, "", nil).Place([]string{"a"}, "s", ""); got.Line != 1 || got.Column != 1 {
		t.Errorf("without a config block: %v", got)
	}
}

func TestPlaceAttribute(t *testing.T) {
	t.Parallel()
	p := plugin(t, `  source = "/opt/bot"
  config {}`, nil)
	for attribute, want := range map[string]string{"source": "2:12", "sha256": "1:1", "": "1:1"} {
		if got := p.PlaceAttribute(attribute, "Bad", "worse"); fmt.Sprintf("%d:%d", got.Line, got.Column) != want || got.Detail != "worse" {
			t.Errorf("%q: %v, want it at %s", attribute, got, want)
		}
	}
}

// Whatever the schema says of a secret, and however wrong the secret is, no message holds it; and whatever Decode lets
// through fits the schema by the library's own judgement.
func TestDecodeProperties(t *testing.T) {
	t.Parallel()
	const secret = "hush-4711"
	leaf := rapid.SampledFrom([]string{
		`{"type": "string"}`, `{"type": "integer", "minimum": 3}`, `{"type": "number", "maximum": 2.5}`, `{"type": "boolean"}`,
		`{"enum": ["a", 1]}`, `{"const": "b"}`, `{"type": "string", "minLength": 20}`, `{"type": "string", "maxLength": 3}`,
		`{"type": "string", "pattern": "^a"}`, `{"type": ["null", "array"], "items": {"type": "integer"}, "uniqueItems": true}`,
		`{"type": ["integer", "boolean"]}`, `{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}`,
		`{"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1}`, `{}`, `false`,
		`{"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/short"}}`, `{"$ref": "#/$defs/short"}`, `{"type": "null"}`,
		`{"type": "integer", "default": 5}`, `{"type": "object", "default": {"x": 1}}`,
	})
	value := rapid.SampledFrom([]string{
		`"` + secret + `"`, `1`, `-2.5`, `7`, `"7"`, `true`, `"true"`, `null`, `"a"`, `["` + secret + `"]`, `[1, "2"]`, `[1, 1]`, `[]`, `{}`,
		`{ a = "` + secret + `" }`, `{ a = 1, b = 2 }`, `{ "` + secret[:4] + `" = ["` + secret + `"] }`, `1e30`,
	})
	rapid.Check(t, func(rt *rapid.T) {
		var properties, arguments, required []string
		for _, name := range []string{"one", "two", "three"} {
			if rapid.Bool().Draw(rt, "in schema") {
				schema := leaf.Draw(rt, "schema")
				if strings.HasPrefix(schema, `{"type"`) {
					schema = `{"writeOnly": true, ` + schema[1:]
				}
				properties = append(properties, fmt.Sprintf("%q: %s", name, schema))
			}
			if rapid.Bool().Draw(rt, "in config") {
				arguments = append(arguments, name+" = "+value.Draw(rt, "value"))
			}
			if rapid.Bool().Draw(rt, "required") {
				required = append(required, fmt.Sprintf("%q", name))
			}
		}
		text := fmt.Sprintf(`{"type": "object", "properties": {%s}, "required": [%s], "additionalProperties": %v,
			"$defs": {"short": {"type": "string", "maxLength": 4, "writeOnly": true}}}`,
			strings.Join(properties, ", "), strings.Join(required, ", "), rapid.Bool().Draw(rt, "additional"))
		got, err := plugin(t, "config {\n"+strings.Join(arguments, "\n")+"\n}", nil).Decode([]byte(text))
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				rt.Fatalf("a secret was shown:\n%v", err)
			}
			if strings.Contains(err.Error(), "Unsuitable schema") {
				rt.Fatalf("%s: %v", text, err)
			}
			return
		}
		var schema jsonschema.Schema
		var instance any
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			rt.Fatal(err)
		}
		if err := json.Unmarshal(got, &instance); err != nil {
			rt.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			rt.Fatal(err)
		}
		if err := resolved.Validate(instance); err != nil {
			rt.Fatalf("schema %s\nlet through %s: %v", text, got, err)
		}
	})
}
