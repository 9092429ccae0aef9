package supervisor_test

import (
	"strings"
	"testing"
)

// What a channel reports of its connection is a line in the log where somebody may want to know it: trouble once as a warning,
// credentials that are refused once as the error that ends the channel.
func TestReportsInTheLog(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "credentials"))
	r.next(t, r.failed)
	var lines []string
	for line := range strings.Lines(r.log.String()) {
		_, said, _ := strings.Cut(line, "Z ")
		if strings.HasPrefix(said, "[DEBUG]") || strings.Contains(said, "the plugin is running") {
			continue
		}
		lines = append(lines, strings.TrimSpace(said))
	}
	want := []string{
		`[INFO]  credentials: connected: detail=here`,
		`[WARN]  credentials: the connection is in trouble: state=disconnected detail="no route"`,
		`[ERROR] credentials: the plugin has failed: plugin=credentials error="the network says no: bad credentials" advice="Correct its credentials, then write /reload."`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the log has\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
