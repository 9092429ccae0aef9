package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// Children are the processes that this one starts, each as the leader of a session of its own, and those that it adopts:
// descendants whose parents have ended. A nil *Children starts processes and adopts none.
type Children struct {
	mu       sync.Mutex        // held while a process is started, which otherwise looks adopted
	own      map[int]*exec.Cmd // by pid
	detached map[int]bool      // pids of own ones for which nobody waits
	had      map[int]uint64    // start times, by pid, of the children from before Adopt
}

// Start starts a command as a child of this process. Its timers may be late by up to half a millisecond. Use
// [Children.Wait] to wait for it.
func (c *Children) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	defer relaxTimers()()
	if c == nil {
		return cmd.Start()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if c.own == nil {
		c.own = map[int]*exec.Cmd{}
	}
	c.own[cmd.Process.Pid] = cmd
	return nil
}

// Wait waits for a command as [exec.Cmd.Wait] does.
func (c *Children) Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	if c != nil {
		c.mu.Lock()
		if c.own[cmd.Process.Pid] == cmd { // Wait may return late, after the pid was reused
			delete(c.own, cmd.Process.Pid)
		}
		c.mu.Unlock()
		c.reap() // processes that it left may have ended before it
	}
	return err
}

// Detach releases a command of Start that may outlive this process, in place of [Children.Wait]: call [Children.Collect] from time to
// time.
func (c *Children) Detach(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	_ = cmd.Process.Release()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.detached == nil {
		c.detached = map[int]bool{}
	}
	c.detached[pid] = true
}

// Collect waits for a detached child, if it has ended. It does not block. Other processes are left alone.
func (c *Children) Collect(pid int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	ended := false
	if c.detached[pid] { // until it is waited for, no other process has its pid
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if ended = err == nil && got == pid || errors.Is(err, syscall.ECHILD); ended {
			delete(c.detached, pid)
			delete(c.own, pid)
		}
	}
	c.mu.Unlock()
	if ended {
		c.reap() // what it has hidden
	}
}

// Own reports whether this process started the process with this pid, and has not waited for it yet.
func (c *Children) Own(pid int) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own[pid] != nil
}

// Had reports whether a process was a child of this one before Adopt, such as one started by a shell that then executed
// this program.
func (c *Children) Had(pid int) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	started, had := c.had[pid]
	return had && Alive(pid, started)
}

// Adopt makes this process the parent of all descendants whose parent ends, so that none leaves its tree. [Children.Reap]
// waits for them. It returns an error if the system does not support this. It is called once, before any process is
// started.
func (c *Children) Adopt() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.had = childrenOf(os.Getpid())
	return adopt()
}

// Reap waits for adopted processes until ctx ends.
func (c *Children) Reap(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		c.reap()
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
	}
}
