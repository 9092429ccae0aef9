package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

const (
	maxTasks = 100     // more are not listed
	maxTold  = 4 << 10 // bytes of a description
)

// Task is what claude runs alongside the steps of its turn: a subagent.
type Task struct {
	Number int       // never used again in the same process
	What   string    // the model's description
	Agent  string    // its type; may be empty
	Doing  string    // the last step; empty: unknown
	Since  time.Time // when it began
}

// ErrNoTask says that the process runs no task of this number.
var ErrNoTask = errors.New("no task has this number")

// ErrNoTaskStop says that the CLI cannot stop a task by itself.
var ErrNoTaskStop = errors.New("this version of claude does not stop tasks")

// tasks are the running tasks of a process, oldest first.
type tasks struct {
	running []task
	begun   int
	lasting map[string]bool // the ids of those that continue after their turn
}

type task struct {
	Task
	id string
}

// observe follows the tasks through the events of their process. When claude is idle, only lasting ones are left.
func (t *tasks) observe(e *protocol.Event, now time.Time) {
	i := slices.IndexFunc(t.running, func(known task) bool { return known.id == e.TaskID })
	switch e.Subtype {
	case "task_started":
		if i < 0 && e.TaskID != "" && len(t.running) < maxTasks {
			t.begun++
			t.running = append(t.running, task{
				id:   e.TaskID,
				Task: Task{Number: t.begun, What: cut(e.Description, maxTold), Agent: cut(e.Agent, maxTold), Since: now},
			})
		}
	case "task_progress":
		if i >= 0 {
			t.running[i].Doing = cut(e.Description, maxTold)
		}
	case "task_updated":
		if i >= 0 && slices.Contains([]string{"completed", "failed", "killed", "stopped"}, e.Patch.Status) {
			t.running = slices.Delete(t.running, i, i+1)
		}
	case "task_notification":
		if i >= 0 {
			t.running = slices.Delete(t.running, i, i+1)
		}
	case "background_tasks_changed":
		t.lasting = map[string]bool{}
		for _, b := range e.Background[:min(len(e.Background), maxTasks)] {
			t.lasting[b.ID] = true
		}
	case "session_state_changed":
		if e.State == "idle" {
			t.running = slices.DeleteFunc(t.running, func(known task) bool { return !t.lasting[known.id] })
		}
	}
}

// EndTasks is called after a turn. It ends the tasks that claude still runs, whose results would not be shown, and reports whether
// there were any. That is unusual, because background tasks are switched off.
func (c *Client) EndTasks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tasks.lasting) == 0 {
		return false
	}
	c.log.Warn("claude goes on after its turn and is ended", "tasks", len(c.tasks.lasting))
	c.interrupt()
	return true
}

// Tasks returns what claude runs alongside the steps of its turn, oldest first.
func (c *Client) Tasks() []Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Task
	for _, t := range c.tasks.running {
		list = append(list, t.Task)
	}
	return list
}

// StopTask stops a task, and returns it once claude has. The turn goes on.
func (c *Client) StopTask(ctx context.Context, number int) (Task, error) {
	c.mu.Lock()
	i := slices.IndexFunc(c.tasks.running, func(t task) bool { return t.Number == number })
	var stopped task
	if i >= 0 {
		stopped = c.tasks.running[i]
	}
	c.mu.Unlock()
	if i < 0 {
		return Task{}, ErrNoTask
	}
	id := uuid.NewString()
	answers, forget := c.expectAnswer(id)
	defer forget()
	c.request(id, map[string]any{"subtype": "stop_task", "task_id": stopped.id})
	select {
	case e := <-answers:
		switch r := e.Response; {
		case strings.HasPrefix(r.Error, "Unsupported control request"):
			return Task{}, ErrNoTaskStop
		case r.Subtype == "error":
			return Task{}, errors.New("stop a task: " + c.command.Redact(r.Error))
		}
		return stopped.Task, nil
	case <-c.process.Exited():
		return Task{}, ErrNotRunning
	case <-ctx.Done():
		return Task{}, context.Cause(ctx)
	}
}
