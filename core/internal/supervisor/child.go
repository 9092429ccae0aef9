package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/sdk/handshake"
)

var _ runner.Runner = (*child)(nil)

const (
	// afterExit is how long output is still read when the process itself has ended but a child of it holds the pipe.
	afterExit = time.Second
	// maxSaid is how much of a plugin's stdout is kept to explain a failed handshake.
	maxSaid = 300
)

// child runs a plugin's binary for go-plugin. It is our own runner because go-plugin's tells nobody when the process
// ends, parses the plugin's stderr without guards and hands over the host's stdin.
type child struct {
	cmd      *exec.Cmd
	children *process.Children
	guard    *guard

	line           *handshake.Line // the host's end of the plugin's stdin
	stdout, stderr *os.File        // the host's ends of the pipes
	sockets        *sockets        // what the plugin asks for over the line
	said           []byte          // the beginning of its stdout; go-plugin's reader's, until client.Kill has returned

	launching context.Context // its end ends a process that has not shaken hands
	keep      func() bool     // keeps a process that has; false: it is too late

	reading sync.WaitGroup
	done    chan struct{}    // closed once the process has ended and its output is read
	state   *os.ProcessState // nil: the system did not say
}

// newChild prepares a program. Env is its whole environment beside what go-plugin adds.
func newChild(launching context.Context, spec *exec.Cmd, program *program, env []string, children *process.Children, guard *guard, sockets *sockets) *child {
	cmd := &exec.Cmd{Path: program.path, Args: []string{program.name}, Env: slices.Concat(env, spec.Env), Dir: os.TempDir()}
	return &child{
		cmd: cmd, children: children, guard: guard, sockets: sockets, launching: launching, keep: func() bool { return true }, done: make(chan struct{}),
	}
}

// Start starts the process. Its stdin is a line to the host.
func (c *child) Start(context.Context) (err error) {
	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			c.closeEnds()
		}
	}()
	if c.line, theirs[0], err = handshake.NewPair(); err != nil {
		return fmt.Errorf("open the plugin's stdin: %w", err)
	}
	if c.stdout, theirs[1], err = os.Pipe(); err != nil {
		return fmt.Errorf("open the plugin's stdout: %w", err)
	}
	if c.stderr, theirs[2], err = os.Pipe(); err != nil {
		return fmt.Errorf("open the plugin's stderr: %w", err)
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := c.children.Start(c.cmd); err != nil {
		return err
	}
	c.keep = context.AfterFunc(c.launching, func() { _ = c.Kill(context.Background()) }) // if that fails, it has ended
	c.sockets.plugins.add(c.cmd.Process.Pid)
	c.reading.Go(func() { c.guard.read(c.stderr) })
	c.reading.Go(func() {
		if err := c.line.Serve(c.sockets); err != nil {
			c.guard.log.Warn("the plugin's line", "error", err)
		}
	})
	go c.wait()
	return nil
}

// closeEnds closes the host's ends of what was opened.
func (c *child) closeEnds() {
	if c.line != nil {
		_ = c.line.Close()
	}
	_ = c.stdout.Close() // of one that was not opened, too
	_ = c.stderr.Close()
}

// wait ends with the process; done tells its owner, which is whoever called Start.
func (c *child) wait() {
	_ = c.children.Wait(c.cmd)                  // the state says all that the error does
	c.sockets.plugins.remove(c.cmd.Process.Pid) // at once: the pid may be the agent's next
	c.state = c.cmd.ProcessState
	deadline := time.Now().Add(afterExit)
	_ = c.stderr.SetReadDeadline(deadline)
	_ = c.stdout.SetReadDeadline(deadline)
	_ = c.line.Close() // what it started asks for nothing
	c.reading.Wait()
	_ = c.stderr.Close()
	close(c.done)
}

// outcome is how the process ended. It may be called once done is closed.
func (c *child) outcome() string {
	if c.state == nil {
		return "nobody knows how it ended"
	}
	return c.state.String()
}

// ended is the outcome, with what the process said at its end. It may be called once done is closed.
func (c *child) ended() string {
	if last := c.guard.lastWords(); last != "" {
		return c.outcome() + ": " + last
	}
	return c.outcome()
}

// killed reports whether the process was ended by SIGKILL, as the host ends it. It may be called once done is closed.
func (c *child) killed() bool {
	if c.state == nil {
		return false
	}
	status, ok := c.state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Wait returns when the process has ended.
func (c *child) Wait(context.Context) error {
	<-c.done
	if c.state == nil || !c.state.Success() {
		return errors.New(c.outcome())
	}
	return nil
}

// Kill ends the process and its children at once.
func (c *child) Kill(context.Context) error {
	if c.cmd.Process == nil {
		return nil
	}
	return process.KillGroup(c.cmd.Process.Pid)
}

// Stdout carries go-plugin's handshake.
func (c *child) Stdout() io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(c.stdout, (*saying)(c)), c.stdout}
}

// saying keeps the beginning of what is read of a child's stdout.
type saying child

// Write takes the next bytes. It never fails.
func (s *saying) Write(p []byte) (int, error) {
	s.said = append(s.said, p[:min(len(p), maxSaid-len(s.said))]...)
	return len(p), nil
}

// Stderr is empty for go-plugin: the process reads it itself, with guards.
func (c *child) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the binary's path.
func (c *child) Name() string { return c.cmd.Args[0] }

// ID is the process id.
func (c *child) ID() string {
	if c.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(c.cmd.Process.Pid)
}

// Diagnose adds what the plugin said before it failed to shake hands.
func (c *child) Diagnose(context.Context) string { return c.guard.lastWords() }

// PluginToHost and HostToPlugin leave addresses as they are: both run on one machine.
func (c *child) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin leaves addresses as they are.
func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
