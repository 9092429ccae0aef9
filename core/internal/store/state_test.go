package store_test

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
)

func TestStateRevisions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(key, value string, ifRevision *uint64) (uint64, error) {
		return b.PutState(b.ctx, "memory", key, []byte(value), ifRevision)
	}
	if _, _, err := b.GetState(b.ctx, "memory", "k"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	absent, never := uint64(0), uint64(99)
	if rev, err := put("k", "x", &never); !errors.Is(err, domain.ErrConflict) || rev != 0 {
		t.Errorf("a revision of an absent key: %d, %v", rev, err)
	}
	first, err := put("k", "one", &absent)
	if err != nil || first == 0 {
		t.Fatalf("put: %d, %v", first, err)
	}
	if rev, err := put("k", "x", &absent); !errors.Is(err, domain.ErrConflict) || rev != first {
		t.Errorf("present taken for absent: %d, %v", rev, err)
	}
	second, err := put("k", "two", &first)
	if err != nil || second == first {
		t.Fatalf("put: %d, %v", second, err)
	}
	if rev, err := put("k", "x", &first); !errors.Is(err, domain.ErrConflict) || rev != second {
		t.Errorf("an old revision: %d, %v", rev, err)
	}
	b.reopen(t)
	if value, rev, err := b.GetState(b.ctx, "memory", "k"); string(value) != "two" || rev != second || err != nil {
		t.Errorf("got %q, %d, %v", value, rev, err)
	}
	if err := b.DeleteState(b.ctx, "memory", "k"); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteState(b.ctx, "memory", "k"); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
	if rev, err := put("k", "three", nil); err != nil || rev == first || rev == second {
		t.Errorf("after a delete the revision %d is used again, %v", rev, err)
	}
	if _, err := put("empty", "", nil); err != nil {
		t.Errorf("an empty value: %v", err)
	}
	if _, err := b.PutState(b.ctx, "memory", "nil", nil, nil); err != nil {
		t.Errorf("a nil value: %v", err)
	}
}

func TestStateKeysByPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, key := range []string{"a", "a/1", "a/2", "a/3", "b", "ü%_"} {
		if _, err := b.PutState(b.ctx, "memory", key, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.PutState(b.ctx, "other", "a/4", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 0, []string{"a", "a/1", "a/2", "a/3", "b", "ü%_"}},
		{"a/", "", 0, []string{"a/1", "a/2", "a/3"}},
		{"a/", "", 2, []string{"a/1", "a/2"}},
		{"a/", "a/2", 2, []string{"a/3"}},
		{"a/", "a/3", 2, nil},
		{"a/", "b", 2, nil},
		{"_", "", 0, nil},
		{"ü", "", 0, []string{"ü%_"}},
	} {
		got, err := b.ListState(b.ctx, "memory", tc.prefix, tc.after, tc.limit)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("prefix %q after %q limit %d: %v (-want +got):\n%s", tc.prefix, tc.after, tc.limit, err, diff)
		}
	}
}

func TestProcessesOutliveTheHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plugin := domain.Process{Kind: "plugin", Name: "telegram", PID: 7, StartTime: 1, BootID: "boot"}
	claude := domain.Process{Kind: "claude", Name: "uuid", PID: 7, StartTime: 2, BootID: "boot", Mark: "life"}
	for _, p := range []domain.Process{claude, plugin, plugin} {
		if err := b.RecordProcess(b.ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	b.reopen(t)
	started, err := process.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	plugin.Host = domain.Host{PID: os.Getpid(), StartTime: started}
	claude.Host = plugin.Host
	got, err := b.Processes(b.ctx)
	if diff := cmp.Diff([]domain.Process{plugin, claude}, got); err != nil || diff != "" {
		t.Errorf("processes: %v (-want +got):\n%s", err, diff)
	}
	if err := b.DeleteProcess(b.ctx, 7, 1); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Processes(b.ctx); len(got) != 1 || err != nil {
		t.Errorf("left %+v, %v", got, err)
	}
}

// What an instance keeps is bounded, in bytes and in keys. What it has can be read, made smaller and deleted all the same,
// and others have bounds of their own.
func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(instance, key string, size int) error {
		_, err := b.PutState(b.ctx, instance, key, make([]byte, size), nil)
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	full := func(err error) {
		t.Helper()
		if !errors.Is(err, domain.ErrStateFull) {
			t.Fatalf("%v, want %v", err, domain.ErrStateFull)
		}
	}
	const large = 32 << 20
	must(put("greedy", "a", large))
	must(put("greedy", "b", large))
	full(put("greedy", "c", 1))
	full(put("greedy", "a", large+1))
	must(put("modest", "a", 10))
	b.reopen(t)
	full(put("greedy", "c", 1))
	must(put("greedy", "a", large-1))
	must(put("greedy", "c", 1))
	must(b.DeleteState(b.ctx, "greedy", "b"))
	must(b.DeleteState(b.ctx, "greedy", "b"))
	must(put("greedy", "b", large))
	full(put("greedy", "d", 1))

	var puts sync.WaitGroup
	var failed atomic.Int64
	for n := range 10_010 {
		puts.Go(func() {
			switch err := put("many", strconv.Itoa(n), 0); {
			case errors.Is(err, domain.ErrStateFull):
				failed.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	puts.Wait()
	if failed.Load() != 10 {
		t.Errorf("%d of 10,010 keys were refused, want 10", failed.Load())
	}
}
