package protocol

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// The quick parser reads what encoding/json reads, of lines whose members have another type than expected, too.
func TestParseReadsAsEncodingJSON(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`:(-?[0-9.]+|true|false)([,}])`)
	text := regexp.MustCompile(`:"[^"\\]*"([,}])`)
	seen := map[string]bool{} // the shapes of lines
	for _, name := range recordings.Streams(t) {
		for _, line := range recordings.Stream(t, name) {
			shape := string(text.ReplaceAll(number.ReplaceAll(line, nil), nil))
			if seen[shape] {
				continue
			}
			seen[shape] = true
			// The line's type stays: without one it is no event.
			head, rest, _ := bytes.Cut(line, []byte(","))
			after := func(rest []byte) []byte { return slices.Concat(head, []byte(","), rest) }
			for what, line := range map[string][]byte{
				"as written":      line,
				"text for number": after(number.ReplaceAll(rest, []byte(`:"9"$2`))),
				"number for text": after(text.ReplaceAll(rest, []byte(`:7$1`))),
				"object for both": after(text.ReplaceAll(number.ReplaceAll(rest, []byte(`:{}$2`)), []byte(`:{}$1`))),
				"broken UTF-8":    after(text.ReplaceAll(rest, []byte(":\"\xff\xfe\"$1"))),
				"cut off":         line[:len(line)/2],
				"twice":           slices.Concat(head, []byte(`,"uuid":"a","uuid":"b","message":`), line, []byte("}")),
			} {
				got, gotErr := Parse(line)
				want := new(Event)
				wantErr := Unmarshal(line, want)
				if wantErr != nil || want.Type == "" {
					want = nil
				}
				if (gotErr != nil) != (want == nil) {
					t.Fatalf("%s, %s: %v, encoding/json: %v\n%s", name, what, gotErr, wantErr, line)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, %s (-encoding/json +Parse):\n%s\n%s", name, what, diff, line)
				}
			}
		}
	}
}
