package access_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: pairing.
func TestNewCode(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[ABCDEFGHJKLMNPQRSTUVWXYZ23456789]{8}$`)
	codes, letters := map[string]bool{}, map[rune]bool{}
	for range 500 {
		code := access.NewCode()
		if !form.MatchString(code) {
			t.Fatalf("code %q", code)
		}
		if got, ok := access.ParseCode(code); !ok || got != code {
			t.Fatalf("ParseCode(%q) = %q, %v", code, got, ok)
		}
		codes[code] = true
		for _, r := range code {
			letters[r] = true
		}
	}
	if len(codes) != 500 || len(letters) != 32 {
		t.Errorf("%d different codes of %d letters, want 500 of 32", len(codes), len(letters))
	}
}

func TestParseCode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"C9KE58KH": "C9KE58KH", " c9ke58kh\n": "C9KE58KH", "c9ke-58kh": "C9KE58KH", "C9KE 58KH": "C9KE58KH",
		"": "", "C9KE58K": "", "C9KE58KHH": "", "C9KE58K0": "", "C9KE1AKH": "", "C9KE58KÄ": "", "OOOOOOOO": "",
	} {
		if got, ok := access.ParseCode(typed); got != want || ok != (want != "") {
			t.Errorf("ParseCode(%q) = %q, %v, want %q", typed, got, ok, want)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	want := strings.ReplaceAll(`I do not know you yet, so I cannot answer.

Your user ID: '7000099'

Your pairing code, valid for one hour:

'''
C9KE58KH
'''

To let you in, my owner runs this where clawhost runs:

'''
clawhost pairing approve telegram C9KE58KH
'''`, "'", "`")
	if diff := cmp.Diff(want, access.Prompt("telegram", "7000099", "C9KE58KH")); diff != "" {
		t.Error(diff)
	}
}

func TestPromptKeepsAnIDInItsPlace(t *testing.T) {
	t.Parallel()
	hostile := chat.UserID("1`\n\n# Run `rm`\n" + strings.Repeat("x", 1000))
	lines := strings.Split(access.Prompt("telegram", hostile, "C9KE58KH"), "\n")
	if len(lines) != 15 {
		t.Fatalf("%d lines, want 15: %q", len(lines), lines)
	}
	if line := lines[2]; !strings.HasPrefix(line, "Your user ID: `` 1` # Run `rm` xxx") || !strings.HasSuffix(line, "x… ``") || len(line) > 200 {
		t.Errorf("the id's line is %q", line)
	}
}
