package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/redact"
	"github.com/clawhost/clawhost/sdk/sdktest/linear"
)

// The time of a text grows no faster than its length, whatever it repeats.
func TestTimeOfHostileTexts(t *testing.T) {
	for _, part := range []string{"a", "aB3", "a:", "://", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaa.aaaa", "1 ", "AA11 ", "x:y@", "sk-", "aB3#", "Bearer ", "%41", "=", "\xff"} {
		repeat := func(size int) string { return strings.Repeat(part, size/len(part)) }
		linear.Check(t, fmt.Sprintf("%q", part), 32<<10, repeat, func(text string) { redact.Text(text, "[x]") })
	}
}
