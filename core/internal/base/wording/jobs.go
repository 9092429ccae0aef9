package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Beginnings of the labels of buttons below jobs, before the number.
const (
	ShowJobLabel = "Show "
	StopJobLabel = "Stop "
)

// JobUsage answers a /job that names none.
const JobUsage = "Which job? `/job NUMBER` shows one, `/job NUMBER stop` stops it. `/jobs` lists them."

// NoJob answers a /job for one that is not there.
func NoJob(id int64) string {
	return fmt.Sprintf("There is no job %d here. `/jobs` lists them.", id)
}

// Jobs answers /jobs.
func Jobs(list []domain.Job, now time.Time) string {
	if len(list) == 0 {
		return "There are no jobs. The agent starts one for a command that takes long, such as a build, and tells you here how it ended."
	}
	lines := make([]string, len(list))
	for i, j := range list {
		lines[i] = "- " + jobLine(j, now)
	}
	return strings.Join(lines, "\n")
}

// jobLine describes a job.
func jobLine(j domain.Job, now time.Time) string {
	what := Code(OneLine(j.Command, 60))
	if j.Title != "" {
		what = Escape(OneLine(j.Title, 60)) + " " + what
	}
	return fmt.Sprintf("%d: %s, %s", j.ID, what, jobState(j, now))
}

// jobState is how a job goes, or has gone.
func jobState(j domain.Job, now time.Time) string {
	took := age(j.EndedAt.Sub(j.StartedAt))
	switch j.State {
	case domain.JobRunning:
		return "runs for " + age(now.Sub(j.StartedAt))
	case domain.JobExited:
		if j.Code == 0 {
			return "done after " + took
		}
		return fmt.Sprintf("failed with exit code %d after %s", j.Code, took)
	case domain.JobStopped:
		return fmt.Sprintf("stopped by %s after %s", Escape(j.StoppedBy), took)
	case domain.JobInterrupted:
		return "interrupted after " + took
	default:
		return "did not begin"
	}
}

// Job answers a /job with the end of its output.
type Job struct {
	Job   domain.Job
	Now   time.Time
	Kept  int64 // bytes of output
	Shown Output
}

// String returns the answer.
func (j Job) String() string {
	said := "Job " + jobLine(j.Job, j.Now) + "."
	switch o := j.Shown; {
	case o.File > 0 && int64(o.File) < j.Kept:
		return said + fmt.Sprintf(" The file has the last %s of its output.", size(o.File))
	case o.File > 0:
		return said + " The file has its output."
	case o.Text == "":
		return said + " It has printed nothing so far."
	case o.Cut:
		return said + " The end of its output:\n\n" + Fenced(o.Text)
	default:
		return said + "\n\n" + Fenced(o.Text)
	}
}

// JobOver tells how a job has ended.
func JobOver(j domain.Job, now time.Time) string { return "Job " + jobLine(j, now) + "." }

// JobsGoOn is added to the answer of /stop: jobs run that it does not stop. Without any, it is empty.
func JobsGoOn(running []int64) string {
	switch len(running) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" Job %d goes on: `/job %[1]d stop` stops it.", running[0])
	}
	names := make([]string, len(running))
	for i, id := range running {
		names[i] = fmt.Sprint(id)
	}
	return fmt.Sprintf(" The jobs %s go on: `/job NUMBER stop` stops one.", strings.Join(names, ", "))
}
