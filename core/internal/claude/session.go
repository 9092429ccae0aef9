package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/budget"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/process"
)

// session is a running claude. Four goroutines serve it: one each reads stdout and stderr, one writes stdin, one waits
// for the exit and then for the others.
type session struct {
	id      string
	key     string // the host's name of the session; may be empty
	life    string
	profile agent.Profile
	tools   bool            // the host's are offered
	folder  string          // the workspace, as the CLI names it
	prompt  string          // the file of the system prompt; empty: none
	before  map[string]bool // the ids of lines that were steered in the time of earlier processes, which this one would run
	log     hclog.Logger
	cmd     *exec.Cmd
	family  *family
	self    proc
	stdin   *os.File
	lines   chan []byte // to stdin

	ready  chan struct{} // initialize was answered
	gone   chan struct{} // it has ended
	exited chan struct{} // and all that it wrote was read

	// Written before exited is closed.
	exit   error
	stderr tail

	noise budget.Budget // for complaints of what it writes

	telling sync.Mutex // held while the running turn is told of its progress, so that it is not told when it is over

	mu       sync.Mutex
	exchange *exchange.Exchange // the running turn
	tell     func(agent.Progress)
	desk     *desk         // of the running turn, or of that which the process was started for; nil: no turn
	moved    chan struct{} // closed and replaced when the running turn comes to another stage
	heard    time.Time     // the last line; the monotonic clock, which stands still while the machine sleeps
	isReady  bool
	meter    exchange.Meter
	expected map[string]chan<- *protocol.Event // answers to requests of the host's, by their ids
	spent    map[string]bool                   // the ids of withdrawn lines, which the process would not run
	fault    string                            // why the host has killed it; empty: it has not
	intruder *int                              // the process that wrote into the session; nil: none has

	// The pool's.
	since   time.Time // idle
	weight  weight    // when it was weighed last
	holds   bool      // a slot, which its end gives back
	leaving bool      // parked
	over    bool      // ended
}

// origin is what a session is begun from.
type origin int

const (
	fresh   origin = iota
	resumed        // its own transcript
	forked         // a copy of another session's
)

// launch starts claude for a turn's session, with more variables than all processes have, and answers its requests until ctx
// ends or the session is dismissed. Where it returns a session, done is called once that has ended.
func (c *command) launch(ctx context.Context, t agent.Turn, from origin, prompt string, env []string, life string, log hclog.Logger, done func(*session)) (*session, error) {
	var args []string
	switch from {
	case fresh:
		args = []string{"--session-id", t.Session}
	case resumed:
		args = []string{"--resume", t.Session}
	case forked:
		args = []string{"--resume", t.ForkOf, "--fork-session", "--session-id", t.Session}
	}
	args = slices.Concat(args, c.args, c.tooled(t), c.profiled(t.Profile, prompt))
	s := &session{
		id: t.Session, key: t.Key, life: life, profile: t.Profile, tools: t.Tools != nil, folder: c.real, prompt: prompt, log: log.With("session", t.Session), cmd: exec.Command(c.path, args...), family: c.family,
		lines: make(chan []byte, 256), ready: make(chan struct{}), gone: make(chan struct{}), exited: make(chan struct{}), moved: make(chan struct{}),
		heard: time.Now(), spent: map[string]bool{},
	}
	s.cmd.Dir, s.cmd.Env = c.workspace, slices.Concat(c.env, env) // of two values of one variable the last counts
	// It is in a session of its own, which keeps the terminal's signals away. There is no death signal: it would leave the
	// tools running, whereas the end of stdin lets claude finish them and leave.
	stdin, stdout, stderr, err := s.pipes()
	if err != nil {
		return nil, err
	}
	s.attend(ctx, t)
	s.family.join(s.id) // before it can start anything
	err = s.execute()
	s.closeChildEnds()
	if err != nil {
		s.family.leave(s.id)
		s.dismiss()
		for _, f := range []*os.File{stdin, stdout, stderr} {
			f.Close()
		}
		return nil, err
	}
	s.stdin = stdin
	var readers sync.WaitGroup
	readers.Go(func() { s.read(stdout) })
	readers.Go(func() { s.stderr.read(stderr) })
	readers.Go(s.write)
	go s.wait(&readers, stdout, stderr, done)
	return s, nil
}

// execute starts the process. One that cannot be identified is of no use: the host's next life could not end it.
func (s *session) execute() error {
	if err := s.family.children.Start(s.cmd); err != nil {
		return err
	}
	var err error
	if s.self, err = newProc(s.cmd.Process.Pid); err != nil {
		s.kill()
		_ = s.family.children.Wait(s.cmd)
	}
	return err
}

// kill kills the process. Unlike [proc.kill] it needs no descriptor, of which there may be none.
func (s *session) kill() { _ = s.cmd.Process.Kill() }

// record is what the host's next life needs to end the process.
func (s *session) record() domain.Process {
	return domain.Process{
		Kind: "claude", Name: s.id, PID: s.self.pid, StartTime: s.self.started, BootID: process.BootID(), Mark: s.life,
	}
}

// initID is the id of the request whose answer says that the process is ready.
const initID = "initialize"

// initialize has the process get ready.
func (s *session) initialize() {
	// Without the switch newer CLIs go on with the system prompt that the session was begun with, whatever the flags of a
	// later process say.
	body := map[string]any{"subtype": "initialize", "systemPromptSnapshot": false}
	if s.tools {
		body["sdkMcpServers"] = []string{serverName}
	}
	s.request(initID, body)
}

// request sends a request of the control protocol.
func (s *session) request(id string, body map[string]any) {
	s.send(map[string]any{"type": "control_request", "request_id": id, "request": body})
}

// say writes a message.
func (s *session) say(l line) {
	s.send(map[string]any{
		"type": "user", "uuid": l.uuid, "message": map[string]any{"role": "user", "content": l.text},
	})
}

// pipes makes the three pipes and gives the command its ends. They are made by hand because a descendant that holds
// stdout open must not hold up the end of the process.
func (s *session) pipes() (stdin, stdout, stderr *os.File, err error) {
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
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = inR, outW, errW
	return inW, outR, errR, nil
}

func (s *session) closeChildEnds() {
	s.cmd.Stdin.(*os.File).Close()
	s.cmd.Stdout.(*os.File).Close()
	s.cmd.Stderr.(*os.File).Close()
}

// wait reaps the process and then ends its other goroutines.
func (s *session) wait(readers *sync.WaitGroup, stdout, stderr *os.File, done func(*session)) {
	const drain = 250 * time.Millisecond // for what was written before the exit; a tool may hold the pipes for ever
	s.exit = s.family.children.Wait(s.cmd)
	s.family.leave(s.id)
	_ = stdout.SetReadDeadline(time.Now().Add(drain))
	_ = stderr.SetReadDeadline(time.Now().Add(drain))
	s.stdin.Close()
	close(s.gone)
	readers.Wait()
	s.dismiss()
	stdout.Close()
	stderr.Close()
	close(s.exited)
	done(s)
}

// write writes the lines to stdin until the process is gone.
func (s *session) write() {
	for {
		select {
		case <-s.gone:
			return
		case line := <-s.lines:
			if line == nil {
				s.stdin.Close()
			} else if _, err := s.stdin.Write(line); err != nil {
				s.log.Debug("cannot write to claude", "error", err) // it has left, or is about to: wait tells
			}
		}
	}
}

// send queues a line for stdin. A process that does not read hundreds of lines is of no use and is killed.
func (s *session) send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		s.log.Error("cannot encode a line for claude", "error", err)
		return
	}
	s.queue(append(line, '\n'))
}

// queue hands a line to the writer; nil ends stdin.
func (s *session) queue(line []byte) {
	select {
	case s.lines <- line:
	case <-s.gone:
	default:
		s.log.Error("claude does not read its stdin and is killed")
		s.kill()
	}
}

// isAlive tells whether the process runs.
func (s *session) isAlive() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// died is the error of a process that ended by itself.
func (s *session) died(p *Pool, class agent.Class) *agent.Failure {
	s.mu.Lock()
	fault, intruder := s.fault, s.intruder
	s.mu.Unlock()
	detail := "the process ended"
	switch {
	case intruder != nil:
		return &agent.Failure{Class: agent.Intruded, Detail: fmt.Sprintf("process %d wrote into the session", *intruder)}
	case fault != "":
		detail = "the process was killed, as " + fault
	}
	if s.exit != nil {
		detail += ": " + s.exit.Error()
	}
	if text := s.stderr.String(); text != "" {
		detail += ": " + p.redact(text)
	}
	return &agent.Failure{Class: class, Detail: detail}
}

// variables is what this session's tools carry in their environment.
func (s *session) variables() []string {
	return []string{sessionMarker + "=" + s.id, marker + "=" + s.life}
}

// started returns what the process has started and what else is to end with it: what nobody has.
func (s *session) started() ([]proc, error) {
	return descendants(s.self.pid, s.family, s.variables()...)
}

// destroy kills the process and all that it started, beside what is known already, and waits until they are gone.
func (s *session) destroy(known ...proc) {
	s.kill()
	more, _ := s.started()
	killAll(append(known, more...), s.started)
	<-s.exited
}

// park ends an idle process in good order: the end of stdin, and if that does not do it, by force.
func (s *session) park(patience time.Duration) {
	s.queue(nil)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
		s.log.Warn("claude did not leave and is killed")
		s.destroy()
	}
}
