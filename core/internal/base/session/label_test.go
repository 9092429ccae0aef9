package session_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/session"
)

func TestParseLabel(t *testing.T) {
	t.Parallel()
	flag, family := "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "👨‍👩‍👧"
	for s, want := range map[string]string{
		"holiday":                        "holiday",
		"  two words \n":                 "two words",
		strings.Repeat("é", 64):          strings.Repeat("é", 64),
		" " + strings.Repeat("x", 64):    strings.Repeat("x", 64),
		family + " " + flag:              family + " " + flag,
		"":                               "",
		" \t\n":                          "",
		strings.Repeat("é", 65):          "",
		"two\nlines":                     "",
		"two\u2028lines":                 "",
		"a\ttab":                         "",
		"a\x1b[31mred":                   "",
		"\u202etxt.exe":                  "",
		"bad \xff":                       "",
		"\u200bnothing seen before this": "",
	} {
		got, err := session.ParseLabel(s)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseLabel(%q) = %q, %v, want %q", s, got, err, want)
		}
	}
}

func FuzzParseLabel(f *testing.F) {
	f.Add(" a b ")
	f.Add("\u200d\n")
	f.Fuzz(func(t *testing.T, s string) {
		label, err := session.ParseLabel(s)
		if err != nil {
			return
		}
		if again, err := session.ParseLabel(label); again != label || err != nil {
			t.Errorf("%q is parsed as %q, %v", label, again, err)
		}
		if utf8.RuneCountInString(label) > 64 || strings.ContainsAny(label, "\n\r\x1b") {
			t.Errorf("%q", label)
		}
	})
}
