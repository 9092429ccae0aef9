package project_test

import (
	"strings"
	"testing"
)

// A decision is about what an owner has read: the code of what stood there before allows nothing else, and a change takes the
// permission away, also where it looks the same.
// Behaviour: project-mcp.
func TestCodeOfEarlierContentAllowsNothing(t *testing.T) {
	t.Parallel()
	const before = `{"mcpServers": {"own": {"command": "make", "args": ["serve"], "env": {"A": "b"}}}}`
	for name, after := range map[string]string{
		"another program":     strings.Replace(before, "make", "evil", 1),
		"one more argument":   strings.Replace(before, `"serve"`, `"serve", "x"`, 1),
		"arguments in one":    strings.Replace(before, `["serve"]`, `["serve "]`, 1),
		"another variable":    strings.Replace(before, `"A": "b"`, `"PATH": "."`, 1),
		"another value":       strings.Replace(before, `"b"`, `"B"`, 1),
		"look-alike letters":  strings.Replace(before, "make", "mаke", 1),
		"an invisible letter": strings.Replace(before, "make", "make\u200b", 1),
		"another name":        strings.Replace(before, `"own"`, `"Own"`, 1),
		"a comment":           strings.Replace(before, "serve", "serve <!-- harmless -->", 1),
		"a second definition": strings.Replace(before, `}}}}`, `}}, "own": {"args": ["x"], "command": "make"}}}`, 1),
		"nothing":             `{}`,
		"no JSON":             `{`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, dir, _ := folder(t, map[string]string{".mcp.json": before}, "mcp")
			old := f.Servers(t.Context())
			if len(old) != 1 {
				t.Fatalf("the workspace has %+v", old)
			}
			runs := func() bool {
				for _, s := range f.Setup(t.Context()).Servers {
					if strings.EqualFold(s.Name, "own") {
						return true
					}
				}
				return false
			}
			if _, known, err := f.Decide(t.Context(), old[0].Code, true, "telegram:1"); !known || err != nil || !runs() {
				t.Fatalf("allowed: %t, %v; it runs: %t", known, err, runs())
			}
			lay(t, dir, map[string]string{".mcp.json": after})
			if runs() {
				t.Error("a changed server runs")
			}
			if what, known, err := f.Decide(t.Context(), old[0].Code, true, "telegram:1"); known || err != nil || runs() {
				t.Errorf("the old code allows %q, %v", what, err)
			}
			lay(t, dir, map[string]string{".mcp.json": before})
			if !runs() {
				t.Error("what was allowed does not run")
			}
		})
	}
}
