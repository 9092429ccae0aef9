package frontmatter_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/frontmatter"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, body, problem string
		want                map[string]any
	}{
		"plain":         {file: "---\na: 1\nb: [x]\n---\nbody\n---\n", want: map[string]any{"a": 1, "b": []any{"x"}}, body: "body\n---\n"},
		"other editors": {file: "\ufeff--- \r\na: x\r\n---\t\r\nbody\r\n", want: map[string]any{"a": "x"}, body: "body\n"},
		"empty":         {file: "---\n---\nbody", want: map[string]any{}, body: "body"},
		"comment":       {file: "---\n# a\n---", want: map[string]any{}},
		"none":          {file: "body", body: "body", problem: "does not begin"},
		"no end":        {file: "---\na: 1\n", body: "---\na: 1\n", problem: "does not begin"},
		"not at once":   {file: "\n---\na: 1\n---\n", body: "\n---\na: 1\n---\n", problem: "does not begin"},
		"no YAML":       {file: "---\na: b: c\n---\nbody", body: "body", problem: "read front matter: "},
		"twice":         {file: "---\na: 1\na: 2\n---\n", problem: "a key twice"},
		"twice below":   {file: "---\na: [{b: 1, b: 2}]\n---\n", problem: "a key twice"},
		"an alias":      {file: "---\na: &a {x: 1}\nb: *a\n---\n", problem: "uses an alias"},
		"a merged map":  {file: "---\na: &a {x: 1}\nb:\n  <<: *a\n---\n", problem: "uses an alias"},
		"a list":        {file: "---\n- a\n---\n", problem: "read front matter: "},
		"16 KiB":        {file: "---\na: " + strings.Repeat("x", 16<<10-4) + "\n---\n", want: map[string]any{"a": strings.Repeat("x", 16<<10-4)}},
		"longer":        {file: "---\na: " + strings.Repeat("x", 16<<10-3) + "\n---\n", problem: "longer than 16 KiB"},
		"many keys":     {file: "---\n" + keys(249) + "---\n", want: numbered(249)},
		"too many keys": {file: "---\n" + keys(250) + "---\n", problem: "more than 500 keys and values"},
	} {
		got := map[string]any{}
		body, err := frontmatter.Read(test.file, &got)
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want an error with %q", name, err, test.problem)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" || body != test.body {
			t.Errorf("%s: body %q, %v (-want +got):\n%s", name, body, err, diff)
		}
	}
	if _, err := frontmatter.Read("", nil); !errors.Is(err, frontmatter.ErrNone) {
		t.Errorf("an empty file: %v", err)
	}
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: %d\n", i, i)
	}
	return b.String()
}

func numbered(n int) map[string]any {
	all := map[string]any{}
	for i := range n {
		all[fmt.Sprint("k", i)] = i
	}
	return all
}
