package supervisor

import (
	"context"
	"crypto/tls"
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

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/sdk/handshake"
)

var _ runner.Runner = (*child)(nil)

const (
	// afterExit limits reading the output after the process has ended, if a child of it holds the pipe.
	afterExit = time.Second
	// maxSaid is the part of a plugin's stdout that is stored to explain a failed handshake, in bytes.
	maxSaid = 300
)

// child runs a plugin's binary for go-plugin. go-plugin's own runner does not report the end of the process, parses the
// plugin's stderr without limits and passes the host's stdin on.
type child struct {
	cmd      *exec.Cmd
	children *process.Children
	guard    *guard

	line           *handshake.Line // the host's end of the plugin's stdin
	stdout, stderr *os.File        // the host's ends of the pipes
	sockets        *sockets        // what the plugin requests over the line
	said           []byte          // the beginning of its stdout; owned by go-plugin's reader until client.Kill has returned

	introducing sync.Mutex
	identity    *tls.Config // of the host's side of the connection; nil: the plugin has said how to connect

	launching context.Context // its end kills a process without a handshake
	keep      func() bool     // keeps a process after its handshake; false: too late

	reading sync.WaitGroup
	done    chan struct{}    // closed once the process has ended and its output is read
	state   *os.ProcessState // nil: unknown
}

// newChild prepares a program. Env is its environment, without what go-plugin adds.
func newChild(
	launching context.Context, spec *exec.Cmd, program *program, env []string, children *process.Children, guard *guard,
	sockets *sockets, identity *tls.Config,
) *child {
	cmd := &exec.Cmd{Path: program.path, Args: []string{program.name}, Env: slices.Concat(env, spec.Env), Dir: os.TempDir()}
	return &child{
		cmd: cmd, children: children, guard: guard, sockets: sockets, identity: identity,
		launching: launching, keep: func() bool { return true }, done: make(chan struct{}),
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
	c.keep = context.AfterFunc(c.launching, func() { _ = c.Kill(context.Background()) }) // an error means that it has ended
	c.sockets.plugins.add(c.cmd.Process.Pid)
	c.reading.Go(func() { c.guard.read(c.stderr) })
	c.reading.Go(func() {
		if err := c.line.Serve(lineServices{c.sockets, c}); err != nil {
			c.guard.log.Warn("the plugin's control connection failed", "error", err)
		}
	})
	go c.wait()
	return nil
}

// closeEnds closes the host's ends of the open pipes.
func (c *child) closeEnds() {
	if c.line != nil {
		_ = c.line.Close()
	}
	_ = c.stdout.Close() // harmless if it is not open
	_ = c.stderr.Close()
}

// wait returns after the process has ended; done notifies the caller of Start.
func (c *child) wait() {
	_ = c.children.Wait(c.cmd)                  // the state has the same information
	c.sockets.plugins.remove(c.cmd.Process.Pid) // at once: the pid may be the agent's next
	c.state = c.cmd.ProcessState
	deadline := time.Now().Add(afterExit)
	_ = c.stderr.SetReadDeadline(deadline)
	_ = c.stdout.SetReadDeadline(deadline)
	_ = c.line.Close() // its children may not use it
	c.reading.Wait()
	_ = c.stderr.Close()
	close(c.done)
}

// outcome describes how the process ended. It may be called once done is closed.
func (c *child) outcome() string {
	if c.state == nil {
		return "the cause of its end is unknown"
	}
	return c.state.String()
}

// ended returns the outcome, with the process's last words. It may be called once done is closed.
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

// saying stores the beginning of a child's stdout.
type saying child

// Write handles the next bytes. It never fails. With the first of them the host connects, so its identity must not change
// any more.
func (s *saying) Write(p []byte) (int, error) {
	s.introducing.Lock()
	s.identity = nil
	s.introducing.Unlock()
	s.said = append(s.said, p[:min(len(p), maxSaid-len(s.said))]...)
	return len(p), nil
}

// lineServices is what the host does for the plugin over its line.
type lineServices struct {
	*sockets
	child *child
}

// Identify implements [handshake.Services].
func (s lineServices) Identify(certificate []byte) error {
	c := s.child
	c.introducing.Lock()
	defer c.introducing.Unlock()
	if c.identity == nil {
		return errors.New("it is too late to identify: the plugin has said where it serves")
	}
	return handshake.Trust(c.identity, certificate)
}

// Stderr is empty for go-plugin: the host reads it itself, with limits.
func (c *child) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the binary's path.
func (c *child) Name() string { return c.cmd.Args[0] }

// ID returns the process id.
func (c *child) ID() string {
	if c.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(c.cmd.Process.Pid)
}

// Diagnose returns what the plugin wrote before the failed handshake.
func (c *child) Diagnose(context.Context) string { return c.guard.lastWords() }

// PluginToHost and HostToPlugin leave addresses unchanged: both run on one machine.
func (c *child) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin leaves addresses unchanged.
func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
