package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"github.com/clawhost/clawhost/sdk"
)

// What is remembered of a hook is bounded: the oldest is forgotten first.
// Behaviour: webhook-once.
func TestRememberedDeliveries(t *testing.T) {
	t.Parallel()
	host := &fakeHost{state: map[string][]byte{}}
	first, second := newSeen(fakeState{host: host}), newSeen(fakeState{host: host}) // two processes, of which one is ending
	of := func(n int) digest { return sha256.Sum256(fmt.Append(nil, n)) }
	if _, err := second.has(t.Context(), "h", of(0)); err != nil {
		t.Fatal(err)
	}
	for n := range maxSeen + 10 {
		process := first
		if n%2 == 0 {
			process = second
		}
		if err := process.add(t.Context(), "h", of(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.add(t.Context(), "h", of(maxSeen)); err != nil { // it is known
		t.Fatal(err)
	}
	for n, want := range map[int]bool{9: false, 10: true, 11: true, maxSeen + 9: true, maxSeen + 10: false} {
		if got, err := newSeen(fakeState{host: host}).has(t.Context(), "h", of(n)); got != want || err != nil {
			t.Errorf("delivery %d is known: %t, %v, want %t", n, got, err, want)
		}
	}
	if got, err := first.has(t.Context(), "other", of(11)); got || err != nil {
		t.Errorf("another hook knows it: %t, %v", got, err)
	}
	host.races = rewrites - 1
	if err := first.add(t.Context(), "h", of(-1)); err != nil {
		t.Errorf("behind a faster process add gives %v", err)
	}
	host.races = rewrites
	if err := first.add(t.Context(), "h", of(-2)); !errors.Is(err, sdk.ErrConflict) {
		t.Errorf("behind one that does not stop add gives %v", err)
	}
	if got := len(host.state["seen/h"]); got != maxSeen*mark {
		t.Errorf("the state has %d bytes", got)
	}
}
