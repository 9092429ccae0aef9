package domain_test

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// The names of kinds are in databases: what was posted with a key is recognised after an update.
func TestKeyKinds(t *testing.T) {
	t.Parallel()
	want := []string{
		"late", "missing", "unread", "unheard", "unasked", "held", "waiting", "declined", "reminder",
		"stranger", "crowded", "left out", "limit", "refused", "budget", "problem", "mcp", "mcp-asks", "intruded", "opened",
		"message", "post", "turn", "send", "ask",
		"heartbeat", "job", "flush", "beside", "resume", "words",
	}
	seen := map[string]bool{}
	for kind := domain.KeyLateChange; kind <= domain.KeyLateAnswer; kind++ {
		name := kind.String()
		switch {
		case int(kind) > len(want) || name != want[kind-1]:
			t.Errorf("kind %d is named %q", kind, name)
		case seen[name], name == "", strings.Contains(name, ":"):
			t.Errorf("the name %q is not a kind's alone", name)
		}
		seen[name] = true
	}
	if len(seen) != len(want) {
		t.Errorf("there are %d kinds, want %d", len(seen), len(want))
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	key := domain.KeyLateChange.Of("telegram", 7)
	if key.String() != "late:telegram:7" || key.EventID() != "late:telegram:7" || key.Kind() != domain.KeyLateChange {
		t.Errorf("the key is %q of kind %q", key, key.Kind())
	}
	if one := key.For("anna"); one.String() != "late:telegram:7:anna" || one.Kind() != key.Kind() {
		t.Errorf("the key of a part is %q of kind %q", one, one.Kind())
	}
	if zero := (domain.Key{}).For("anna"); zero != (domain.Key{}) || zero.String() != "" {
		t.Errorf("the key of a part of nothing is %q", zero)
	}
}
