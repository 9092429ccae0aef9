package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/sdk"
)

const (
	// maxSeen is how many deliveries of a hook are remembered.
	maxSeen = 4096
	// mark is how much of a digest is kept.
	mark = 16
	// rewrites limits the attempts to write what another process of the plugin, which is ending, writes too.
	rewrites = 5
)

// seen remembers, beyond the host's memory for keys, which deliveries have begun turns.
type seen struct {
	state sdk.State

	mu    sync.Mutex
	marks map[string][]byte // of each hook that was asked for, oldest first
}

func newSeen(state sdk.State) *seen { return &seen{state: state, marks: map[string][]byte{}} }

// has reports whether a delivery to a hook has begun a turn.
func (s *seen) has(ctx context.Context, hook string, d digest) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	marks, known := s.marks[hook]
	if !known {
		var err error
		if marks, _, err = s.read(ctx, hook); err != nil {
			return false, err
		}
		s.marks[hook] = marks
	}
	return holds(marks, d), nil
}

// add remembers a delivery. It is on disk when add returns.
func (s *seen) add(ctx context.Context, hook string, d digest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range rewrites {
		marks, revision, err := s.read(ctx, hook)
		if err != nil {
			return err
		}
		if !holds(marks, d) {
			marks = slices.Concat(marks[max(0, len(marks)-(maxSeen-1)*mark):], d[:mark])
			_, err = s.state.PutIf(ctx, stateKey(hook), marks, revision)
		}
		if errors.Is(err, sdk.ErrConflict) {
			continue
		}
		if err == nil {
			s.marks[hook] = marks
		}
		return err
	}
	return fmt.Errorf("remember a delivery: %w", sdk.ErrConflict)
}

func (s *seen) read(ctx context.Context, hook string) (marks []byte, revision uint64, err error) {
	marks, revision, err = s.state.Get(ctx, stateKey(hook))
	if errors.Is(err, sdk.ErrNotFound) {
		return nil, 0, nil
	}
	return marks[:len(marks)/mark*mark], revision, err
}

func stateKey(hook string) string { return "seen/" + hook }

func holds(marks []byte, d digest) bool {
	for m := range slices.Chunk(marks, mark) {
		if bytes.Equal(m, d[:mark]) {
			return true
		}
	}
	return false
}
