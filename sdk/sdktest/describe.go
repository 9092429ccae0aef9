package sdktest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clawhost/clawhost/sdk/chat"
)

func describes(t testing.TB, s Setup) {
	h := s.serve(t)
	first := h.Describe()
	if first.Name == "" || first.Version == "" || !slices.Contains(first.Capabilities, "CAPABILITY_CHANNEL") {
		t.Errorf("the description is %+v", first)
	}
	if second := h.Describe(); !reflect.DeepEqual(first, second) {
		t.Errorf("the second description differs from the first: %+v, %+v", second, first)
	}
	if len(first.Schema) > 0 {
		schema := &jsonschema.Schema{}
		if err := json.Unmarshal(first.Schema, schema); err != nil {
			t.Fatalf("the config's schema is no JSON Schema: %v", err)
		}
		if _, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
			t.Errorf("the config's schema is not valid: %v", err)
		}
		if schema.Type != "object" {
			t.Errorf("the config's schema is of type %q, want object", schema.Type)
		}
	}
	for _, kind := range []chat.Kind{chat.Direct, chat.Group, chat.Broadcast} {
		if limits := h.Limits(kind); limits.Text.Max <= 0 {
			t.Errorf("the text limit in a %s chat is %+v; every network has one", kind, limits.Text)
		}
	}
}

func refusesBadConfigs(t testing.TB, s Setup) {
	configs := slices.Clone(s.BadConfigs)
	configs = append(configs, `{"no_channel_has_such_an_attribute": true}`, `[]`, `{`)
	for i, config := range configs {
		h := s.serve(t)
		diagnostics, err := h.TryConfigure(config)
		if err != nil || len(diagnostics) == 0 {
			t.Errorf("bad config %d gives %v, %v, want a diagnostic", i, diagnostics, err)
		}
	}
}
