package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	// mainAgent is the agent whose index is in the state folder itself.
	mainAgent = "main"
	// agentsFolder is the folder of the state folder with a folder for each other agent.
	agentsFolder = "agents"
)

// labelForm is that of an agent's label.
var labelForm = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

var (
	errNoWorkspace = errors.New("the host does not tell the workspace of this agent")
	errStopped     = errors.New("the plugin is stopped")
)

var (
	_ sdk.AgentStarter       = (*agents)(nil)
	_ sdk.Toolbox            = (*agents)(nil)
	_ sdk.TranscriptObserver = (*agents)(nil)
	_ sdk.Runner             = (*agents)(nil)
	_ sdk.StatusReporter     = (*agents)(nil)
	_ sdk.Stopper            = (*agents)(nil)
)

// agents is the plugin: the memories of all agents. Each agent has an index of its own, so that nothing of another one can be
// found in it. That of main is open from the start, and another one from when the agent is first heard of.
type agents struct {
	config   config
	stateDir string
	source   sdk.Transcripts
	log      *slog.Logger
	now      func() time.Time
	alarm    alarm
	fresh    chan struct{} // receives a value when there are tasks

	talks *conversations // with the agent main
	main  *memory        // of the agent main

	mu      sync.Mutex
	others  map[string]*other // by label
	opened  []*conversations  // of all agents
	tasks   []task            // that Run has not begun
	stopped bool
}

// other is an agent that is not main.
type other struct {
	mu            sync.Mutex     // is held while an index is opened
	conversations *conversations // nil: not opened yet
	memory        *memory        // nil: no caller of the agent has come yet, and so its workspace is not known
}

// task is work in the background, which is done once.
type task interface {
	work(ctx context.Context) error
}

// openAgents opens the memory of the agent main. If conversations are not to be recalled, it also removes those with all others.
func openAgents(ctx context.Context, env sdk.Env, c config, workspace string, now func() time.Time) (_ *agents, err error) {
	a := &agents{
		config: c, stateDir: env.StateDir, source: env.Transcripts, log: env.Log, now: now,
		alarm: make(alarm, 1), fresh: make(chan struct{}, 1), others: map[string]*other{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(ctx))
		}
	}()
	if a.talks, err = a.openConversations(ctx, env.StateDir, mainAgent, env.Log); err != nil {
		return nil, err
	}
	a.main = a.openMemory(a.talks, mainAgent, workspace, env.Log)
	if c.Sessions {
		return a, nil
	}
	known, err := withIndex(env.StateDir)
	if err != nil {
		return nil, fmt.Errorf("look for the indexes of other agents: %w", err)
	}
	for _, agent := range known {
		if _, err := a.conversations(ctx, agent); err != nil { // the agent may be gone
			a.log.Warn("the conversations with an agent cannot be removed yet", "agent", agent, "error", err)
		}
	}
	return a, nil
}

// withIndex returns the agents other than main with an index in a state folder.
func withIndex(folder string) (agents []string, err error) {
	state, err := workspace.New(folder).Open()
	if err != nil {
		return nil, err
	}
	defer state.Close()
	entries, _, err := state.List(agentsFolder, maxListed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && labelForm.MatchString(e.Name()) {
			agents = append(agents, e.Name())
		}
	}
	return agents, nil
}

// openConversations opens the index of an agent in a folder.
func (a *agents) openConversations(ctx context.Context, folder, agent string, log *slog.Logger) (*conversations, error) {
	c, err := openConversations(ctx, folder, agent, a.source, a.config.Sessions, log)
	if err != nil {
		return nil, err
	}
	if !a.keep(c) {
		return nil, errors.Join(errStopped, c.index.close())
	}
	a.begin(c)
	return c, nil
}

// keep has Stop close conversations. False: it was called already.
func (a *agents) keep(c *conversations) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.opened = append(a.opened, c)
	}
	return !a.stopped
}

// openMemory opens the memory of an agent over its index.
func (a *agents) openMemory(c *conversations, agent, workspace string, log *slog.Logger) *memory {
	own := a.config.Groups == ownGroups
	m := &memory{
		config: a.config, log: log, now: a.now, index: c.index, alarm: a.alarm,
		files:  newFiles(workspace, own, c.index, log, a.now),
		access: &access{agent: agent, index: c.index, openTo: a.config.OpenTo, ownGroups: own, samePerson: a.config.SamePerson},
	}
	a.begin(m)
	return m
}

// begin has Run do a task.
func (a *agents) begin(t task) {
	a.mu.Lock()
	a.tasks = append(a.tasks, t)
	a.mu.Unlock()
	select {
	case a.fresh <- struct{}{}:
	default:
	}
}

// of returns what is known of another agent than main.
func (a *agents) of(label string) *other {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.others[label] == nil {
		a.others[label] = &other{}
	}
	return a.others[label]
}

// conversations returns those with an agent, and opens them if that is necessary.
func (a *agents) conversations(ctx context.Context, agent string) (*conversations, error) {
	if labelOf(agent) == mainAgent {
		return a.talks, nil
	}
	o := a.of(agent)
	o.mu.Lock()
	defer o.mu.Unlock()
	return a.open(ctx, o, agent)
}

// open opens the index of another agent, if it is not open. The caller holds the agent's lock. The end of the call does not end it:
// else a turn with little time would never find a large index open.
func (a *agents) open(ctx context.Context, o *other, agent string) (_ *conversations, err error) {
	if o.conversations == nil {
		folder := filepath.Join(a.stateDir, agentsFolder, agent)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of an agent's index: %w", err)
		}
		o.conversations, err = a.openConversations(context.WithoutCancel(ctx), folder, agent, a.log.With("agent", agent))
	}
	return o.conversations, err
}

// memory returns that of the caller's agent, and opens it if that is necessary.
func (a *agents) memory(ctx context.Context, caller chat.Caller) (*memory, error) {
	if labelOf(caller.Agent) == mainAgent {
		return a.main, nil
	}
	o := a.of(caller.Agent)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.memory != nil {
		return o.memory, nil
	}
	if caller.Workspace == "" {
		return nil, errNoWorkspace
	}
	c, err := a.open(ctx, o, caller.Agent)
	if err != nil {
		return nil, err
	}
	o.memory = a.openMemory(c, caller.Agent, caller.Workspace, a.log.With("agent", caller.Agent))
	return o.memory, nil
}

// labelOf returns the label of an agent, of which an older host does not tell.
func labelOf(agent string) string { return cmp.Or(agent, mainAgent) }

// keyOf returns the key of a session of an agent without the agent, as the index of the agent has it.
func keyOf(agent, session string) string { return strings.TrimPrefix(session, "agent:"+agent+":") }

// Run indexes the files, and conversations from before, of each agent whose memory is opened. It returns early if an index is
// damaged.
func (a *agents) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		for _, t := range a.take() {
			working.Go(func() { _ = a.alarm.report(t.work(ctx)) }) // the error ends this function
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-a.alarm:
			return err
		case <-a.fresh:
		}
	}
}

// take returns the tasks that are to be begun.
func (a *agents) take() []task {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.tasks
	a.tasks = nil
	return list
}

// BeforeAgentStart adds what the agent knows about the prompt, and its MEMORY.md to the conversation.
func (a *agents) BeforeAgentStart(ctx context.Context, start sdk.AgentStart) (added sdk.AgentContext, err error) {
	m, err := a.memory(ctx, start.Caller)
	if err == nil {
		added, err = m.remind(ctx, start)
	}
	return added, a.alarm.report(err)
}

// TranscriptAppended indexes conversations.
func (a *agents) TranscriptAppended(ctx context.Context, appended sdk.TranscriptAppended) error {
	c, err := a.conversations(ctx, appended.Agent)
	if err == nil {
		err = c.append(ctx, appended)
	}
	return a.alarm.report(err)
}

// Status says how far older conversations are indexed.
func (a *agents) Status() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, c := range a.opened {
		if doing := c.older.status(); doing != "" {
			if c.older.agent != mainAgent {
				doing = c.older.agent + ": " + doing
			}
			all = append(all, doing)
		}
	}
	return strings.Join(all, "; ")
}

// Stop closes the indexes. A call that is still in progress opens no other one.
func (a *agents) Stop(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	var errs []error
	for _, c := range a.opened {
		errs = append(errs, c.index.close())
	}
	return errors.Join(errs...)
}
