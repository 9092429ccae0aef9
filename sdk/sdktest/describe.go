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
	kinds := []chat.Kind{chat.Direct, chat.Group, chat.Broadcast}
	var limits []chat.Limits
	for _, kind := range kinds {
		limits = append(limits, h.Limits(kind))
	}
	// Neither a config nor a restart may change the description.
	_, config := s.network(t)
	other := s.serve(t)
	other.Configure(config)
	if second := other.Describe(); !reflect.DeepEqual(first, second) {
		t.Errorf("the description with a config differs from that without: %+v, %+v", second, first)
	}
	for i, kind := range kinds {
		if second := other.Limits(kind); !reflect.DeepEqual(limits[i], second) {
			t.Errorf("the limits with a config differ from those without: %+v, %+v", second, limits[i])
		}
	}
	if len(first.Schema) > 0 {
		schema := &jsonschema.Schema{}
		if err := json.Unmarshal(first.Schema, schema); err != nil {
			t.Fatalf("the config's schema is not a JSON Schema: %v", err)
		}
		if _, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
			t.Errorf("the config's schema is not valid: %v", err)
		}
		if schema.Type != "object" {
			t.Errorf("the config's schema is of type %q, want object", schema.Type)
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
