package health_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/health"
)

// patient is a source that says what the test sets.
type patient struct {
	mu   sync.Mutex
	list []health.Report
}

func (p *patient) Problems(context.Context) []health.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

func (p *patient) has(list ...health.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = list
}

// step is what is wrong for some time.
type step struct {
	lasts time.Duration
	wrong []health.Report
}

func well(lasts time.Duration) step { return step{lasts, nil} }

func ill(lasts time.Duration, codes ...health.Code) step {
	s := step{lasts: lasts}
	for _, code := range codes {
		subject := "telegram"
		if code == health.DiskFull || code == health.ClaudeUnusable || code == health.StoreFails {
			subject = ""
		}
		s.wrong = append(s.wrong, health.Report{Code: code, Subject: subject, Detail: "why"})
	}
	return s
}

// times are several steps that repeat.
func times(n int, steps ...step) (all []step) {
	for range n {
		all = append(all, steps...)
	}
	return all
}

// What passes by itself, or follows from something else, is not shown, and what comes and goes is one problem.
// Behaviour: health-steady.
func TestRegistry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps []step
		want  []string // what is shown, and no longer, and when
	}{
		"all is well":                      {[]step{well(time.Hour)}, nil},
		"a plugin that restarts quickly":   {[]step{ill(5*time.Second, health.PluginWaits), well(time.Hour)}, nil},
		"a plugin that restarts each hour": {times(5, ill(25*time.Second, health.PluginWaits), well(time.Hour)), nil},
		"a plugin that has failed": {
			[]step{ill(time.Minute, health.PluginFailed), well(time.Hour)},
			[]string{"0s plugin_failed telegram", "2m0s no plugin_failed telegram"},
		},
		"a network that is away for two minutes": {
			[]step{ill(2*time.Minute, health.PluginDisconnected), well(time.Hour)},
			[]string{"1m0s plugin_disconnected telegram", "3m0s no plugin_disconnected telegram"},
		},
		"and its plugin ends, and is started": {
			[]step{ill(2*time.Minute, health.PluginDisconnected), ill(3*time.Minute, health.PluginWaits), ill(time.Minute, health.PluginDisconnected), well(time.Hour)},
			[]string{
				"1m0s plugin_disconnected telegram", "3m0s plugin_waits telegram", "3m0s no plugin_disconnected telegram",
				"6m0s no plugin_waits telegram",
			},
		},
		"a network that comes and goes each 20 seconds": {
			append(times(15, ill(20*time.Second, health.PluginDisconnected), well(20*time.Second)), well(time.Hour)),
			[]string{"2m0s plugin_disconnected telegram", "10m40s no plugin_disconnected telegram"},
		},
		"one that comes and goes each 5 minutes": {
			append(times(24, ill(2*time.Minute, health.PluginDisconnected), well(3*time.Minute)), well(time.Hour)),
			[]string{
				"1m0s plugin_disconnected telegram", "3m0s no plugin_disconnected telegram",
				"6m0s plugin_disconnected telegram", "9m0s no plugin_disconnected telegram",
				"11m0s plugin_disconnected telegram", "2h1m0s no plugin_disconnected telegram",
			},
		},
		"a full disk": {
			[]step{ill(time.Hour, health.DiskFull, health.StoreFails, health.PluginLacks), well(time.Hour)},
			[]string{"5s disk_full", "1h0m5s no disk_full", "1h0m5s plugin_lacks telegram", "1h0m5s store_fails", "1h0m30s no store_fails", "1h1m0s no plugin_lacks telegram"},
		},
		"claude is missing, and then installed": {
			[]step{ill(10*time.Minute, health.ClaudeUnusable), well(time.Hour)},
			[]string{"5s claude_unusable", "10m5s no claude_unusable"},
		},
		"messages that the network takes again": {
			[]step{ill(11*time.Minute, health.PluginDisconnected, health.DeliveriesWait), well(time.Hour)},
			[]string{"1m0s plugin_disconnected telegram", "12m0s no plugin_disconnected telegram"},
		},
		"a code of a later version": {
			[]step{ill(time.Minute, "moonlight")}, []string{"0s moonlight telegram"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &patient{}
				r := health.New(p)
				began, shown, got := time.Now(), map[health.ID]bool{}, []string(nil)
				look := func() {
					now := map[health.ID]bool{}
					for _, problem := range r.List(t.Context()) {
						now[problem.ID()] = true
					}
					var lines []string
					for _, ids := range []map[health.ID]bool{now, shown} {
						for id := range ids {
							if now[id] == shown[id] {
								continue
							}
							not := map[bool]string{true: "", false: " no"}[now[id]]
							lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s%s %s %s", time.Since(began), not, id.Code, id.Subject)))
						}
					}
					got, shown = append(got, lines...), now
				}
				for _, s := range test.steps {
					p.has(s.wrong...)
					for end := time.Now().Add(s.lasts); time.Now().Before(end); time.Sleep(health.Every) {
						look()
					}
				}
				if diff := cmp.Diff(sorted(test.want), sorted(got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// sorted puts lines of the same time into one order.
func sorted(lines []string) []string {
	at := func(line string) time.Duration {
		when, _, _ := strings.Cut(line, " ")
		d, _ := time.ParseDuration(when)
		return d
	}
	list := slices.Clone(lines)
	slices.SortFunc(list, func(a, b string) int {
		if x, y := at(a), at(b); x != y {
			return int(x - y)
		}
		return strings.Compare(a, b)
	})
	return list
}

// A problem says what it is, why, what to do, since when, and that it is gone and may return. The worst is the first.
// Behaviour: health-steady.
func TestProblem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &patient{}
		other := &patient{}
		other.has(health.Report{Code: health.DeadLetters, Detail: "3", Advice: "Look."}, health.Report{Code: health.PluginFailed, Subject: "b", Detail: "another source said it"})
		r := health.New(p, other)
		p.has(health.Report{Code: health.PluginFailed, Subject: "b"}, health.Report{Code: health.PluginFailed, Subject: "a", Detail: "no token", Advice: "Set it."})
		began := time.Now()
		r.List(t.Context())
		time.Sleep(10 * time.Second)
		p.has(health.Report{Code: health.PluginFailed, Subject: "b"})
		r.List(t.Context())
		time.Sleep(10 * time.Second)
		want := []health.Problem{
			{
				Code: health.PluginFailed, Severity: health.Error, Subject: "a", Text: "The plugin a does not run: no token", Detail: "no token",
				Advice: "Set it.", Since: began, Gone: began.Add(10 * time.Second),
			},
			{Code: health.PluginFailed, Severity: health.Error, Subject: "b", Text: "The plugin b does not run", Since: began},
			{
				Code: health.DeadLetters, Severity: health.Warning, Text: "Messages could not be delivered, and were given up: 3", Detail: "3", Advice: "Look.",
				Since: began,
			},
		}
		if diff := cmp.Diff(want, r.List(t.Context())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.has(health.Report{Code: health.PluginFailed, Subject: "a"})
		r.List(t.Context())
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		p.has()
		if list := r.List(gone); len(list) != 3 || !list[0].Gone.IsZero() {
			t.Errorf("somebody who does not wait sees %+v", list)
		}
	})
}

// A cause is shown before what follows from it, or with it: otherwise owners would hear of both.
func TestKinds(t *testing.T) {
	t.Parallel()
	after := map[health.Code]time.Duration{}
	for _, k := range health.Kinds() {
		after[k.Code] = k.After
	}
	for _, k := range health.Kinds() {
		for _, cause := range k.Causes {
			if at, known := after[cause]; !known || at > k.After {
				t.Errorf("%s is shown after %s, and its cause %s after %s (known: %t)", k.Code, k.After, cause, at, known)
			}
		}
	}
}

// The manual has all codes, as they are.
func TestManual(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, k := range health.Kinds() {
		told, after := "yes", k.After.String()
		if k.Over == "" {
			told = "no"
		}
		if k.After == 0 {
			after = "at once"
		}
		want = append(want, fmt.Sprintf("`%s` | %s | %s | %s", k.Code, k.Severity, after, told))
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) == 5 && strings.HasPrefix(line, "| `") {
			if code := strings.Trim(cells[0], "| `"); slices.ContainsFunc(health.Kinds(), func(k health.Kind) bool { return string(k.Code) == code }) {
				got = append(got, strings.Join(append([]string{strings.TrimPrefix(cells[0], "| ")}, cells[1:4]...), " | "))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/operations.md (-code +manual):\n%s", diff)
	}
}
