package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// This program runs the jobs of its tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == jobs.Command {
		if err := jobs.RunJob(os.NewFile(jobs.Orders, "orders"), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// told is what sessions were told, by key.
type told struct {
	mu   sync.Mutex
	said map[string]string
	news chan struct{}
}

func (s *told) OfJob(_ context.Context, id domain.Key, session string, _ chat.Caller, text string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.said[id.String()]; !again {
		s.said[id.String()] = session + ": " + text
		s.news <- struct{}{}
	}
	return true, nil
}

// await waits until so much was told, and returns it.
func (s *told) await(t *testing.T, key string) string {
	t.Helper()
	for {
		s.mu.Lock()
		text, ok := s.said[key]
		s.mu.Unlock()
		if ok {
			return text
		}
		select {
		case <-s.news:
		case <-time.After(time.Minute):
			t.Fatalf("%s is not told", key)
		}
	}
}

// rig are jobs with a store.
type rig struct {
	*jobs.Jobs
	*told
	store  *store.Store
	folder string
	config *config.Config
	stop   func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), filepath.Join(dir, "db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := &rig{
		told: &told{said: map[string]string{}, news: make(chan struct{}, 100)}, store: s, folder: filepath.Join(dir, "jobs"),
		config: &config.Config{Jobs: config.Jobs{MaxRunning: 3, MaxOutput: 1 << 20}},
	}
	r.start(t)
	return r
}

// start begins to follow, as a new process of the host does.
func (r *rig) start(t *testing.T) {
	t.Helper()
	r.Jobs = jobs.New(jobs.Options{
		Config: r.config, Folder: r.folder, Family: cli.NewFamily(&process.Children{}), Store: r.store, Intake: r.told, Program: process.Self(),
	}, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	r.stop = func() { cancel(); running.Wait() }
	t.Cleanup(r.stop)
}

func by(authority chat.Authority, user chat.UserID) chat.Caller {
	return chat.Caller{Authority: authority, Sender: chat.Sender{ID: user}, Address: chat.Address{Channel: "echo", Chat: "c"}}
}

func (r *rig) begin(t *testing.T, j domain.Job) domain.Job {
	t.Helper()
	if j.Session == "" {
		j.Session, j.Caller = "s", by(chat.Owner, "anna")
	}
	if j.Folder == "" {
		j.Folder = t.TempDir()
	}
	j, err := r.Start(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Behaviour: jobs, jobs-told.
func TestJobIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := filepath.Join(t.TempDir(), "gate")
	j := r.begin(t, domain.Job{
		Title: "Wait", Pattern: "^ready", Deadline: time.Now(),
		Command: "echo ready; pwd; until [ -e " + gate + " ]; do sleep 0.02; done; echo over >&2; kill -9 $$",
	})
	if said := r.await(t, "job:1:matched"); !strings.HasPrefix(said, "s: Job 1 (Wait), which was started") || !strings.Contains(said, "```\nready\n```") {
		t.Errorf("of the line is told %q", said)
	}
	if said := r.await(t, "job:1:late"); !strings.Contains(said, "still runs after") || !strings.Contains(said, "ready") {
		t.Errorf("after the time is told %q", said)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := r.await(t, "job:1:ended"); !strings.Contains(said, "with exit code 137") || !strings.Contains(said, "ready\n"+j.Folder+"\nover") {
		t.Errorf("of the end is told %q", said)
	}
	for {
		j, err := r.store.Job(t.Context(), j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if j.Ended() {
			if j.State != domain.JobExited || j.Code != 137 || !strings.HasSuffix(j.Tail, "over\n") || j.Output != int64(len(j.Tail)) {
				t.Errorf("the job is %+v", j)
			}
			break
		}
	}
	if _, err := r.Stop(t.Context(), j.ID, "anna"); !errors.Is(err, jobs.ErrEnded) {
		t.Errorf("stopped afterwards: %v", err)
	}
}

// After a restart of the machine nothing runs, whatever has the job's pid now.
// Behaviour: jobs-adopted.
func TestJobAfterAReboot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stop()
	started, err := process.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"1", "2"} {
		if err := os.MkdirAll(filepath.Join(r.folder, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.AddJob(t.Context(), domain.Job{Session: "s", Command: "make", StartedAt: time.Now()}, 9, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r.folder, "1", "events"), []byte("{\"began\":true}\n{\"exi"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.store.BeginJob(t.Context(), 1, os.Getpid(), started, "an earlier boot"); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	if said := r.await(t, "job:1:ended"); !strings.Contains(said, "was interrupted: the machine was restarted") {
		t.Errorf("of the one that ran is told %q", said)
	}
	if said := r.await(t, "job:2:ended"); !strings.Contains(said, "did not begin: the host ended") {
		t.Errorf("of the one that had not begun is told %q", said)
	}
}

// A command may write into the folder of its job. What it puts there neither stops the host nor keeps the end of the job from it.
func TestHostileJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin(t, domain.Job{Command: "echo shown; cd " + filepath.Join(r.folder, "1") + " && rm events output && mkfifo events output; exit 3"})
	if said := r.await(t, "job:1:ended"); !strings.Contains(said, "was interrupted") || !strings.Contains(said, "It has printed nothing.") {
		t.Errorf("of the one that has replaced its files by pipes is told %q", said)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.begin(t, domain.Job{Command: "cd " + filepath.Join(r.folder, "2") + " && ln -sf " + secret + " output"})
	if said := r.await(t, "job:2:ended"); strings.Contains(said, "a secret") {
		t.Errorf("a link in the folder is followed: %q", said)
	}
}

// What a command says of its own end does not count while it runs.
func TestForgedEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.begin(t, domain.Job{
		Pattern: "^ready",
		Command: `echo '{"exited":0,"output":7,"at":"9999-01-01T00:00:00Z"}' >>` + filepath.Join(r.folder, "1", "events") + "; echo ready; sleep 1000",
	})
	r.await(t, "job:1:matched")
	if got, err := r.store.Job(t.Context(), j.ID); err != nil || got.Ended() {
		t.Errorf("the job is %+v, %v", got, err)
	}
	if got, err := r.Stop(t.Context(), j.ID, "anna"); err != nil || got.State != domain.JobStopped || got.EndedAt.After(time.Now()) || process.Alive(j.PID, j.StartTime) {
		t.Errorf("stopped it is %+v, %v", got, err)
	}
}

// Nothing outruns a stop, whatever it does to its environment and session.
func TestStopEndsAll(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets the runner adopt")
	}
	r := newRig(t)
	j := r.begin(t, domain.Job{Pattern: "^ready", Command: "while :; do env -i setsid sleep 86399.5 & echo ready; sleep 0.01; done"})
	r.await(t, "job:1:matched")
	if _, err := r.Stop(t.Context(), j.ID, "anna"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && slices.Equal(process.Arguments(pid), []string{"sleep", "86399.5"}) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// After the restore of an older database an id is used again, whose folder is there.
func TestFolderOfAnotherJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := os.MkdirAll(filepath.Join(r.folder, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"events": `{"began":true}` + "\n" + `{"exited":9}` + "\n", "output": "another's", "output.newer": "more"} {
		if err := os.WriteFile(filepath.Join(r.folder, "1", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.begin(t, domain.Job{Command: "echo own"})
	if said := r.await(t, "job:1:ended"); !strings.Contains(said, "has ended successfully") || !strings.Contains(said, "```\nown\n") {
		t.Errorf("told is %q", said)
	}
}

// Behaviour: jobs.
func TestJobLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wait := func(c chat.Caller) error {
		j, err := r.Start(t.Context(), domain.Job{Session: "s", Caller: c, Command: "sleep 1000", Folder: t.TempDir()})
		if err == nil {
			t.Cleanup(func() { _, _ = r.Stop(context.Background(), j.ID, "the test") })
		}
		return err
	}
	for i, c := range []struct {
		by   chat.Caller
		want error
	}{
		{by(chat.Authorised, "bob"), nil},
		{by(chat.Authorised, "bob"), nil},
		{by(chat.Authorised, "bob"), domain.ErrPersonJobsFull},
		{by(chat.Owner, "anna"), nil},
		{by(chat.Owner, "anna"), domain.ErrJobsFull},
	} {
		if err := wait(c.by); !errors.Is(err, c.want) {
			t.Errorf("start %d: %v, want %v", i, err, c.want)
		}
	}
	if _, err := r.Start(t.Context(), domain.Job{Pattern: "("}); !errors.Is(err, jobs.ErrPattern) {
		t.Errorf("a pattern that is none: %v", err)
	}
	r.config.Jobs.MaxRunning = 0
	if err := wait(by(chat.Owner, "anna")); !errors.Is(err, jobs.ErrOff) {
		t.Errorf("switched off: %v", err)
	}
	if _, err := r.Stop(t.Context(), 99, "anna"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
}

// What the store does not know any more neither runs nor has files.
func TestSweep(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds processes by their environment")
	}
	r := newRig(t)
	j := r.begin(t, domain.Job{Command: "setsid sleep 1000 & echo $! >pid; sleep 1000"})
	other := r.begin(t, domain.Job{Command: "sleep 1000"})
	t.Cleanup(func() { _, _ = r.Stop(context.Background(), other.ID, "the test") })
	r.stop()
	if err := os.MkdirAll(filepath.Join(r.folder, "notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := jobs.Sweep(t.Context(), r.folder, only{other}); err != nil {
		t.Fatal(err)
	}
	if process.Alive(j.PID, j.StartTime) {
		t.Error("the job runs")
	}
	if !process.Alive(other.PID, other.StartTime) {
		t.Error("the other one does not")
	}
	entries, err := os.ReadDir(r.folder)
	if len(entries) != 2 || entries[0].Name() != "2" || entries[1].Name() != "notes" || err != nil {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// only is a store with one job.
type only struct{ job domain.Job }

func (o only) Job(_ context.Context, id int64) (domain.Job, error) {
	if id == o.job.ID {
		return o.job, nil
	}
	return domain.Job{}, domain.ErrNotFound
}
