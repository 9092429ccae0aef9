package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// Command is the argument with which the host executes its own program to run a job. The job's folder follows it.
const Command = cli.JobCommand

// Orders is the file descriptor from which the process of a job reads its order.
const Orders = 3

// order is what the runner of a job is told, once the host has recorded it.
type order struct {
	Shell   string `json:"shell"`
	Command string `json:"command"`
	Pattern string `json:"pattern,omitempty"`
	Most    int64  `json:"most"` // bytes of output that are kept
}

// event is a line of a job's file of events, or all of its lines together.
type event struct {
	Began   bool      `json:"began,omitempty"`
	Matched *string   `json:"matched,omitempty"` // the first line that the pattern matches
	Exited  *int      `json:"exited,omitempty"`  // its exit code
	Failed  string    `json:"failed,omitempty"`  // why it did not begin
	Output  int64     `json:"output,omitempty"`  // bytes, at its end
	At      time.Time `json:"at"`                // of all together: of the end
}

// marks are the variables in the environment of a job's processes by which they are found: the folder of all jobs, and the job's id.
var marks = process.Marks{Host: "CLAWHOST_JOBS", Name: "CLAWHOST_JOB"}

// eventsFile is the file in the folder of a job to which its events are written.
const eventsFile = "events"

// maxLine bounds the line that a pattern is compared with, in bytes.
const maxLine = 16 << 10

// RunJob runs a job. It is all that the process of a job does, which the host executes by the arguments "run-job" and the job's
// folder. It reads its order from a pipe, and does nothing if that ends without one: the host has ended before it had recorded
// the process. What happens goes to files in the folder, so that the job goes on without the host.
func RunJob(in io.ReadCloser, folder string) error {
	var o order
	err := json.NewDecoder(in).Decode(&o)
	_ = in.Close()
	if err != nil {
		return nil // there is no host to tell
	}
	r := &runner{folder: folder, order: o}
	if r.events, err = os.OpenFile(filepath.Join(folder, eventsFile), os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	defer r.events.Close()
	return r.run()
}

// runner runs one job.
type runner struct {
	folder string
	order  order
	events *os.File
}

func (r *runner) run() error {
	children := &process.Children{}
	_ = children.Adopt() // where that is not possible, what leaves the process group outlives the job
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reaping := make(chan struct{})
	go func() { children.Reap(ctx); close(reaping) }()
	defer func() { cancel(); <-reaping }()

	kept, err := newOutput(r.folder, r.order.Most)
	if err != nil {
		return errors.Join(err, r.tell(event{Failed: err.Error()}))
	}
	defer kept.Close()
	watched := &watcher{to: kept, runner: r}
	if r.order.Pattern != "" {
		if watched.pattern, err = regexp.Compile(r.order.Pattern); err != nil {
			return errors.Join(err, r.tell(event{Failed: err.Error()}))
		}
	}
	command := exec.CommandContext(ctx, r.order.Shell, "-c", r.order.Command)
	command.Stdout, command.Stderr = watched, watched // one pipe, so that lines do not mix
	command.Env = os.Environ()                        // it has the marks
	family := process.NewFamily(children, marks, filepath.Dir(r.folder))
	if err := r.tell(event{Began: true}); err != nil {
		return err
	}
	member, err := family.Start(command, filepath.Base(r.folder))
	if err != nil {
		return errors.Join(err, r.tell(event{Failed: err.Error()}))
	}
	err = member.Wait() // and ends what it has left running
	watched.end()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = cli.ExitCode(exit)
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return errors.Join(err, r.tell(event{Failed: err.Error()}))
	}
	return r.tell(event{Exited: &code, Output: kept.written})
}

// tell writes an event, which is on the disk when it returns.
func (r *runner) tell(e event) error {
	e.At = time.Now()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := r.events.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write what happened: %w", err)
	}
	return r.events.Sync()
}

// watcher looks for the first line that a pattern matches.
type watcher struct {
	to      io.Writer
	runner  *runner
	pattern *regexp.Regexp // nil: there is none, or it has matched
	line    []byte         // the unfinished one, at most maxLine bytes
}

// Write never fails: a full disk must not end the job.
func (w *watcher) Write(p []byte) (int, error) {
	_, _ = w.to.Write(p)
	for rest := p; w.pattern != nil && len(rest) > 0; {
		line, more, whole := bytes.Cut(rest, []byte{'\n'})
		w.line = append(w.line, line[:min(len(line), maxLine-len(w.line))]...)
		if whole {
			w.end()
		}
		rest = more
	}
	return len(p), nil
}

// end compares the line, which has ended.
func (w *watcher) end() {
	if w.pattern != nil && len(w.line) > 0 && w.pattern.Match(w.line) {
		w.pattern = nil
		line := string(bytes.ToValidUTF8(w.line, []byte("�")))
		_ = w.runner.tell(event{Matched: &line}) // the end of the job is told by itself
	}
	w.line = w.line[:0]
}
