package process_test

import (
	"io"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

func TestBeginning(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		most      int
		writes    []string
		want      string
		complaint string
		over      bool
	}{
		"nothing":                 {8, nil, "", "", false},
		"all":                     {8, []string{"abcd", "efgh"}, "abcdefgh", "abcdefgh", false},
		"a write is cut":          {6, []string{"abcd", "efgh"}, "abcdef", "abcdef", true},
		"a later write":           {4, []string{"abcd", "efgh", "i"}, "abcd", "abcd", true},
		"a character is cut":      {5, []string{"abcd\u00e9"}, "abcd", "abcd", true},
		"lines":                   {40, []string{"error:\n\n", "  no such\tfile\n"}, "error:\n\n  no such\tfile\n", "error: no such file", false},
		"what looks like a token": {80, []string{"bad key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}, "bad key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789", "bad key [redacted]", false},
		"the zero value":          {0, []string{"a"}, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &process.Beginning{Most: test.most}
			for _, w := range test.writes {
				if n, err := io.WriteString(b, w); n != len(w) || err != nil {
					t.Errorf("Write(%q) = %d, %v", w, n, err)
				}
			}
			if b.String() != test.want || b.Complaint() != test.complaint || b.Over != test.over {
				t.Errorf("it keeps %q, %q, over %v; want %q, %q, %v", b, b.Complaint(), b.Over, test.want, test.complaint, test.over)
			}
		})
	}
}
