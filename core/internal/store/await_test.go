package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// stand begins a step that finds something once there is a key, or fails as the test says, and returns what becomes of it.
func stand(ctx context.Context, s *Store, key string, fail error) (found <-chan string, outcome <-chan error) {
	keys, outcomes, stands := make(chan string, 1), make(chan error, 1), make(chan struct{})
	first := true
	go func() {
		outcomes <- await(ctx, s, "stand", func(e effects) bool { return e.turns }, func(t *tx) (string, bool, int64, error) {
			if first {
				first = false
				close(stands)
			}
			var there bool
			err := t.row(`SELECT EXISTS (SELECT 1 FROM state WHERE instance = 'test' AND key = ?1)`, []any{key}, &there)
			if there && fail != nil {
				err = fail
			}
			return key, there, 0, err
		}, func(key string) { keys <- key })
	}()
	<-stands
	return keys, outcomes
}

// wake writes a key, and that something may be found.
func wake(t *testing.T, s *Store, key string) {
	t.Helper()
	_, err := step(t.Context(), s, "wake", func(t *tx) (nothing, error) {
		t.after.turns = true
		return nothing{}, put(t, key)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What a step leaves is found in its transaction, and reported before the step returns.
func TestAwaitRunsAfterTheStepThatItWaitsFor(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	found, outcome := stand(t.Context(), s, "b", nil)
	wake(t, s, "a")
	select {
	case key := <-found:
		t.Fatalf("found %q", key)
	default:
	}
	wake(t, s, "b")
	select {
	case <-found:
	default:
		t.Error("not found when the step had returned")
	}
	if err := <-outcome; err != nil {
		t.Error(err)
	}
	wake(t, s, "c") // and no more
	if len(found) != 0 {
		t.Error("found twice")
	}
}

func TestFailedAwaitDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	broken := errors.New("broken")
	_, bad := stand(t.Context(), s, "a", broken)
	found, good := stand(t.Context(), s, "a", nil)
	wake(t, s, "a")
	if err := <-bad; !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := <-good; err != nil || len(found) != 1 {
		t.Errorf("got %v, %d found", err, len(found))
	}
}

func TestAbandonedAwaitFindsNothing(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ctx, leave := context.WithCancel(t.Context())
	found, outcome := stand(ctx, s, "a", nil)
	leave()
	if err := <-outcome; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wake(t, s, "a")
	if len(found) != 0 {
		t.Error("it was found something for")
	}
}

func TestCloseEndsAwaits(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	_, outcome := stand(t.Context(), s, "a", nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-outcome; !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}

// A step that knows when it finds something runs then, with nothing else to do for the store.
func TestAwaitRunsWhenItIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), t.TempDir()+"/clawhost.db", Options{})
		if err != nil {
			t.Fatal(err)
		}
		began, due := time.Now(), time.Now().Add(time.Hour)
		err = await(t.Context(), s, "stand", func(effects) bool { return false }, func(t *tx) (nothing, bool, int64, error) {
			return nothing{}, t.now >= millis(due), millis(due), nil
		}, func(nothing) {})
		if took := time.Since(began); err != nil || took != time.Hour {
			t.Errorf("after %v: %v", took, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
