package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/sdk/wire"
)

// step is how often the files of a job are looked at while it runs: nothing reports the end of what is no child, as after a restart of
// the host.
const step = 250 * time.Millisecond

// maxEvents bounds what is read of a job's events, in bytes.
const maxEvents = 1 << 20

// follow tells what happens to a job, until it has ended or ctx ends.
func (j *Jobs) follow(ctx context.Context, job domain.Job) {
	tick := time.NewTicker(step)
	defer tick.Stop()
	if by, err := j.stoppedBy(job); by != "" && err == nil { // and the host ended before the job did
		j.kill(job)
	}
	matched, late := false, false
	for {
		ended := j.ended(job)
		events, err := j.events(job)
		switch {
		case err != nil:
			j.log.Error("a job cannot be followed", "job", job.ID, "error", err)
		case events.matched != nil && !matched:
			matched = j.tell(ctx, job, "matched", matchedReport(job, *events.matched))
		}
		switch now := time.Now(); {
		case ended || events.ended():
			if j.over(ctx, job) {
				return
			}
		case !job.Deadline.IsZero() && !late && now.After(job.Deadline):
			late = j.tell(ctx, job, "late", lateReport(job, now, j.tail(job)))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// over ends a job, and reports whether that is recorded.
func (j *Jobs) over(ctx context.Context, job domain.Job) bool {
	_, err := j.end(ctx, job)
	if err != nil && ctx.Err() == nil {
		j.log.Error("the end of a job cannot be recorded", "job", job.ID, "error", err)
	}
	return err == nil
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
	if now, err := j.options.Store.Job(ctx, job.ID); err != nil || now.Ended() {
		return now, err
	}
	events, err := j.events(job)
	if err != nil {
		return job, err
	}
	by, err := j.stoppedBy(job)
	if err != nil {
		return job, err
	}
	job.EndedAt, job.Output, job.Tail = time.Now(), events.output, j.tail(job)
	switch {
	case by != "":
		job.State, job.StoppedBy = domain.JobStopped, by
	case events.exited != nil:
		job.State, job.Code, job.EndedAt = domain.JobExited, *events.exited, events.at
	case !events.began, events.failed != "":
		job.State = domain.JobFailed
	default:
		job.State = domain.JobInterrupted
		j.kill(job)
	}
	if job.State != domain.JobStopped && !j.tell(ctx, job, "ended", endReport(job, events.failed)) {
		return job, errors.New("its session was not told")
	}
	crashpoint.Pass("job-told")
	if err := j.options.Store.EndJob(ctx, job); err != nil {
		return job, err
	}
	j.log.Info("a job has ended", "job", job.ID, "session", job.Session, "state", job.State, "code", job.Code,
		"took", job.EndedAt.Sub(job.StartedAt).Round(time.Millisecond))
	return job, nil
}

// stoppedBy returns who stops a job, or has stopped it; empty: nobody.
func (j *Jobs) stoppedBy(job domain.Job) (string, error) {
	by, err := os.ReadFile(filepath.Join(place(j.options.Folder, job.ID), stoppedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read who stopped a job: %w", err)
	}
	return string(by), nil
}

// tell gives the session of a job a turn, once for what has happened. False: it must be tried again.
func (j *Jobs) tell(ctx context.Context, job domain.Job, what, text string) bool {
	taken, err := j.options.Intake.OfJob(ctx, domain.KeyJob.Of(job.ID, what), job.Session, job.Caller, text)
	if err != nil {
		if ctx.Err() == nil {
			j.log.Error("a session cannot be told of its job", "job", job.ID, "session", job.Session, "error", err)
		}
		return false
	}
	if !taken {
		j.log.Warn("a session does not take what its job has to tell", "job", job.ID, "session", job.Session, "about", what)
	}
	return true
}

// happened is what the events of a job say.
type happened struct {
	began   bool
	matched *string
	exited  *int
	failed  string
	output  int64
	at      time.Time
}

// ended reports whether nothing more will happen.
func (h happened) ended() bool { return h.exited != nil || h.failed != "" }

// events reads the events of a job. The last line may be unfinished.
func (j *Jobs) events(job domain.Job) (h happened, err error) {
	file, err := os.Open(filepath.Join(place(j.options.Folder, job.ID), eventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	} else if err != nil {
		return h, fmt.Errorf("read the events of a job: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEvents))
	if err != nil {
		return h, fmt.Errorf("read the events of a job: %w", err)
	}
	for line := range bytes.Lines(text) {
		var e event
		if !bytes.HasSuffix(line, []byte{'\n'}) || json.Unmarshal(line, &e) != nil {
			continue
		}
		h.began = h.began || e.Began
		switch {
		case e.Matched != nil:
			h.matched = e.Matched
		case e.Exited != nil:
			h.exited, h.output, h.at = e.Exited, e.Output, e.At
		case e.Failed != "":
			h.failed = e.Failed
		}
	}
	return h, nil
}

// tail is the end of a job's output, as text; what there is of it.
func (j *Jobs) tail(job domain.Job) string {
	part, _, err := j.Read(job.ID, -1, domain.MaxJobTail)
	if err != nil {
		j.log.Warn("the output of a job cannot be read", "job", job.ID, "error", err)
	}
	text := wire.Repair(string(part))
	return text[max(0, len(text)-domain.MaxJobTail):]
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
		if err != nil || strings.HasPrefix(e.Name(), "+") {
			continue
		}
		if _, err := store.Job(ctx, id); errors.Is(err, domain.ErrNotFound) {
			kill(folder, id, process.ID{})
			if err := os.RemoveAll(place(folder, id)); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}
