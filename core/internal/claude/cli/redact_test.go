package cli

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	c := &Command{hidden: hiddenValues(map[string]string{"MY_API_KEY": "canary1", "PLAIN": "visible", "X_TOKEN": "no"})}
	for text, want := range map[string]string{
		"key canary1 and visible no":          "key [redacted] and visible no",
		"sk-ant-api03-abc_DEF":                "[redacted]",
		"Authorization: Bearer abcdef.ghi-jk": "Authorization: Bearer [redacted]",
		"request req_011CSHoEeqs5C35K2UUqR7Fy failed, glpat-aB3dE5fG7hJ9kL1mN2pQ": "request req_011CSHoEeqs5C35K2UUqR7Fy failed, [redacted]",
		" " + strings.Repeat("é", 2000) + "tail":                                  strings.Repeat("é", 1000) + " …",
	} {
		if got := c.Redact(text); got != want {
			t.Errorf("redact(%.40q) = %.80q, want %.80q", text, got, want)
		}
	}
}
