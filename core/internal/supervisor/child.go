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
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/sdk/handshake"
)

var _ runner.Runner = (*child)(nil)

// afterExit is how long output is still read when the process itself has ended but a child of it holds the pipe.
const afterExit = time.Second

// child runs a plugin's binary for go-plugin. It is our own runner because go-plugin's tells nobody when the process
// ends, parses the plugin's stderr without guards and hands over the host's stdin.
type child struct {
	cmd      *exec.Cmd
	children *process.Children
	guard    *guard

	line           *handshake.Line // the host's end of the plugin's stdin
	stdout, stderr *os.File        // the host's ends of the pipes
	sockets        *sockets        // what the plugin asks for over the line

	reading sync.WaitGroup
	done    chan struct{} // closed once the process has ended and its output is read
	state   *os.ProcessState
}

// newChild prepares a program. Env is its whole environment beside what go-plugin adds.
func newChild(spec *exec.Cmd, program *program, env []string, children *process.Children, guard *guard, sockets *sockets) *child {
	cmd := &exec.Cmd{Path: program.path, Args: []string{program.name}, Env: slices.Concat(env, spec.Env), Dir: os.TempDir()}
	return &child{cmd: cmd, children: children, guard: guard, sockets: sockets, done: make(chan struct{})}
}

// Start starts the process. Its stdin is a line to the host.
func (c *child) Start(context.Context) error {
	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	var err error
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
		_ = c.line.Close()
		return err
	}
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

// wait ends with the process; done tells its owner, which is whoever called Start.
func (c *child) wait() {
	_ = c.children.Wait(c.cmd) // the state says all that the error does
	c.state = c.cmd.ProcessState
	deadline := time.Now().Add(afterExit)
	_ = c.stderr.SetReadDeadline(deadline)
	_ = c.stdout.SetReadDeadline(deadline)
	c.sockets.plugins.remove(c.state.Pid())
	_ = c.line.Close() // what it started asks for nothing
	c.reading.Wait()
	_ = c.stderr.Close()
	close(c.done)
}

// ended tells how the process ended. It may be called once done is closed.
func (c *child) ended() string {
	if last := c.guard.lastWords(); last != "" {
		return c.state.String() + ": " + last
	}
	return c.state.String()
}

// Wait returns when the process has ended.
func (c *child) Wait(context.Context) error {
	<-c.done
	if !c.state.Success() {
		return errors.New(c.state.String())
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
func (c *child) Stdout() io.ReadCloser { return c.stdout }

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
