package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// settings is a config with every type of attribute.
type settings struct {
	Token    sdk.Secret        `json:"token" jsonschema:"From the network's operator."`
	Endpoint endpoint          `json:"endpoint,omitzero"`
	Units    []unit            `json:"units,omitempty"`
	Every    sdk.Duration      `json:"every" default:"30s"`
	Retries  int               `json:"retries" default:"3"`
	Ratio    float64           `json:"ratio,omitempty"`
	Port     uint16            `json:"port,omitempty"`
	Loud     bool              `json:"loud" default:"true"`
	Headers  map[string]string `json:"headers,omitempty"`
	Proxy    *string           `json:"proxy,omitempty"`
	Backup   sdk.Secret        `json:"backup,omitzero"`
}

type endpoint struct {
	URL string `json:"url" default:"https://example.org"`
}

type unit struct {
	Name string     `json:"name"`
	Key  sdk.Secret `json:"key,omitzero"`
	Size int        `json:"size" default:"10"`
}

// configure opens a service with the config and returns what it got.
func configure(t *testing.T, config any) (got settings, diagnostics []sdktest.Diagnostic) {
	t.Helper()
	h := sdktest.New(t, sdk.Service(func(_ context.Context, _ sdk.Env, c settings) (struct{}, error) {
		got = c
		return struct{}{}, nil
	}))
	diagnostics, err := h.TryConfigure(config)
	if err != nil {
		t.Fatal(err)
	}
	return got, diagnostics
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Service(func(context.Context, sdk.Env, settings) (struct{}, error) { return struct{}{}, nil }))
	const want = `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"additionalProperties": false,
		"required": ["token"],
		"properties": {
			"token": {"type": "string", "writeOnly": true, "description": "From the network's operator."},
			"endpoint": {"type": "object", "additionalProperties": false, "default": {}, "properties": {
				"url": {"type": "string", "default": "https://example.org"}
			}},
			"units": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
				"name": {"type": "string"},
				"key": {"type": "string", "writeOnly": true},
				"size": {"type": "integer", "default": 10}
			}}},
			"every": {"type": "string", "default": "30s", "examples": ["30s", "1h30m"],
				"pattern": "^(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|ms|s|m|h))+$"},
			"retries": {"type": "integer", "default": 3},
			"ratio": {"type": "number"},
			"port": {"type": "integer", "minimum": 0, "maximum": 65535},
			"loud": {"type": "boolean", "default": true},
			"headers": {"type": "object", "additionalProperties": {"type": "string"}},
			"proxy": {"type": "string"},
			"backup": {"type": "string", "writeOnly": true}
		}
	}`
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, h.Describe().Schema)); diff != "" {
		t.Errorf("the schema differs (-want +got):\n%s", diff)
	}
	if plain := sdktest.New(t, sdk.Command(sdk.CommandSpec{Name: "x"}, nil)).Describe().Schema; len(plain) != 0 {
		t.Errorf("a plugin without config has the schema %s", plain)
	}
}

func decode(t *testing.T, raw []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return value
}

func TestConfigDefaultsAndValues(t *testing.T) {
	t.Parallel()
	least, diagnostics := configure(t, `{"token": "tok", "units": [{"name": "a"}, {"name": "b", "size": 2}]}`)
	want := settings{
		Token: sdk.NewSecret("tok"), Endpoint: endpoint{URL: "https://example.org"}, Every: sdk.Duration{Duration: 30 * time.Second},
		Retries: 3, Loud: true, Units: []unit{{Name: "a", Size: 10}, {Name: "b", Size: 2}},
	}
	compare := cmp.AllowUnexported(settings{}, sdk.Secret{})
	if diff := cmp.Diff(want, least, compare); diff != "" || len(diagnostics) > 0 {
		t.Errorf("diagnostics %v; with defaults (-want +got):\n%s", diagnostics, diff)
	}
	proxy := "socks5://localhost"
	full, diagnostics := configure(t, `{"token": "tok", "endpoint": {"url": "http://x"}, "every": "1h30m", "retries": 0, "ratio": 0.5,
		"port": 65535, "loud": false, "headers": {"A": "b"}, "proxy": "socks5://localhost", "backup": "other"}`)
	want = settings{
		Token: sdk.NewSecret("tok"), Endpoint: endpoint{URL: "http://x"}, Every: sdk.Duration{Duration: 90 * time.Minute},
		Ratio: 0.5, Port: 65535, Headers: map[string]string{"A": "b"}, Proxy: &proxy, Backup: sdk.NewSecret("other"),
	}
	if diff := cmp.Diff(want, full, compare); diff != "" || len(diagnostics) > 0 {
		t.Errorf("diagnostics %v; with all set (-want +got):\n%s", diagnostics, diff)
	}
}

func TestConfigIsHeldAgainstItsSchema(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config string
		want   []sdktest.Diagnostic
	}{
		"empty":      {"", []sdktest.Diagnostic{{Summary: `the attribute "token" is missing`}}},
		"not JSON":   {"{", []sdktest.Diagnostic{{Summary: "the config is not a JSON object"}}},
		"two values": {`{"token": "t"} {}`, []sdktest.Diagnostic{{Summary: "the config is not a JSON object"}}},
		"unknown": {
			`{"token": "t", "tokne": 1}`,
			[]sdktest.Diagnostic{{Path: "tokne", Summary: `there is no attribute "tokne"`}},
		},
		"a secret that is a number": {`{"token": 12345678}`, []sdktest.Diagnostic{{Path: "token", Summary: "must be a string"}}},
		"several, and deep": {
			`{"token": "t", "port": 65536, "retries": 1.5, "units": [{"name": "a"}, {"size": "x"}], "headers": {"A": 1}}`,
			[]sdktest.Diagnostic{
				{Path: "headers.A", Summary: "must be a string"},
				{Path: "port", Summary: "must be at most 65535"},
				{Path: "retries", Summary: "must be an integer"},
				{Path: "units[1]", Summary: `the attribute "name" is missing`},
				{Path: "units[1].size", Summary: "must be an integer"},
			},
		},
		"no duration": {
			`{"token": "t", "every": "soon"}`,
			[]sdktest.Diagnostic{{Path: "every", Summary: `must match ^(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$, such as "30s"`}},
		},
		"null":         {`{"token": null}`, []sdktest.Diagnostic{{Path: "token", Summary: "must be a string"}}},
		"huge number":  {`{"token": "t", "retries": 1e400000000}`, []sdktest.Diagnostic{{Path: "retries", Summary: "this value does not fit here"}}},
		"long integer": {`{"token": "t", "retries": 99999999999999999999}`, []sdktest.Diagnostic{{Path: "retries", Summary: "this value does not fit here"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, got := configure(t, tt.config); !cmp.Equal(got, tt.want) {
				t.Errorf("diagnostics (-want +got):\n%s", cmp.Diff(tt.want, got))
			}
		})
	}
}

func TestConfigErrorsBecomeDiagnostics(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	tests := map[string]struct {
		err  error
		want []sdktest.Diagnostic
	}{
		"one":          {sdk.ConfigError("endpoint.url", refused), []sdktest.Diagnostic{{Path: "endpoint.url", Summary: "refused"}}},
		"a list entry": {sdk.ConfigError("units[2].name", refused), []sdktest.Diagnostic{{Path: "units[2].name", Summary: "refused"}}},
		"the whole":    {sdk.ConfigError("", refused), []sdktest.Diagnostic{{Summary: "refused"}}},
		"wrapped":      {fmt.Errorf("open: %w", sdk.ConfigError("token", refused)), []sdktest.Diagnostic{{Path: "token", Summary: "refused"}}},
		"joined": {
			errors.Join(sdk.ConfigError("a", refused), fmt.Errorf("and: %w", errors.Join(sdk.ConfigError("b[0][1]", refused), refused))),
			[]sdktest.Diagnostic{{Path: "a", Summary: "refused"}, {Path: "b[0][1]", Summary: "refused"}, {Summary: "refused"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.New(t, sdk.Service(func(context.Context, sdk.Env, struct{}) (struct{}, error) { return struct{}{}, tt.err }))
			got, err := h.TryConfigure(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(got, tt.want) {
				t.Errorf("diagnostics (-want +got):\n%s", cmp.Diff(tt.want, got))
			}
		})
	}
	if err := sdk.ConfigError("token", nil); err != nil {
		t.Errorf("a nil error became %v", err)
	}
}

func TestFailedOpenIsNoConfigError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		code string
	}{
		{errors.New("the network is down"), "Aborted"},
		{fmt.Errorf("log in: %w", sdk.ErrBadCredentials), "FailedPrecondition"},
	} {
		h := sdktest.New(t, sdk.Service(func(context.Context, sdk.Env, struct{}) (struct{}, error) { return struct{}{}, tt.err }))
		diagnostics, err := h.TryConfigure(nil)
		if len(diagnostics) > 0 || err == nil || !strings.Contains(err.Error(), tt.code) || !strings.Contains(err.Error(), tt.err.Error()) {
			t.Errorf("%v gives %v, %v, want the code %s", tt.err, diagnostics, err, tt.code)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const token = "123456:AB/cd+ef\"g"
	secret := sdk.NewSecret(token)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%T"} {
		for _, value := range []any{secret, &secret, struct{ S sdk.Secret }{secret}, []sdk.Secret{secret}} {
			if out := fmt.Sprintf(verb, value); strings.Contains(out, "AB") || strings.Contains(out, "4142") {
				t.Errorf("%s prints %s", verb, out)
			}
		}
	}
	if raw, err := json.Marshal(map[string]any{"token": secret, "list": []sdk.Secret{secret}}); err != nil || strings.Contains(string(raw), "AB") {
		t.Errorf("marshals as %s, %v", raw, err)
	}
	if secret.Reveal() != token || secret.IsZero() || !(sdk.Secret{}).IsZero() {
		t.Error("the value is not there")
	}
}

// TestWhatAnAuthorPrintsIsSearchedForSecrets covers the token in an error's URL, which no type of the sdk protects.
func TestWhatAnAuthorPrintsIsSearchedForSecrets(t *testing.T) {
	t.Parallel()
	const token = "123456:AB/cd+ef\"g"
	h := sdktest.New(t, sdk.Service(func(_ context.Context, env sdk.Env, c settings) (struct{}, error) {
		env.Log.Error("cannot connect", "token", c.Token.Reveal(), "secret", c.Token, "unit", c.Units[0].Key.Reveal())
		return struct{}{}, sdk.ConfigError("endpoint.url", fmt.Errorf("GET https://x/bot%s: key %s, form token=123456%%3AAB%%2Fcd%%2Bef%%22g",
			c.Token.Reveal(), c.Units[0].Key.Reveal()))
	}))
	diagnostics, err := h.TryConfigure(map[string]any{"token": token, "units": []any{map[string]any{"name": "a", "key": "unitkey"}}})
	if err != nil || len(diagnostics) != 1 {
		t.Fatal(diagnostics, err)
	}
	if got, want := diagnostics[0].Summary, "GET https://x/bot[secret]: key [secret], form token=[secret]"; got != want {
		t.Errorf("the diagnostic says %q, want %q", got, want)
	}
	if logs := h.Logs(); !strings.Contains(logs, "cannot connect") || strings.Contains(logs, "AB") || strings.Contains(logs, "unitkey") {
		t.Errorf("the log says %s", logs)
	}
}

func TestMistakesOfTheAuthorAreReported(t *testing.T) {
	t.Parallel()
	type noTag struct{ Listen string }
	type number struct {
		N int `json:"n" default:"many"`
	}
	type plainDuration struct {
		Every time.Duration `json:"every"`
	}
	type function struct {
		F func() `json:"f"`
	}
	command := sdk.Command(sdk.CommandSpec{Name: "roll"}, nil)
	hook, observer, follower := sdk.BeforeAgentStart(nil), sdk.OnMessage(nil), sdk.OnTranscript(nil)
	tests := map[string]struct {
		name       string
		components []sdk.Component
		want       string
	}{
		"no component":      {"x", nil, "no component"},
		"zero component":    {"x", []sdk.Component{{}}, "not made by"},
		"bad name":          {"My Plugin", []sdk.Component{command}, "lower-case"},
		"bad command":       {"x", []sdk.Component{sdk.Command(sdk.CommandSpec{Name: "/roll"}, nil)}, `"/roll"`},
		"command twice":     {"x", []sdk.Component{command, command}, "/roll is defined twice"},
		"two hooks":         {"x", []sdk.Component{hook, hook}, "several components of the plugin serve before_agent_start"},
		"two observers":     {"x", []sdk.Component{observer, observer}, "several components of the plugin serve message_received"},
		"two followers":     {"x", []sdk.Component{follower, follower}, "several components of the plugin serve transcript_appended"},
		"two channels":      {"x", []sdk.Component{bare(), bare()}, "several channels"},
		"two configs":       {"x", []sdk.Component{service[settings](), service[settings]()}, "several components have a config"},
		"nobody answers":    {"x", []sdk.Component{service[struct{}](sdk.CommandSpec{Name: "a"})}, "not an sdk.CommandRunner"},
		"no json tag":       {"x", []sdk.Component{service[noTag]()}, "Listen: it needs a json tag"},
		"bad default":       {"x", []sdk.Component{service[number]()}, `N: the default "many" is not of type integer`},
		"plain duration":    {"x", []sdk.Component{service[plainDuration]()}, "use sdk.Duration"},
		"no such type":      {"x", []sdk.Component{service[function]()}, "unsupported"},
		"config not struct": {"x", []sdk.Component{service[string]()}, "not a struct"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sdk.NewPlugin(tt.name, "1", t.Output(), tt.components...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

func service[C any](commands ...sdk.CommandSpec) sdk.Component {
	return sdk.Service(func(context.Context, sdk.Env, C) (struct{}, error) { return struct{}{}, nil }, commands...)
}
