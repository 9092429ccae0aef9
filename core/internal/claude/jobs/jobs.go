// Package jobs runs commands of the agent that outlive its turn, and the host: each has a process of its own that keeps what it
// prints in files. Their ends, and what was to be watched for, become turns of the session that started them.
package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Folder is the folder of the state with the files of jobs, each in a folder named after its id.
const Folder = "jobs"

// perPerson is how many jobs of one person who is no owner may run.
const perPerson = 2

// Errors of [Jobs.Start] and [Jobs.Stop].
var (
	ErrOff     = errors.New("jobs are switched off")
	ErrPattern = errors.New("the pattern is no regular expression")
	ErrEnded   = errors.New("the job has ended")
)

// Store keeps the jobs.
type Store interface {
	AddJob(ctx context.Context, j domain.Job, most, person int) (int64, error)
	BeginJob(ctx context.Context, id int64, pid int, startTime uint64, bootID string) error
	StopJob(ctx context.Context, id int64, by string) error
	ToldJob(ctx context.Context, id int64, told domain.JobNews) error
	EndJob(ctx context.Context, j domain.Job) error
	Job(ctx context.Context, id int64) (domain.Job, error)
	RunningJobs(ctx context.Context) ([]domain.Job, error)
	SessionJobs(ctx context.Context, session string, limit int) ([]domain.Job, error)
	Jobs(ctx context.Context, limit int) ([]domain.Job, error)
}

// Intake gives sessions turns. inbox.Intake implements it.
type Intake interface {
	// OfJob accepts a text for the session that started a job, as if the job's person had written it, once for an id. The error may
	// pass. False: there is no such session any more.
	OfJob(ctx context.Context, id domain.Key, session string, caller chat.Caller, text string) (bool, error)
}

// Options are the settings and collaborators of jobs.
type Options struct {
	Config config.Getter
	Folder string // of the files; it is created
	Family *process.Family
	Store  Store
	Intake Intake
	// Program is the path of this process's program: with [Command] and the folder of a job as its arguments it must call [RunJob] with
	// the file that is open as descriptor [Orders].
	Program string
}

// Jobs are the jobs of all sessions.
type Jobs struct {
	options Options
	log     hclog.Logger

	known   chan struct{}   // closed when the jobs of the previous process are known: others may start
	started chan domain.Job // jobs that are to be followed
	over    chan struct{}   // closed when none is followed any more

	ending sync.Mutex // held while a job ends, which is told once
}

// New returns jobs. Run must be called.
func New(o Options, log hclog.Logger) *Jobs {
	return &Jobs{options: o, log: log, known: make(chan struct{}), started: make(chan domain.Job), over: make(chan struct{})}
}

// Run follows the jobs, those of the previous process of the host first, until ctx ends. The jobs go on.
func (j *Jobs) Run(ctx context.Context) {
	var following sync.WaitGroup
	defer following.Wait()
	defer close(j.over)
	follow := func(job domain.Job) { following.Go(func() { j.follow(ctx, job) }) }
	left, err := j.options.Store.RunningJobs(ctx)
	if err != nil && ctx.Err() == nil {
		j.log.Error("the jobs of the previous process are not followed", "error", err)
	}
	for _, job := range left {
		follow(job)
	}
	j.sweep(ctx) // before others start: a folder may be of another job with the same id
	close(j.known)
	following.Go(func() {
		daily := time.NewTicker(24 * time.Hour)
		defer daily.Stop()
		for {
			select {
			case <-daily.C:
				j.sweep(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	for {
		select {
		case job := <-j.started:
			follow(job)
		case <-ctx.Done():
			return
		}
	}
}

// sweep removes the files of jobs that are not known any more.
func (j *Jobs) sweep(ctx context.Context) {
	if err := Sweep(ctx, j.options.Folder, j.options.Store); err != nil && ctx.Err() == nil {
		j.log.Warn("the files of old jobs cannot be removed", "error", err)
	}
}

// Start starts a job. Its ID and all that says how it went are set by Start. The error is [ErrOff], [ErrPattern], [domain.ErrJobsFull]
// or [domain.ErrPersonJobsFull] if it is not started for that reason.
func (j *Jobs) Start(ctx context.Context, job domain.Job) (domain.Job, error) {
	limits := j.options.Config.Get().Jobs
	if limits.MaxRunning == 0 {
		return job, ErrOff
	}
	if _, err := regexp.Compile(job.Pattern); err != nil {
		return job, fmt.Errorf("%w: %w", ErrPattern, err)
	}
	select {
	case <-j.known:
	case <-ctx.Done():
		return job, ctx.Err()
	}
	person := perPerson
	if job.Caller.Authority == chat.Owner {
		person = 0
	}
	job.State, job.StartedAt = domain.JobRunning, time.Now()
	var err error
	if job.ID, err = j.options.Store.AddJob(ctx, job, limits.MaxRunning, person); err != nil {
		return job, err
	}
	crashpoint.Pass("job-added")
	ctx = context.WithoutCancel(ctx) // it begins now, or has an end that tells why not
	if err := j.begin(ctx, &job, limits); err != nil {
		job.State, job.EndedAt = domain.JobFailed, time.Now()
		err = fmt.Errorf("start a job: %w", err)
		if failed := j.options.Store.EndJob(ctx, job); failed != nil {
			j.handOver(job) // its end is recorded later
			err = errors.Join(err, failed)
		}
		return job, err
	}
	j.handOver(job)
	j.log.Info("a job was started", "job", job.ID, "session", job.Session, "pid", job.PID)
	return job, nil
}

// handOver has a job followed, unless the host ends: then the next process of the host follows it.
func (j *Jobs) handOver(job domain.Job) {
	select {
	case j.started <- job:
	case <-j.over:
	}
}

// begin starts the process of a job, records it, and gives it its order.
func (j *Jobs) begin(ctx context.Context, job *domain.Job, limits config.Jobs) error {
	folder, err := j.makeFolder(job.ID)
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer write.Close()
	command := exec.Command(j.options.Program, Command, folder)
	command.Dir, command.Env = job.Folder, j.environment(job.ID)
	command.ExtraFiles = []*os.File{read}
	children := j.options.Family.Children()
	if err := children.Start(command); err != nil {
		return err
	}
	if err := j.limit(job.ID, command.Process.Pid, limits.Memory); err != nil {
		j.log.Warn("a job has no limit of memory", "job", job.ID, "error", err)
	}
	if err := j.order(ctx, job, command.Process.Pid, write, order{Shell: cli.FindShell(), Command: job.Command, Pattern: job.Pattern, Most: limits.MaxOutput}); err != nil {
		return errors.Join(err, write.Close(), children.Wait(command)) // without an order it ends
	}
	children.Detach(command)
	return nil
}

// order records the process of a job, and gives it its order.
func (j *Jobs) order(ctx context.Context, job *domain.Job, pid int, to io.Writer, o order) error {
	self, err := process.Identify(pid)
	if err != nil {
		return err
	}
	if err := j.options.Store.BeginJob(ctx, job.ID, self.PID, self.Started, process.BootID()); err != nil {
		return err
	}
	job.PID, job.StartTime, job.BootID = self.PID, self.Started, process.BootID()
	crashpoint.Pass("job-recorded")
	return json.NewEncoder(to).Encode(o)
}

// makeFolder makes the folder of a job, with an empty file of events. One that is there is of another job: the database is older than
// it, as after a restore.
func (j *Jobs) makeFolder(id int64) (string, error) {
	folder := place(j.options.Folder, id)
	if err := os.MkdirAll(j.options.Folder, 0o700); err != nil {
		return "", err
	}
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		kill(j.options.Folder, id, process.ID{})
		err = errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700))
	}
	if err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, eventsFile), nil, 0o600)
}

// environment is that of a job. It has the marks of the jobs, and that of the host, which tells that the job is the agent's.
func (j *Jobs) environment(id int64) []string {
	number := strconv.FormatInt(id, 10)
	env := append(cli.ShellEnvironment(), marks.Host+"="+j.options.Folder, marks.Name+"="+number)
	return append(env, j.options.Family.Marked("job:"+number)...)
}

// Stop ends a job with everything that it has started, and returns it once that is recorded. By says who stopped it. The error is
// [ErrEnded] or [domain.ErrNotFound] if it does not run.
func (j *Jobs) Stop(ctx context.Context, id int64, by string) (domain.Job, error) {
	job, err := j.options.Store.Job(ctx, id)
	if err != nil {
		return job, err
	}
	if job.Ended() {
		return job, ErrEnded
	}
	if err := j.options.Store.StopJob(ctx, id, by); err != nil {
		return job, err
	}
	crashpoint.Pass("job-stopped")
	if left := j.kill(job); len(left) > 0 {
		return job, fmt.Errorf("stop a job: process %d does not end", left[0].PID)
	}
	return j.end(context.WithoutCancel(ctx), job)
}

// files is the folder of a job, into which its command may write.
func (j *Jobs) files(id int64) *workspace.Workspace {
	return workspace.New(place(j.options.Folder, id))
}

// kill ends the processes of a job. It returns those that do not end.
func (j *Jobs) kill(job domain.Job) []process.ID {
	runner := process.ID{PID: job.PID, Started: job.StartTime}
	if job.BootID != process.BootID() {
		runner = process.ID{}
	}
	return kill(j.options.Folder, job.ID, runner)
}

// kill ends the processes of a job, also those that were left when the one that runs it was killed. It returns those that do not end.
func kill(folder string, id int64, runner process.ID) []process.ID {
	return process.KillTree(runner, marks.Host+"="+folder, marks.Name+"="+strconv.FormatInt(id, 10))
}

// Everywhere reports whether the caller sees the jobs of all conversations: an owner does, in private.
func Everywhere(caller chat.Caller) bool {
	return caller.Authority == chat.Owner && caller.Kind == chat.Direct
}

// For returns a job that the caller may see: of the caller's conversation, or [Everywhere]. The error is [domain.ErrNotFound] if there is
// none.
func (j *Jobs) For(ctx context.Context, caller chat.Caller, id int64) (domain.Job, error) {
	job, err := j.options.Store.Job(ctx, id)
	if err == nil && job.Session != session.PeoplesOf(caller.Session) && !Everywhere(caller) {
		return domain.Job{}, domain.ErrNotFound
	}
	return job, err
}

// Of returns the newest jobs of a session, the newest first; of all sessions, if it is empty.
func (j *Jobs) Of(ctx context.Context, session string, limit int) ([]domain.Job, error) {
	if session == "" {
		return j.options.Store.Jobs(ctx, limit)
	}
	return j.options.Store.SessionJobs(ctx, session, limit)
}

// Running returns the running jobs of a session, the oldest first.
func (j *Jobs) Running(ctx context.Context, session string) ([]domain.Job, error) {
	all, err := j.options.Store.RunningJobs(ctx)
	return slices.DeleteFunc(all, func(job domain.Job) bool { return job.Session != session }), err
}

// Read returns a part of what is kept of a job's output: up to size bytes from an offset, or, if that is negative, the last ones;
// and how many bytes are kept. Text that is no UTF-8 is left as it is.
func (j *Jobs) Read(id, offset, size int64) (part []byte, kept int64, err error) {
	part, kept, err = readOutput(j.files(id), offset, size)
	if err != nil {
		err = fmt.Errorf("read the output of a job: %w", err)
	}
	return part, kept, err
}
