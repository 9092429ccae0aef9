package domain_test

import (
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Each mode and way to drop is known by its name, in which the store keeps it, and by other words for it.
func TestWordsForModes(t *testing.T) {
	t.Parallel()
	for _, name := range domain.Modes() {
		if mode, ok := domain.ParseMode(name); !ok || string(mode) != name {
			t.Errorf("the mode %q is read as %q, %t", name, mode, ok)
		}
	}
	for _, name := range domain.Drops() {
		if drop, ok := domain.ParseDrop(name); !ok || string(drop) != name {
			t.Errorf("the way to drop %q is read as %q, %t", name, drop, ok)
		}
	}
	for word, want := range map[string]domain.Mode{"queued": domain.Queue, "follow-up": domain.Followup, "steer+backlog": domain.SteerBacklog, "sideways": ""} {
		if mode, ok := domain.ParseMode(word); mode != want || ok != (want != "") {
			t.Errorf("%q is read as %q, %t", word, mode, ok)
		}
	}
	if drop, ok := domain.ParseDrop("summarise"); !ok || drop != domain.DropSummarize {
		t.Errorf("summarise is read as %q, %t", drop, ok)
	}
}

// A mode that is not known, as of a later version, counts as Followup.
func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[domain.Mode]struct{ waits, steers bool }{
		domain.Followup: {waits: true}, domain.Collect: {waits: true}, "later": {waits: true}, "": {waits: true},
		domain.Queue: {}, domain.Interrupt: {}, domain.Steer: {steers: true}, domain.SteerBacklog: {steers: true},
	} {
		q := domain.Queueing{Mode: mode, Quiet: time.Second}
		if q.Waits() != want.waits || q.Steers() != want.steers {
			t.Errorf("%q waits for quiet: %t, steers: %t", mode, q.Waits(), q.Steers())
		}
		if q.Quiet = 0; q.Waits() {
			t.Errorf("%q waits for no quiet", mode)
		}
	}
}
