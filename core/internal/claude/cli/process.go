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

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/budget"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
)

// Output receives what a process writes to stdout. client.Client implements it.
type Output interface {
	// Line receives a line, which is valid until it returns. More reports whether another one is already there. An error
	// means that the line is not an event.
	Line(line []byte, more bool) error
	// End is called once, after the last line of an ended process.
	End()
}

// Process is a claude of one session. Four goroutines serve it: two read stdout and stderr, one writes stdin, and one
// waits for the end and then for the others.
type Process struct {
	command *Command
	session string
	args    []string
	setup   *agent.Setup // may be nil
	servers string       // the mark of its MCP servers; see serverMarker
	file    string       // the path of the file that configures them; empty: there are none
	log     hclog.Logger
	cmd     *exec.Cmd
	self    ID
	stdin   *os.File
	lines   chan []byte // to stdin
	output  Output

	gone   chan struct{} // the process has ended
	exited chan struct{} // and all of its output was read

	// Written before exited is closed.
	exit   error
	fault  string // why the host has killed it; empty: it has not
	stderr tail

	noise budget.Budget // of log lines about its output
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
		setup: t.Profile.Setup, servers: uuid.NewString(), log: log,
		lines: make(chan []byte, 256), gone: make(chan struct{}), exited: make(chan struct{}),
	}
}

// Start starts the process, once. If it fails, the output is not called.
func (p *Process) Start(output Output) error {
	if err := p.command.settings.write(); err != nil {
		return err
	}
	var err error
	if p.file, err = p.command.writeServers(agent.Profile{Setup: p.setup}.Servers(), p.servers); err != nil {
		return err
	}
	env, revoke := credentials(p.command.options)
	release := func() {
		revoke()
		p.Initialized()
	}
	args := p.args
	if p.file != "" {
		args = append(slices.Clip(args), "--mcp-config", p.file)
	}
	p.output, p.cmd = output, exec.Command(p.command.Path, args...)
	// the last of two values of a variable counts
	p.cmd.Dir, p.cmd.Env = p.command.workspace, slices.Concat(p.command.env, p.command.setupEnv(p.setup), env)
	// It gets its own session, which keeps the terminal's signals away. A death signal would leave the tools running;
	// the end of stdin lets claude finish them and exit.
	stdin, stdout, stderr, err := p.pipes()
	if err != nil {
		release()
		return err
	}
	p.command.family.Join(p.session) // before it can start anything
	err = p.execute()
	p.closeChildEnds()
	if err != nil {
		p.command.family.Leave(p.session)
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
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdout) })
	readers.Go(func() { p.stderr.read(stderr) })
	readers.Go(p.write)
	go func() {
		defer close(p.exited)
		defer release()
		p.wait(&readers, stdout, stderr)
	}()
	return nil
}

// Initialized removes the file that the process has read by now.
func (p *Process) Initialized() {
	if p.file == "" {
		return
	}
	if err := os.Remove(p.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.Warn("cannot remove a file of a claude process", "error", err)
	}
}

// execute starts the process. One that cannot be identified is killed: the next host process could not end it.
func (p *Process) execute() error {
	if err := p.command.family.Children().Start(p.cmd); err != nil {
		return err
	}
	var err error
	if p.self, err = process.Identify(p.cmd.Process.Pid); err != nil {
		p.Kill()
		_ = p.command.family.Children().Wait(p.cmd)
	}
	return err
}

// pipes makes the three pipes and gives the command its ends. [exec.Cmd]'s own pipes would delay the end of the process
// while a descendant holds stdout open.
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
func (p *Process) wait(readers *sync.WaitGroup, stdout, stderr *os.File) {
	const drain = 250 * time.Millisecond // for output written before the exit; a tool may hold the pipes forever
	p.exit = p.command.family.Children().Wait(p.cmd)
	p.command.family.Leave(p.session)
	_ = stdout.SetReadDeadline(time.Now().Add(drain))
	_ = stderr.SetReadDeadline(time.Now().Add(drain))
	p.stdin.Close()
	close(p.gone)
	readers.Wait()
	p.output.End()
	stdout.Close()
	stderr.Close()
	if p.file != "" {
		p.endServers()
	}
}

// endServers kills the MCP servers of an ended process, and what they have started, unless they end by themselves within a
// second. Nothing else ends them.
func (p *Process) endServers() {
	const (
		grace = time.Second
		step  = 20 * time.Millisecond
	)
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	find := func() ([]ID, error) { return process.Descendants(0, serverMarker+"="+p.servers) }
	for range grace / step {
		if found, err := find(); len(found) == 0 && err == nil {
			return
		}
		<-ticker.C
	}
	p.kill(nil, find)
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
				p.log.Debug("cannot write to claude", "error", err) // it has exited, or is about to: wait reports it
			}
		}
	}
}

// Send queues a line for stdin. A process that does not read hundreds of lines is killed.
func (p *Process) Send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		p.log.Error("cannot encode a line for claude", "error", err)
		return
	}
	p.queue(append(line, '\n'))
}

// queue passes a line to the writer; nil ends stdin.
func (p *Process) queue(line []byte) {
	select {
	case p.lines <- line:
	case <-p.gone:
	default:
		p.log.Error("claude does not read its stdin and is killed")
		p.Kill()
	}
}

// ID identifies the process.
func (p *Process) ID() ID { return p.self }

// Exited is closed when the process has ended and all of its output was read.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stderr returns the end of its output to stderr.
func (p *Process) Stderr() string { return p.stderr.String() }

// Ended describes how the process ended.
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
		Kind: "claude", Name: p.session, PID: p.self.PID, StartTime: p.self.Started, BootID: process.BootID(),
		Mark: p.command.family.Mark(),
	}
}

// Kill kills the process. Unlike [process.KillAll] it needs no descriptor, which may be unavailable.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Interrupt makes the process exit and end its tools.
func (p *Process) Interrupt() { _ = p.cmd.Process.Signal(syscall.SIGINT) }

// Descendants returns the processes that end with this one: what it has started, and strays.
func (p *Process) Descendants() ([]ID, error) {
	return p.command.family.Descendants(p.self.PID, p.session)
}

// KillDescendants kills the known processes and all descendants, and waits for their end. It logs those that the kernel
// does not end within two seconds, and does not wait longer.
func (p *Process) KillDescendants(known ...ID) { p.kill(known, p.Descendants) }

func (p *Process) kill(known []ID, find func() ([]ID, error)) {
	for _, left := range process.KillAll(known, find) {
		p.log.Warn("a process of claude was killed and has not ended", "pid", left.PID)
	}
}

// Destroy kills the process, the known processes and all descendants, and waits for their end, as KillDescendants does.
func (p *Process) Destroy(known ...ID) {
	p.Kill()
	more, _ := p.Descendants()
	p.KillDescendants(append(known, more...)...)
	<-p.exited
}

// Park ends an idle process: by the end of stdin, and after patience by force.
func (p *Process) Park(patience time.Duration) {
	p.queue(nil)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.log.Warn("claude did not exit and is killed")
		p.Destroy()
	}
}
