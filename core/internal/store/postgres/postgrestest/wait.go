package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

const (
	patience = time.Minute // of each wait
	step     = 5 * time.Millisecond
)

// until asks again and again, because nothing reports it, whether something is so.
func until(what string, so func() (bool, error)) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		if yes, err := so(); yes || err != nil {
			return err
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("after %v still not so: %s", patience, what)
		case <-ticker.C:
		}
	}
}

// check ends a test that has no server.
func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
