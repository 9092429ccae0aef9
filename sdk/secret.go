package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Secret is a config value that is never shown: it prints and marshals as "[secret]", and it is redacted in the plugin's
// logs and errors. In the schema it is a writeOnly string, so the host keeps it out of its own errors too.
type Secret struct{ value string }

const hidden = "[secret]"

// NewSecret returns a Secret, for tests that call an open function themselves.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value. Call it where the secret is used and nowhere else.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.value == "" }

// String hides the value.
func (Secret) String() string { return hidden }

// GoString hides the value.
func (Secret) GoString() string { return hidden }

// Format hides the value under every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText hides the value; encoding/json uses it too.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// UnmarshalText sets the value.
func (s *Secret) UnmarshalText(text []byte) error {
	s.value = string(text)
	return nil
}

// Duration is a config value such as "30s" or "1h30m"; it is never negative.
type Duration struct{ time.Duration }

// durationPattern matches what time.ParseDuration accepts, without a sign.
const durationPattern = `^(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`

// MarshalJSON writes the duration as UnmarshalJSON reads it.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads a string.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	if parsed < 0 {
		return fmt.Errorf("the duration %q is negative", s)
	}
	d.Duration = parsed
	return nil
}
