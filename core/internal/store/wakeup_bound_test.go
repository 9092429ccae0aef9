package store

import (
	"errors"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// An instance that has 9,999 wake-ups can set one more, and change it.
func TestWakeUpsAreBounded(t *testing.T) {
	t.Parallel()
	s, at := openTest(t), time.Now().Add(time.Hour)
	set := func(key string, want error) {
		t.Helper()
		if err := s.WakeAt(t.Context(), "schedule", key, at); !errors.Is(err, want) {
			t.Errorf("set %s: %v, want %v", key, err, want)
		}
	}
	set("first", nil)
	if err := engine.Change(t.Context(), s.db, "fill", func(tx *engine.Tx) error {
		_, err := tx.Exec(`UPDATE state_use SET wake_ups = 9999`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	set("last", nil)
	set("another", domain.ErrStateFull)
	set("last", nil)
	if err := s.CancelWakeUp(t.Context(), "schedule", "first"); err != nil {
		t.Fatal(err)
	}
	set("another", nil)
	set("first", domain.ErrStateFull)
}
