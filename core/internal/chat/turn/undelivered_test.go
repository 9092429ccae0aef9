package turn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Behaviour: dead-letter.
func TestUndelivered(t *testing.T) {
	t.Parallel()
	const then = " Ask me again for what you miss, or ask the operator to send it again with `clawhost queue retry`."
	long := strings.Repeat("ä", 400)
	for name, test := range map[string]struct {
		texts []string
		want  string
	}{
		"one":         {[]string{"It is\n\n- blue"}, "A message of mine did not arrive." + then + "\n\n> It is - blue"},
		"a file":      {[]string{""}, "A message of mine did not arrive." + then + "\n\n> (a file)"},
		"a long one":  {[]string{long}, "A message of mine did not arrive." + then + "\n\n> " + strings.Repeat("ä", 299) + "…"},
		"the last of": {[]string{"a", "b", "c", "d"}, "4 messages of mine did not arrive." + then + "\n\n> b\n\n> c\n\n> d"},
	} {
		if diff := cmp.Diff(test.want, undelivered(test.texts)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
