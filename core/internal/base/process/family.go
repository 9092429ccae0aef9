package process

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

const (
	// lingering limits the wait for output of processes that a command has left running.
	lingering = 500 * time.Millisecond
	// patience limits the wait for killed processes, one of which may hang in the kernel.
	patience = 2 * time.Second
)

// ID identifies a process of the system by its pid and start time.
type ID struct {
	PID     int
	Started uint64
}

// Identify identifies a child of this process that has not been waited for. An ended one has no start time.
func Identify(pid int) (ID, error) {
	started, err := StartTime(pid)
	if err != nil && !errors.Is(err, ErrGone) {
		return ID{}, fmt.Errorf("identify the process: %w", err)
	}
	return ID{PID: pid, Started: started}, nil
}

// Alive reports whether the process runs, or may run.
func (p ID) Alive() bool { return p.PID > 0 && Alive(p.PID, p.Started) }

// KillAll kills the known processes in order, and all that find returns, until none is left and find returns no error. It
// polls, because nothing reports the end of a process that is not a child. It returns those that are left after two seconds.
func KillAll(known []ID, find func() ([]ID, error)) (left []ID) {
	const step = 2 * time.Millisecond
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		left = nil
		for _, p := range known {
			if p.Alive() {
				left = append(left, p)
			}
		}
		found, err := find()
		left = append(left, found...)
		if len(left) == 0 && err == nil {
			return nil
		}
		for _, p := range left {
			p.kill()
		}
		select {
		case <-deadline.C:
			return left
		case <-ticker.C:
		}
	}
}

// KillTree kills a process that adopts what its descendants leave behind, with all of them, and what carries all of the variables. While
// its descendants are killed, it is paused, so that it still adopts, but learns nothing of their ends. It returns what is left.
func KillTree(root ID, variables ...string) (left []ID) {
	below := 0
	if root.Alive() {
		root.pause()
		below = root.PID
	}
	find := func() ([]ID, error) { return Descendants(below, variables...) }
	known, _ := find() // find finds them again
	left = KillAll(known, find)
	return append(left, KillAll([]ID{root}, func() ([]ID, error) { return nil, nil })...)
}

// Marks are the names of the environment variables by which the members of a [Family], and what they start, are found.
type Marks struct {
	Host string // its value identifies the host process
	Name string // its value is the member's name
}

// Family is the set of commands that one host process runs, its members: each claude, each line for the shell and each program.
// What a member starts in turn ends with it, even if it has left the member's session or process tree. Members of a nil
// *Family have no marks, and it adopts nothing.
type Family struct {
	children *Children // starts them; nil: nothing is adopted
	marks    Marks
	mark     string // the value of marks.Host

	mu      sync.Mutex
	running map[string]int // number of members by name
}

// NewFamily returns a family whose members have these marks in their environment; mark is the value of marks.Host. Children
// start the members; nil: processes that leave their trees are not adopted.
func NewFamily(children *Children, marks Marks, mark string) *Family {
	return &Family{children: children, marks: marks, mark: mark, running: map[string]int{}}
}

// Children returns what starts the members; nil: nothing is adopted.
func (f *Family) Children() *Children {
	if f == nil {
		return nil
	}
	return f.children
}

// Mark returns the value of the mark for this host process.
func (f *Family) Mark() string { return f.mark }

// Marked returns the environment variables that mark a member.
func (f *Family) Marked(name string) []string {
	if f == nil {
		return nil
	}
	return []string{f.marks.Name + "=" + name, f.marks.Host + "=" + f.mark}
}

// Join records that a member is about to start. [Family.Start] calls it.
func (f *Family) Join(name string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[name]++
}

// runs reports whether a member with this name runs.
func (f *Family) runs(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running[name] > 0
}

// Leave records that a member has ended, or did not start.
func (f *Family) Leave(name string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[name]--; f.running[name] == 0 {
		delete(f.running, name)
	}
}

// Descendants returns the processes that end with a member: those that it has started, and strays of no other member.
func (f *Family) Descendants(root int, name string) ([]ID, error) {
	return descendants(root, f, 0, f.Marked(name)...)
}

// Strays returns the adopted processes that belong to no running member.
func (f *Family) Strays() ([]ID, error) { return descendants(0, f, 0) }

// Descendants returns the live processes below root, without root, and orphans that carry all the variables in their
// environment, with their descendants. With an error the list may be incomplete.
func Descendants(root int, variables ...string) ([]ID, error) {
	return descendants(root, nil, 0, variables...)
}

// Member is a command that runs with everything that it starts.
type Member struct {
	family *Family
	name   string
	cmd    *exec.Cmd
	since  uint64 // its start time, or earlier: older processes are not its own
}

// Start starts a command, which must have a context, as a member with a unique name. When the context ends, the command is killed
// with everything that it has started. The caller must call [Member.Wait].
func (f *Family) Start(cmd *exec.Cmd, name string) (*Member, error) {
	m := &Member{family: f, name: name, cmd: cmd, since: now()}
	cmd.Env = append(cmd.Env, f.Marked(name)...)
	cmd.Cancel, cmd.WaitDelay = m.kill, lingering
	f.Join(name)
	if err := f.Children().Start(cmd); err != nil {
		f.Leave(name)
		return nil, err
	}
	return m, nil
}

// Wait waits for the command as [exec.Cmd.Wait] does, and then kills what it has left running. The error is
// [exec.ErrWaitDelay] if a process that it has started kept its output open; then the output may be incomplete.
func (m *Member) Wait() error {
	err := m.family.Children().Wait(m.cmd)
	_ = m.kill()
	m.family.Leave(m.name)
	return err
}

// Run starts a command as Start does and waits for it as Wait does.
func (f *Family) Run(cmd *exec.Cmd, name string) error {
	m, err := f.Start(cmd, name)
	if err != nil {
		return err
	}
	return m.Wait()
}

// kill kills the command, if it runs, and everything that it has started.
func (m *Member) kill() error {
	pid := m.cmd.Process.Pid
	find := func() ([]ID, error) { return descendants(pid, m.family, m.since, m.family.Marked(m.name)...) }
	known, _ := find() // before the command ends, because processes below it may have no marks and are adopted elsewhere then
	err := KillGroup(pid)
	KillAll(known, find)
	return err
}
