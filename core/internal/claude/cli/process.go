package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/budget"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/process"
)

// Output takes what a process writes to stdout.
type Output interface {
	// Line takes a line, which is valid until it returns. More says that another one has come already. Patience is how long what
	// follows may wait to be read, so that much of it is read together. The error says that the line is no event.
	Line(line []byte, more bool) (patience time.Duration, err error)
	// End comes once, after the last line of a process that has ended.
	End()
}

// Process is a claude of one session. Four goroutines serve it while it runs: one each reads stdout and stderr, one writes stdin,
// one waits for the end and then for the others.
type Process struct {
	command *Command
	session string
	args    []string
	prompt  string // the text of the system prompt
	log     hclog.Logger
	cmd     *exec.Cmd
	self    ID
	stdin   *os.File
	lines   chan []byte // to stdin
	output  Output

	gone   chan struct{} // it has ended
	exited chan struct{} // and all that it wrote was read

	// Written before exited is closed.
	exit   error
	fault  string // why the host has killed it; empty: it has not
	stderr tail

	noise budget.Budget // for complaints of what it writes
}

// Process prepares a process for a turn's session.
func (c *Command) Process(t agent.Turn, from Origin, log hclog.Logger) *Process {
	var args []string
	switch from {
	case Fresh:
		args = []string{"--session-id", t.Session}
	case Resumed:
		args = []string{"--resume", t.Session}
	case Forked:
		args = []string{"--resume", t.ForkOf, "--fork-session", "--session-id", t.Session}
	}
	return &Process{
		command: c, session: t.Session, args: slices.Concat(args, c.args, c.tooled(t), c.profiled(t.Profile)),
		prompt: t.Profile.SystemPrompt, log: log,
		lines: make(chan []byte, 256), gone: make(chan struct{}), exited: make(chan struct{}),
	}
}

// Start starts the process, once. Where it fails, the output is not called.
func (p *Process) Start(output Output) error {
	prompt, err := p.command.writePrompt(p.prompt)
	if err != nil {
		return err
	}
	env, revoke := credentials(p.command.options)
	release := func() {
		revoke()
		p.command.removePrompt(prompt, p.log)
	}
	args := p.args
	if prompt != "" {
		args = append(slices.Clip(args), "--append-system-prompt-file", prompt)
	}
	p.output, p.cmd = output, exec.Command(p.command.Path, args...)
	p.cmd.Dir, p.cmd.Env = p.command.workspace, slices.Concat(p.command.env, env) // of two values of one variable the last counts
	// It is in a session of its own, which keeps the terminal's signals away. There is no death signal: it would leave the
	// tools running, whereas the end of stdin lets claude finish them and leave.
	stdin, stdout, stderr, err := p.pipes()
	if err != nil {
		release()
		return err
	}
	p.command.family.join(p.session) // before it can start anything
	err = p.execute()
	p.closeChildEnds()
	if err != nil {
		p.command.family.leave(p.session)
		for _, f := range []*os.File{stdin, stdout, stderr} {
			f.Close()
		}
		release()
		if errors.Is(err, fs.ErrNotExist) {
			err = &NotInstalledError{Command: p.command.options.Command, Err: err}
		}
		return err
	}
	p.stdin = stdin
	events := &batchReader{file: stdout}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(events) })
	readers.Go(func() { p.stderr.read(stderr) })
	readers.Go(p.write)
	go func() {
		defer close(p.exited)
		defer release()
		p.wait(&readers, events, stderr)
	}()
	return nil
}

// execute starts the process. One that cannot be identified is of no use: the next host process could not end it.
func (p *Process) execute() error {
	if err := p.command.family.children.Start(p.cmd); err != nil {
		return err
	}
	var err error
	if p.self, err = newProc(p.cmd.Process.Pid); err != nil {
		p.Kill()
		_ = p.command.family.children.Wait(p.cmd)
	}
	return err
}

// pipes makes the three pipes and gives the command its ends. They are made by hand because a descendant that holds
// stdout open must not hold up the end of the process.
func (p *Process) pipes() (stdin, stdout, stderr *os.File, err error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, nil, nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		for _, f := range []*os.File{inR, inW, outR, outW} {
			f.Close()
		}
		return nil, nil, nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, errW
	return inW, outR, errR, nil
}

func (p *Process) closeChildEnds() {
	p.cmd.Stdin.(*os.File).Close()
	p.cmd.Stdout.(*os.File).Close()
	p.cmd.Stderr.(*os.File).Close()
}

// wait reaps the process and then ends its other goroutines.
func (p *Process) wait(readers *sync.WaitGroup, stdout *batchReader, stderr *os.File) {
	const drain = 250 * time.Millisecond // for what was written before the exit; a tool may hold the pipes for ever
	p.exit = p.command.family.children.Wait(p.cmd)
	p.command.family.leave(p.session)
	_ = stdout.SetReadDeadline(time.Now().Add(drain))
	_ = stderr.SetReadDeadline(time.Now().Add(drain))
	p.stdin.Close()
	close(p.gone)
	readers.Wait()
	p.output.End()
	stdout.Close()
	stderr.Close()
}

// write writes the lines to stdin until the process is gone.
func (p *Process) write() {
	for {
		select {
		case <-p.gone:
			return
		case line := <-p.lines:
			if line == nil {
				p.stdin.Close()
			} else if _, err := p.stdin.Write(line); err != nil {
				p.log.Debug("cannot write to claude", "error", err) // it has left, or is about to: wait tells
			}
		}
	}
}

// Send queues a line for stdin. A process that does not read hundreds of lines is of no use and is killed.
func (p *Process) Send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		p.log.Error("cannot encode a line for claude", "error", err)
		return
	}
	p.queue(append(line, '\n'))
}

// queue hands a line to the writer; nil ends stdin.
func (p *Process) queue(line []byte) {
	select {
	case p.lines <- line:
	case <-p.gone:
	default:
		p.log.Error("claude does not read its stdin and is killed")
		p.Kill()
	}
}

// ID says which process it is.
func (p *Process) ID() ID { return p.self }

// Exited is closed when the process has ended and all that it wrote was read.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stderr returns the end of what it has written to stderr.
func (p *Process) Stderr() string { return p.stderr.String() }

// Ended says how the process ended, once it has.
func (p *Process) Ended() string {
	how := "the process ended"
	if p.fault != "" {
		how = "the process was killed, as " + p.fault
	}
	if p.exit != nil {
		how += ": " + p.exit.Error()
	}
	return how
}

// Record is what the next host process needs to end this one.
func (p *Process) Record() domain.Process {
	return domain.Process{
		Kind: "claude", Name: p.session, PID: p.self.PID, StartTime: p.self.Started, BootID: process.BootID(), Mark: p.command.family.life,
	}
}

// Kill kills the process. Unlike [proc.kill] it needs no descriptor, of which there may be none.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Interrupt has the process leave and take its tools along.
func (p *Process) Interrupt() { _ = p.cmd.Process.Signal(syscall.SIGINT) }

// variables is what this session's tools carry in their environment.
func (p *Process) variables() []string {
	return []string{sessionMarker + "=" + p.session, marker + "=" + p.command.family.life}
}

// Descendants returns what the process has started and what else is to end with it: what nobody has.
func (p *Process) Descendants() ([]ID, error) {
	return descendants(p.self.PID, p.command.family, p.variables()...)
}

// KillDescendants kills what the process has started, and what of it is known already, and waits until they are gone.
func (p *Process) KillDescendants(known ...ID) { killAll(known, p.Descendants) }

// Destroy kills the process and all that it started, beside what is known already, and waits until they are gone.
func (p *Process) Destroy(known ...ID) {
	p.Kill()
	more, _ := p.Descendants()
	killAll(append(known, more...), p.Descendants)
	<-p.exited
}

// Park ends an idle process in good order: the end of stdin, and if that does not do it, by force.
func (p *Process) Park(patience time.Duration) {
	p.queue(nil)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.log.Warn("claude did not leave and is killed")
		p.Destroy()
	}
}
