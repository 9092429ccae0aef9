package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/sdk/wire"
)

// pollInterval is how often the files of a job are looked at while it runs: nothing reports the end of what is no child, as after a restart of
// the host.
const pollInterval = 250 * time.Millisecond

// retryInterval is the wait after something could not be told or recorded.
const retryInterval = 10 * time.Second

// maxEvents bounds what is read of a job's events, in bytes.
const maxEvents = 64 << 10

// follow tells what happens to a job, until it has ended or ctx ends.
func (j *Jobs) follow(ctx context.Context, job domain.Job) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	if job.StoppedBy != "" { // and the host ended before the job did
		j.kill(job)
	}
	for unread := false; ; {
		ended := j.ended(job) // before the events are read: none follows
		events, err := j.events(job)
		if err != nil && !unread { // its command may have put something else there: its end is seen anyway
			j.log.Warn("what happens to a job cannot be read", "job", job.ID, "error", err)
		}
		unread = err != nil
		if ended {
			if _, err = j.end(ctx, job); err == nil {
				return
			}
		} else {
			err = j.news(ctx, &job, events)
		}
		if err != nil && ctx.Err() == nil {
			j.log.Error("what has become of a job cannot be told, and is tried again", "job", job.ID, "session", job.Session, "error", err)
			tick.Reset(retryInterval)
		} else {
			tick.Reset(pollInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// news tells what has happened to a running job, once.
func (j *Jobs) news(ctx context.Context, job *domain.Job, events event) error {
	now, told := time.Now(), job.Told
	if events.Matched != nil && !told.Matched {
		if err := j.tell(ctx, *job, "matched", matchedReport(*job, *events.Matched)); err != nil {
			return err
		}
		told.Matched = true
	}
	if !job.Deadline.IsZero() && now.After(job.Deadline) && !told.Late {
		if err := j.tell(ctx, *job, "late", lateReport(*job, now, j.tail(*job))); err != nil {
			return err
		}
		told.Late = true
	}
	if told == job.Told {
		return nil
	}
	job.Told = told
	return j.options.Store.ToldJob(ctx, job.ID, told)
}

// ended reports whether the process of a job has ended, so that no event will follow.
func (j *Jobs) ended(job domain.Job) bool {
	if job.PID == 0 || job.BootID != process.BootID() {
		return true
	}
	j.options.Family.Children().Collect(job.PID)
	return !process.Alive(job.PID, job.StartTime)
}

// end records how a job has ended, and tells its session, once; not if it was stopped, because who did it knows.
func (j *Jobs) end(ctx context.Context, job domain.Job) (domain.Job, error) {
	j.ending.Lock()
	defer j.ending.Unlock()
	job, err := j.options.Store.Job(ctx, job.ID)
	if err != nil || job.Ended() {
		return job, err
	}
	events, err := j.events(job)
	if left := j.kill(job); len(left) > 0 {
		j.log.Warn("a process of a job does not end", "job", job.ID, "pid", left[0].PID)
	}
	group, now := j.group(job.ID), time.Now()
	job.EndedAt, job.Output, job.Tail = now, events.Output, j.tail(job)
	switch {
	case job.StoppedBy != "":
		job.State = domain.JobStopped
	case job.PID == 0, err == nil && !events.Began, events.Failed != "":
		job.State = domain.JobFailed
	case events.Exited == nil:
		job.State = domain.JobInterrupted
	default:
		job.State, job.Code = domain.JobExited, *events.Exited
		if events.At.After(job.StartedAt) && events.At.Before(now) {
			job.EndedAt = events.At
		}
	}
	if job.State != domain.JobStopped {
		if err := j.tell(ctx, job, "ended", endReport(job, events.Failed, group.Exhausted())); err != nil {
			return job, err
		}
	}
	crashpoint.Pass("job-told")
	if err := group.Remove(); err != nil {
		j.log.Warn("the control group of a job stays", "job", job.ID, "error", err)
	}
	if err := j.options.Store.EndJob(ctx, job); err != nil {
		return job, err
	}
	j.log.Info("a job has ended", "job", job.ID, "session", job.Session, "state", job.State, "code", job.Code,
		"took", job.EndedAt.Sub(job.StartedAt).Round(time.Millisecond))
	return job, nil
}

// tell gives the session of a job a turn, once for what has happened.
func (j *Jobs) tell(ctx context.Context, job domain.Job, what, text string) error {
	there, err := j.options.Intake.OfJob(ctx, domain.KeyJob.Of(job.ID, what), job.Session, job.Caller, text)
	if err == nil && !there {
		j.log.Warn("the session of a job is gone, and does not learn of it", "job", job.ID, "session", job.Session)
	}
	return err
}

// events reads the events of a job. The last line may be unfinished.
func (j *Jobs) events(job domain.Job) (all event, err error) {
	folder, err := j.files(job.ID).Open()
	if err != nil {
		return all, fmt.Errorf("read the events of a job: %w", err)
	}
	defer folder.Close()
	text, err := folder.ReadFile(eventsFile, maxEvents)
	if err != nil {
		return all, fmt.Errorf("read the events of a job: %w", err)
	}
	for line := range bytes.Lines(text) {
		var e event
		if !bytes.HasSuffix(line, []byte{'\n'}) || json.Unmarshal(line, &e) != nil {
			continue
		}
		all.Began = all.Began || e.Began
		switch {
		case e.Matched != nil:
			line := wire.Cut(wire.Repair(*e.Matched), maxLine)
			all.Matched = &line
		case e.Exited != nil:
			all.Exited, all.Output, all.At = e.Exited, e.Output, e.At
		case e.Failed != "":
			all.Failed = e.Failed
		}
	}
	return all, nil
}

// tail is the end of a job's output, as text; what there is of it.
func (j *Jobs) tail(job domain.Job) string {
	part, _, err := j.Read(job.ID, -1, domain.MaxJobTail)
	if err != nil {
		j.log.Warn("the output of a job cannot be read", "job", job.ID, "error", err)
	}
	for len(part) > 0 && !utf8.RuneStart(part[0]) { // it may begin within a character
		part = part[1:]
	}
	return wire.Repair(string(part))
}

// Sweep ends jobs that the store does not have any more, such as those of a person who was forgotten, and removes their files from
// the folder of all jobs.
func Sweep(ctx context.Context, folder string, store interface {
	Job(ctx context.Context, id int64) (domain.Job, error)
},
) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		id, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || strconv.FormatInt(id, 10) != e.Name() {
			continue
		}
		if _, err := store.Job(ctx, id); errors.Is(err, domain.ErrNotFound) {
			if left := kill(folder, id, process.ID{}); len(left) > 0 {
				continue
			}
			if err := os.RemoveAll(place(folder, id)); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}
