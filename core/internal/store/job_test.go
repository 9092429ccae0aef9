package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := func(user string) domain.Job {
		return domain.Job{
			Session: "telegram:" + user, Title: "Build", Command: "make", Folder: "/src", Pattern: "^ok", State: domain.JobRunning,
			Caller:    chat.Caller{Address: chat.Address{Channel: "telegram", Chat: chat.ID(user)}, Sender: chat.Sender{ID: chat.UserID(user)}, Authority: chat.Authorised},
			StartedAt: b.clock.Now(), Deadline: b.clock.Now().Add(time.Hour),
		}
	}
	add := func(j domain.Job, most, person int) (domain.Job, error) {
		id, err := b.AddJob(b.ctx, j, most, person)
		j.ID = id
		return j, err
	}
	first, err := add(by("anna"), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Job(b.ctx, first.ID); err != nil || cmp.Diff(first, got) != "" {
		t.Errorf("the job: %v (-want +got):\n%s", err, cmp.Diff(first, got))
	}
	if _, err := b.Job(b.ctx, first.ID+1); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an unknown job: %v", err)
	}
	if _, err := add(by("anna"), 3, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := add(by("anna"), 3, 2); !errors.Is(err, domain.ErrPersonJobsFull) {
		t.Errorf("a third job of a person who may have two: %v", err)
	}
	if _, err := add(by("bob"), 3, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := add(by("carol"), 3, 0); !errors.Is(err, domain.ErrJobsFull) {
		t.Errorf("a fourth job of three: %v", err)
	}

	if err := b.BeginJob(b.ctx, first.ID, 42, 1<<63+7, "boot"); err != nil {
		t.Fatal(err)
	}
	first.PID, first.StartTime, first.BootID = 42, 1<<63+7, "boot"
	if err := b.BeginJob(b.ctx, 99, 42, 1, "boot"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an unknown job begins: %v", err)
	}
	first.Told = domain.JobNews{Matched: true}
	if err := b.ToldJob(b.ctx, first.ID, first.Told); err != nil {
		t.Fatal(err)
	}
	ended := first
	ended.State, ended.Code, ended.EndedAt, ended.Output, ended.Tail = domain.JobExited, 2, b.clock.Now().Add(time.Minute), 1<<40, "no rule"
	if err := b.EndJob(b.ctx, ended); err != nil {
		t.Fatal(err)
	}
	again := ended
	again.State, again.StoppedBy = domain.JobStopped, "anna"
	if err := b.EndJob(b.ctx, again); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	if got, err := b.Job(b.ctx, first.ID); err != nil || cmp.Diff(ended, got) != "" {
		t.Errorf("the ended job: %v (-want +got):\n%s", err, cmp.Diff(ended, got))
	}
	ids := func(list []domain.Job, err error) (ids []int64) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		for _, j := range list {
			ids = append(ids, j.ID)
		}
		return ids
	}
	for name, c := range map[string]struct{ got, want []int64 }{
		"running":     {ids(b.RunningJobs(b.ctx)), []int64{2, 3}},
		"anna's":      {ids(b.SessionJobs(b.ctx, "telegram:anna", 10)), []int64{2, 1}},
		"anna's last": {ids(b.SessionJobs(b.ctx, "telegram:anna", 1)), []int64{2}},
		"the last":    {ids(b.Jobs(b.ctx, 2)), []int64{3, 2}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s jobs (-want +got):\n%s", name, diff)
		}
	}

	b.clock.Advance(31 * 24 * time.Hour)
	if err := b.Purge(b.ctx, store.Ages{}); err != nil {
		t.Fatal(err)
	}
	if got := ids(b.Jobs(b.ctx, 10)); !cmp.Equal(got, []int64{3, 2}) {
		t.Errorf("after a month there are the jobs %v, want those that run", got)
	}
}

// The jobs of one who is forgotten are deleted, also those of groups.
func TestForgetJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := domain.Job{
		Session: "telegram:group:1", Command: "echo canary", StartedAt: b.clock.Now(),
		Caller: chat.Caller{Address: chat.Address{Channel: "telegram", Chat: "1"}, Sender: chat.Sender{ID: "bob"}},
	}
	var err error
	if j.ID, err = b.AddJob(b.ctx, j, 1, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.StopJob(b.ctx, j.ID, "bob"); err != nil {
		t.Fatal(err)
	}
	if err := b.BeginJob(b.ctx, j.ID, 42, 1, "boot"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a job that was stopped begins: %v", err)
	}
	found, err := b.Forget(b.ctx, store.Person{Users: []store.PersonUser{{Channel: "telegram", ID: "bob"}}}, false)
	if err != nil || found.Rows["jobs"] != 1 {
		t.Errorf("deleted %v, %v", found.Rows, err)
	}
	if _, err := b.Job(b.ctx, j.ID); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the job: %v", err)
	}
	if strings.Contains(strings.Join(found.Terms, " "), "canary") {
		t.Errorf("terms %q", found.Terms)
	}
}
