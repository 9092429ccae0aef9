package domain

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Job is a command that the agent has started, and that outlives the turn.
type Job struct {
	ID       int64  // by which people and the agent name it
	Session  string // whose agent started it, and gets the turns about it
	Caller   chat.Caller
	Title    string    // what it is for, in the model's words; may be empty
	Command  string    // of the shell
	Folder   string    // in which it runs
	Pattern  string    // a regular expression; the first line of output that it matches is told; empty: none
	Deadline time.Time // when it is told that the job still runs; zero: never
	Told     JobNews   // what has been told already

	PID       int // of the process that runs it; zero: it has not begun
	StartTime uint64
	BootID    string

	State     JobState
	Code      int // its exit code, if State is JobExited; 128 and the number of the signal that ended it
	StartedAt time.Time
	EndedAt   time.Time // zero: it runs
	Output    int64     // bytes that it has printed, at its end
	Tail      string    // the end of that, at most [MaxJobTail] bytes
	StoppedBy string    // who has stopped it, or is about to; empty: nobody
}

// MaxJobTail bounds the end of a job's output that its row keeps, in bytes.
const MaxJobTail = 4 << 10

// JobNews is what the session of a job learns while it runs.
type JobNews struct {
	Matched bool // the line that the pattern matches
	Late    bool // that the deadline has passed
}

// JobState is the state of a job.
type JobState string

// The states of a job.
const (
	JobRunning     JobState = "running"
	JobExited      JobState = "exited"
	JobStopped     JobState = "stopped"     // by a person or the agent
	JobInterrupted JobState = "interrupted" // by a reboot, or because what ran it was killed
	JobFailed      JobState = "failed"      // it did not begin
)

// Ended reports whether the job does not run any more.
func (j Job) Ended() bool { return j.State != JobRunning }
