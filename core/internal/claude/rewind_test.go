package claude_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

// A process that is being started for a turn that may come is no turn: files are restored once it runs, as after a restart of the host.
// Behaviour: undo.
func TestRewindWhileAProcessStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	turn := r.turn(`[[stub {"files":[{"path":"a","content":"1\n"}]}]]`)
	r.ask(pool, turn)
	if err := pool.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	pool = r.pool()
	expected := turn
	expected.Started = true
	pool.Expect(expected)
	would, err := pool.Rewind(t.Context(), claude.Place{Session: r.session}, turn.UUID, nil)
	if err != nil || would.Removed != 1 {
		t.Errorf("it would do %+v, %v", would, err)
	}
	pool.Retire(r.session)
	pool.Expect(expected)
	if err := pool.Release(t.Context(), r.session); err != nil {
		t.Errorf("the session is not released: %v", err)
	}
}

// Files are restored by the session's process, or by one that is started for it, in which no turn runs that needs the host's tools.
// Behaviour: undo.
func TestRewind(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		if found, err := pool.LastChanges(claude.Place{Session: r.session}); err != nil || found.Message != "" {
			t.Errorf("before the first turn: %+v, %v", found, err)
		}
		turn := r.turn(`[[stub {"files":[{"path":"a","content":"1\n2\n"},{"path":"a","old":"2","new":"3"},{"path":"b","old":"x","new":"y"}]}]]`)
		turn.Tools = newToolbox()
		changes := r.ask(pool, turn).Changes
		path := filepath.Join(r.config.Workspace, "a")
		if len(changes.Files) != 1 || filepath.Base(changes.Files[0]) != "a" || changes.Added != 3 || changes.Removed != 1 {
			t.Errorf("the turn reports %+v", changes)
		}
		if found, err := pool.LastChanges(claude.Place{Session: r.session}); err != nil || found.Message != turn.UUID || len(found.Changes) != 2 {
			t.Errorf("the transcript has %+v, %v", found, err)
		}
		rewind := func(pool *claude.Pool, agreed *client.Rewound, want error) client.Rewound {
			t.Helper()
			got, err := pool.Rewind(t.Context(), claude.Place{Session: r.session}, turn.UUID, agreed)
			if !errors.Is(err, want) {
				t.Errorf("error = %v, want %v", err, want)
			}
			return got
		}
		would := rewind(pool, nil, nil)
		if len(would.Files) != 1 || would.Added != 0 || would.Removed != 2 {
			t.Errorf("it would do %+v", would)
		}
		r.wantSpawned(pool, 1)
		if _, err := pool.Rewind(t.Context(), claude.Place{Session: r.session}, uuid.NewString(), nil); !errors.Is(err, client.ErrNoCheckpoint) {
			t.Errorf("an unknown message: %v", err)
		}
		if err := pool.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Rewind(t.Context(), claude.Place{Session: r.session}, turn.UUID, nil); err == nil {
			t.Error("a closed pool restores files")
		}

		pool = r.pool()
		rewind(pool, &client.Rewound{Files: would.Files, Removed: 3}, claude.ErrChanged)
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		rewind(pool, &would, nil)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
		r.wantSpawned(pool, 2)
		next := r.turn("hello")
		next.Tools = newToolbox()
		r.ask(pool, next)
		r.wantSpawned(pool, 3)
	})
}

// While a turn runs, nothing is restored, and nothing waits for it.
func TestRewindWhileATurnRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	turn := r.turn(`[[stub {"tool":"sleep 60"}]]`)
	begun := make(chan struct{}, 100)
	turn.Watcher = r.showing(func(p agent.Progress) {
		if len(p.Running) > 0 {
			begun <- struct{}{}
		}
	})
	ctx, stop := context.WithCancelCause(t.Context())
	running := r.begin(ctx, pool, turn)
	<-begun
	if _, err := pool.Rewind(t.Context(), claude.Place{Session: r.session}, turn.UUID, nil); !errors.Is(err, claude.ErrBusy) {
		t.Errorf("error = %v", err)
	}
	stop(agent.ErrStopped)
	<-running.done
}

func TestRewindIsOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Env["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "0"
	pool := r.pool()
	turn := r.turn("hello")
	r.ask(pool, turn)
	if _, err := pool.Rewind(t.Context(), claude.Place{Session: r.session}, turn.UUID, nil); !errors.Is(err, client.ErrNoRewind) {
		t.Errorf("error = %v", err)
	}
}
