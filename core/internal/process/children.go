package process

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// Children are the processes that this one starts, each as the leader of a session of its own, and those that it adopts:
// descendants whose parents have ended. A nil *Children starts processes and adopts none.
type Children struct {
	mu  sync.Mutex        // held while a process is started: until then it looks like an adopted one
	own map[int]*exec.Cmd // by pid
	had map[int]uint64    // the start times of the children that this process had before it adopted any, by pid
}

// Start starts a command that this process has not adopted. It is to be waited for by [Children.Wait].
func (c *Children) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
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
		if c.own[cmd.Process.Pid] == cmd { // Wait may return late, when the pid is another process's
			delete(c.own, cmd.Process.Pid)
		}
		c.mu.Unlock()
		c.reap() // what it left behind may have ended before
	}
	return err
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

// Had reports whether a process was a child of this one before it adopted any, such as one that the shell had started which
// then executed this program.
func (c *Children) Had(pid int) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	started, had := c.had[pid]
	return had && Alive(pid, started)
}

// Adopt makes this process the parent of each of its descendants whose parent ends, so that none leaves its tree. They
// are waited for by [Children.Reap]. Where the system has no such thing it returns an error. It is called once, before
// anything is started.
func (c *Children) Adopt() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.had = childrenOf(os.Getpid())
	return adopt()
}

// Reap waits for the processes that this one has adopted until ctx ends.
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
