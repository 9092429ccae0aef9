package core_test

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core"
	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Behaviour: claude-refuses.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode   string
		env    map[string]string
		root   bool
		demo   bool
		warned bool
	}{
		"root":                            {mode: "default", root: true},
		"no questions":                    {mode: "bypassPermissions"},
		"no questions as root":            {mode: "bypassPermissions", root: true, warned: true},
		"no questions as root of a demo":  {mode: "bypassPermissions", root: true, demo: true},
		"no questions as root of a cage":  {mode: "bypassPermissions", env: map[string]string{"IS_SANDBOX": "1"}, root: true},
		"no questions as root of nothing": {mode: "bypassPermissions", env: map[string]string{"IS_SANDBOX": ""}, root: true, warned: true},
	} {
		c := &config.Config{}
		c.Claude.PermissionMode, c.Claude.Env = tt.mode, tt.env
		got := core.Warnings(c, tt.root, tt.demo)
		if tt.warned != (len(got) == 1 && strings.Contains(got[0], "bypassPermissions")) || !tt.warned && len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
