package supervisor_test

import (
	"regexp"
	"testing"
)

// However much a plugin writes to its stderr, the log grows by its budget, and says that lines are missing.
func TestAPluginCannotFloodTheLog(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "endless"))
	if err := r.log.Await(t.Context(), nil, 0, regexp.MustCompile("said all")); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if !regexp.MustCompile("lines are suppressed: lines=[0-9]{4}").MatchString(r.log.String()) {
		t.Error("the log does not say how many lines are missing")
	}
	// 200,000 lines, 14 MB, were written.
	if got := len(r.log.String()); got > 2<<20 {
		t.Errorf("the log has %d bytes", got)
	}
}
