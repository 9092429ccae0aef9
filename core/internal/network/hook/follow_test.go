package hook_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// archive is a store and the plugins that follow it: memory, sick and well.
type archive struct {
	mu        sync.Mutex
	entries   []domain.Followed
	followers map[string]int64
	broken    error
	appended  chan struct{}
	plugins   *plugins.Registry
}

func newArchive() *archive {
	return &archive{followers: map[string]int64{}, appended: make(chan struct{}, 1), plugins: plugintest.Registry("memory", "sick", "well")}
}

func (a *archive) TranscriptAfter(_ context.Context, after int64, limit int) ([]domain.Followed, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := a.entries[after:]
	return slices.Clone(rest[:min(len(rest), limit)]), a.broken
}

func (a *archive) Follower(_ context.Context, name string) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.followers[name]; !known {
		a.followers[name] = int64(len(a.entries))
	}
	return a.followers[name], a.broken
}

func (a *archive) Followed(_ context.Context, name string, id int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers[name] = id
	return nil
}

func (a *archive) TranscriptAppended() <-chan struct{} { return a.appended }

// append adds entries, written "session text".
func (a *archive) append(lines ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, line := range lines {
		session, text, _ := strings.Cut(line, " ")
		entry := chat.TranscriptEntry{ID: int64(len(a.entries) + 1), Role: chat.User, Text: text}
		a.entries = append(a.entries, domain.Followed{Session: session, Entry: entry})
	}
	select {
	case a.appended <- struct{}{}:
	default:
	}
}

// run has a plugin run from now on.
func (a *archive) run(t *testing.T, name string, f sdk.TranscriptFunc) *plugintest.Process {
	t.Helper()
	return plugintest.Run(t, a.plugins, name, sdk.OnTranscript(f))
}

// follow runs followers in the bubble; stop ends them and waits.
func (a *archive) follow(t *testing.T) (stop func()) {
	t.Helper()
	f := hook.NewFollowers(a, a.plugins, nil, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx) }()
	return func() { cancel(); <-ended }
}

// reader is a plugin that follows.
type reader struct {
	mu    sync.Mutex
	calls []string // "session: text, text"
	at    []time.Duration
	began time.Time
	fails func(session string) error
}

func newReader() *reader { return &reader{began: time.Now(), fails: func(string) error { return nil }} }

func (r *reader) take(_ context.Context, appended sdk.TranscriptAppended) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, e := range appended.Entries {
		texts = append(texts, e.Text)
	}
	r.calls = append(r.calls, appended.Session+": "+strings.Join(texts, ", "))
	r.at = append(r.at, time.Since(r.began))
	return r.fails(appended.Session)
}

// does has the plugin answer so from now on.
func (r *reader) does(fails func(session string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails, r.at = fails, nil
}

// read returns what came since the last read.
func (r *reader) read() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.calls = nil }()
	return r.calls
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Behaviour: follow.
func TestFollowersResumeWhereTheyWere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, r := newArchive(), newReader()
		a.append("a old")
		memory := a.run(t, "memory", r.take)
		stop := a.follow(t)
		expect(t, "a new follower", r.read())
		a.append("a one", "a two", "b three", "a four")
		expect(t, "what was added", r.read(), "a: one, two, four", "b: three")
		memory.Leave()
		a.append("b five")
		expect(t, "while it is down", r.read())
		a.run(t, "memory", r.take)
		expect(t, "when it is back", r.read(), "b: five")
		stop()
		a.append("b six")
		expect(t, "while the host is down", r.read())
		stop = a.follow(t)
		expect(t, "after the host's restart", r.read(), "b: six")
		stop()
	})
}

func TestRefusedEntriesAreSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, sick, well := newArchive(), newReader(), newReader()
		a.run(t, "sick", sick.take)
		a.run(t, "well", well.take)
		defer a.follow(t)()
		synctest.Wait()
		sick.does(func(session string) error {
			if session == "b" {
				return errors.New("no")
			}
			return nil
		})
		a.append("a one", "b two", "a three")
		expect(t, "the sick one", sick.read(), "a: one, three", "b: two")
		expect(t, "the well one", well.read(), "a: one, three", "b: two")
		// What was taken before the refusal does not come again, what is after it does.
		a.append("c four")
		expect(t, "before its time", sick.read())
		expect(t, "the well one goes on", well.read(), "c: four")
		time.Sleep(20 * time.Minute)
		calls := sick.read()
		if len(calls) < 5 || calls[0] != "b: two" || calls[1] != "b: two" {
			t.Errorf("again came %q", calls)
		}
		var waits []string
		tries := sick.at[1:] // the first call was another session's
		for i := range tries[1:] {
			waits = append(waits, (tries[i+1] - tries[i]).String())
		}
		want := []string{"1s", "2s", "4s", "8s", "16s", "32s", "1m4s", "2m8s", "4m16s", "5m0s"}
		expect(t, "waits between tries", waits[:len(want)], want...)
		sick.does(func(string) error { return nil })
		time.Sleep(5 * time.Minute)
		expect(t, "when it is well again", sick.read(), "b: two", "a: three", "c: four")
	})
}

func TestARestartedPluginIsNotifiedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, r := newArchive(), newReader()
		a.run(t, "memory", r.take)
		defer a.follow(t)()
		synctest.Wait()
		r.does(func(string) error { return errors.New("no") })
		a.append("a one")
		time.Sleep(time.Hour)
		r.read()
		began := time.Now()
		r.does(func(string) error { return nil })
		a.run(t, "memory", r.take)
		expect(t, "the new process", r.read(), "a: one")
		if took := time.Since(began); took != 0 {
			t.Errorf("it was told after %v", took)
		}
	})
}

func TestABrokenStoreIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, r := newArchive(), newReader()
		a.broken = errors.New("disk full")
		a.run(t, "memory", r.take)
		defer a.follow(t)()
		synctest.Wait()
		a.append("a one")
		a.mu.Lock()
		a.broken = nil
		a.mu.Unlock()
		time.Sleep(time.Second)
		expect(t, "when the disk is well", r.read(), "a: one")
	})
}

func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, r := newArchive(), newReader()
		a.run(t, "memory", r.take)
		defer a.follow(t)()
		synctest.Wait()
		var want []string
		long := strings.Repeat("x", 3<<20)
		a.append("a "+long, "b small", "a "+long, "a tail")
		cut := long[:wire.MaxEntry]
		expect(t, "long entries", r.read(), "a: "+cut, "b: small", "a: "+cut, "a: tail")
		var lines []string
		for i := range 250 {
			lines = append(lines, fmt.Sprint("a ", i))
		}
		a.append(lines...)
		for _, page := range [][]string{lines[:100], lines[100:200], lines[200:]} {
			want = append(want, "a: "+strings.ReplaceAll(strings.Join(page, ", "), "a ", ""))
		}
		expect(t, "many entries", r.read(), want...)
	})
}

// TestFollowersMissNothing has entries of several sessions, in whatever order and length, and a plugin and a host that stumble:
// of each session all come, and none comes for the first time after a later one.
// Behaviour: follow.
func TestFollowersMissNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 250).Draw(rt, "sessions")
		longs := rapid.SliceOfN(rapid.Bool(), len(lines), len(lines)).Draw(rt, "long")
		fails := rapid.SliceOfN(rapid.Bool(), 0, 20).Draw(rt, "fails")
		restarts := rapid.IntRange(0, 3).Draw(rt, "restarts")
		var failure string
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			a, want, got := newArchive(), map[string]int{}, map[string]int{}
			a.run(t, "memory", func(_ context.Context, appended sdk.TranscriptAppended) error {
				session := appended.Session
				mu.Lock()
				defer mu.Unlock()
				for _, e := range appended.Entries {
					number, _, _ := strings.Cut(e.Text, " ")
					switch n := atoi(number); {
					case n == got[session]:
						got[session]++
					case n > got[session]:
						failure = fmt.Sprintf("session %s: %d came before %d", session, n, got[session])
					}
				}
				if len(fails) > 0 {
					fail := fails[0]
					if fails = fails[1:]; fail {
						return errors.New("no")
					}
				}
				return nil
			})
			stop := a.follow(t)
			synctest.Wait()
			for i, session := range lines {
				line := fmt.Sprint(session, " ", want[session], " ")
				if longs[i] {
					line += strings.Repeat("x", 200<<10)
				}
				want[session]++
				a.append(line)
				if restarts > 0 && i%(len(lines)/restarts+1) == 0 {
					synctest.Wait()
					stop()
					stop = a.follow(t)
				}
			}
			time.Sleep(10 * time.Hour)
			stop()
			if failure == "" && !maps.Equal(want, got) {
				failure = fmt.Sprintf("came %v, want %v", got, want)
			}
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}
