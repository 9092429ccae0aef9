package claude

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/memory"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	spawnsAtOnce = 2               // a start uses a core for half a second
	parkPatience = 3 * time.Second // from the end of stdin to the end of an idle process
)

// Pool holds the claude processes: at most one for a session, and at most Config.MaxProcesses, not counting those whose
// turns wait for people.
type Pool struct {
	config    Config
	agents    map[string]agentCLI // by label
	log       hclog.Logger
	processes cli.Records
	scale     scale
	machine   machine

	spawns  chan struct{} // one for each concurrent start
	closing context.Context
	close   context.CancelFunc
	work    sync.WaitGroup // runs, starts, exits, parkings and the janitor
	kick    chan struct{}  // wakes the janitor
	inspect chan struct{}  // has the CLI asked how it is

	inspected chan struct{} // closed once it was asked

	mu      sync.Mutex
	closed  bool
	busy    map[string]*use // of sessions
	idle    idle
	live    live
	parked  map[string]*worker // exiting
	retired map[string]bool
	slots   int       // in use: by processes, and by those about to start
	asking  int       // runs that wait for people
	parking int       // processes that are exiting to free a slot for a waiting run
	waiting []*waiter // runs without a slot, in order
	supply  supply    // of the machine's memory, at the last look
	checks  time.Time // when the janitor looks next for processes to park
	last    []Parking // the last ones, oldest first
	stock   stock

	installed Installation
}

// worker is a process in the pool.
type worker struct {
	*client.Client
	process client.Process
	session string    // of claude's, by its id
	key     string    // the host's name of the session; may be empty
	foreign string    // the last line of a terminal that it has read; see [transcript.Folder.Foreign]
	checked time.Time // when a process had come or gone last, when foreign was compared; zero: unknown
	log     hclog.Logger

	since   time.Time   // since when it is idle
	turns   []time.Time // when the last ones ended; see [worker.keep]
	weight  cli.Weight  // at the last measurement
	holds   bool        // it has a slot, which its end frees
	leaving bool        // parked
	over    bool        // ended
}

// machine tells of the machine's memory. memory.Machine implements it.
type machine interface {
	Read() (memory.State, bool)
}

// scale weighs processes.
type scale interface {
	Weigh(roots []cli.ID) map[cli.ID]cli.Weight
}

// alive reports whether the process runs.
func (s *worker) alive() bool {
	select {
	case <-s.process.Exited():
		return false
	default:
		return true
	}
}

// waiter is a run that waits for a slot.
type waiter struct {
	granted chan struct{}
	owner   bool
}

// New prepares a pool; processes are started by turns. It returns a [*NotInstalledError] when there is no CLI.
func New(cfg Config, log hclog.Logger, processes cli.Records) (*Pool, error) {
	cfg = cfg.withDefaults()
	if !cli.CanWeigh && cfg.MaxMemory > 0 {
		log.Warn("claude.max_memory has no effect: this system does not report the memory of processes")
		cfg.MaxMemory = 0
	}
	closing, stop := context.WithCancel(context.Background()) // of the pool, which Close ends
	p := &Pool{
		config: cfg, agents: map[string]agentCLI{}, log: log, processes: processes, scale: cli.Scale{}, machine: cfg.Machine,
		spawns: make(chan struct{}, spawnsAtOnce), closing: closing, close: stop, kick: make(chan struct{}, 1), inspect: make(chan struct{}, 1), inspected: make(chan struct{}),
		busy: map[string]*use{}, idle: newIdle(), live: newLive(),
		parked: map[string]*worker{}, retired: map[string]bool{},
	}
	if err := p.prepare(); err != nil {
		stop()
		return nil, err
	}
	p.work.Go(p.janitor)
	return p, nil
}

// Close stops the running turns, ends all processes and waits for their end. If ctx ends before, they are killed.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.clear()
	for _, s := range slices.Collect(maps.Values(p.idle.sessions)) {
		p.leave(s, Closing)
	}
	p.mu.Unlock()
	p.close()
	done := make(chan struct{})
	go func() {
		p.work.Wait()
		close(done)
	}()
	defer process.KillAll(nil, p.config.Family.Strays)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	left := slices.Collect(maps.Values(p.live.pids))
	p.mu.Unlock()
	for _, s := range left {
		s.process.Destroy()
	}
	<-done
	return ctx.Err()
}

// Retire notes that a session will not be used again: its process is ended as soon as it is idle.
func (p *Pool) Retire(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.idle.sessions[id]; s != nil {
		p.leave(s, Superseded)
	} else if p.busy[id] != nil {
		p.retired[id] = true
	}
}

// use is what a session's process is used for: there is one use of it at a time.
type use struct {
	starts bool          // the process is started, for a turn that may come
	ended  chan struct{} // closed at the end
}

// enter reserves a session for a run, after other uses of it. The pool waits for the run until it calls exit.
func (p *Pool) enter(ctx context.Context, id string) error {
	for {
		other, err := p.reserve(id, false)
		if err != nil || other == nil {
			return err
		}
		select {
		case <-other.ended:
		case <-ctx.Done():
			return client.Aborted(ctx)
		}
	}
}

// enterIdle reserves a session of which no turn runs. A process that is being started is waited for. The error is [ErrBusy] or ctx's.
func (p *Pool) enterIdle(ctx context.Context, id string) error {
	for {
		other, err := p.reserve(id, false)
		switch {
		case err != nil || other == nil:
			return err
		case !other.starts:
			return ErrBusy
		}
		select {
		case <-other.ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reserve is enter for those who do not wait: it returns another use of the session, if there is one.
func (p *Pool) reserve(id string, starts bool) (other *use, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, &agent.Failure{Class: agent.Aborted, Detail: "the host is closing"}
	case p.busy[id] != nil:
		return p.busy[id], nil
	}
	p.busy[id] = &use{starts, make(chan struct{})}
	p.work.Add(1)
	return nil, nil
}

// exit ends what enter began, and keeps a live process for the session's next turn, unless each turn gets a new one.
func (p *Pool) exit(id string, s *worker) {
	defer p.work.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.busy[id].ended)
	delete(p.busy, id)
	retired := p.retired[id]
	delete(p.retired, id)
	if s == nil || !s.alive() {
		return
	}
	s.since = time.Now()
	p.live.weigh(s, cli.Weight{Own: s.weight.Own}) // the tools have ended
	p.idle.add(s)
	switch {
	case s.EndTasks():
		p.leave(s, Tasks)
	case p.closed:
		p.leave(s, Closing)
	case retired:
		p.leave(s, Superseded)
	case p.config.OneShot:
		p.leave(s, Unused)
	case p.grown(s):
		p.leave(s, Grown)
	default:
		p.grant()
		if p.due(s).Before(p.checks) {
			p.wake()
		}
	}
}

// leave parks an idle process. The caller holds the lock.
func (p *Pool) leave(s *worker, why Reason) {
	p.last = append(p.last, Parking{At: time.Now(), Session: s.key, Why: why})
	p.last = p.last[max(0, len(p.last)-maxParkings):]
	s.log.Debug("claude is parked", "why", string(why), "bytes", s.weight.All())
	p.idle.remove(s.session)
	s.leaving = true
	p.parked[s.session] = s
	p.parking++
	p.work.Go(func() { s.process.Park(parkPatience) })
}

// acquire returns the session's process: the idle one (reused) if it can run the turn, or a new one as soon as there is
// a slot and the old one has exited, because two on one session would lose messages.
func (p *Pool) acquire(ctx context.Context, of agentCLI, t agent.Turn) (s *worker, reused bool, err error) {
	since, failure := p.openElsewhere(of, t.Session)
	if failure != nil {
		p.Retire(t.Session)
		return nil, false, failure
	}
	if s := p.take(ctx, of, t, since); s != nil {
		return s, true, nil
	}
	p.mu.Lock()
	for s := p.parked[t.Session]; s != nil && s.alive(); s = p.parked[t.Session] {
		p.mu.Unlock()
		select {
		case <-s.process.Exited():
		case <-ctx.Done():
			return nil, false, client.Aborted(ctx)
		}
		p.mu.Lock()
	}
	w := &waiter{granted: make(chan struct{}), owner: t.Authority == chat.Owner}
	p.enqueue(w)
	p.grant()
	p.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		select {
		case <-w.granted:
			p.release()
		default:
			p.waiting = slices.DeleteFunc(p.waiting, func(o *waiter) bool { return o == w })
		}
		return nil, false, client.Aborted(ctx)
	}
	s, err = p.spawn(ctx, of, t)
	return s, false, err
}

// take returns the session's idle process, or nil if none can run the turn. One that cannot is parked.
func (p *Pool) take(ctx context.Context, of agentCLI, t agent.Turn, since time.Time) *worker {
	p.mu.Lock()
	p.supersede(t)
	s := p.idle.remove(t.Session)
	p.mu.Unlock()
	if s == nil || s.alive() && s.knows(of, since) && s.Serves(t) && s.Adopt(ctx, t.Profile) {
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.over {
		p.leave(s, Replaced)
	}
	return nil
}

// enqueue adds a run to those that wait for a slot; an owner's comes first. The caller holds the lock.
func (p *Pool) enqueue(w *waiter) {
	at := len(p.waiting)
	if w.owner {
		at = slices.IndexFunc(p.waiting, func(o *waiter) bool { return !o.owner })
	}
	if at < 0 {
		at = len(p.waiting)
	}
	p.waiting = slices.Insert(p.waiting, at, w)
}

// most is the maximum number of processes. The caller holds the lock.
func (p *Pool) most() int {
	return p.config.MaxProcesses + min(p.asking, max(p.config.MaxProcesses, 2))
}

// grant gives free slots to the waiting runs, in order, and parks idle processes, those worth the least first, while runs
// still wait or memory is short. The caller holds the lock.
func (p *Pool) grant() {
	p.relieve()
	for len(p.waiting) > 0 && p.slots < p.most() && !p.tight() {
		p.slots++
		close(p.waiting[0].granted)
		p.waiting = p.waiting[1:]
	}
	short := min(len(p.waiting)-(p.most()-p.slots)-p.parking, len(p.idle.sessions))
	if short <= 0 {
		return
	}
	for _, s := range p.leastValued()[:short] {
		p.leave(s, Needed)
	}
}

// release frees a slot. The caller holds the lock.
func (p *Pool) release() {
	p.slots--
	p.grant()
}

// ended is called once for each process that has ended.
func (p *Pool) ended(s *worker) {
	p.expel(s)
	const forget = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), forget) // the process may outlive its turn and the pool's context
	defer cancel()
	if err := p.processes.DeleteProcess(ctx, s.process.ID().PID, s.process.ID().Started); err != nil {
		p.log.Warn("cannot delete the record of a process", "pid", s.process.ID().PID, "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle.sessions[s.session] == s {
		p.idle.remove(s.session)
		p.log.Warn("an idle claude ended", "session", s.session, "error", s.process.Ended())
	}
	p.stock.spares = slices.DeleteFunc(p.stock.spares, func(o spare) bool { return o.worker == s })
	p.live.remove(s)
	if s.leaving {
		delete(p.parked, s.session)
		p.parking--
	}
	s.over = true
	if s.holds {
		p.release()
	}
}

// expel kills the tools of a session that another process has written into, and notifies the owners.
func (p *Pool) expel(s *worker) {
	intruder := s.IntrudedBy()
	if intruder == nil {
		return
	}
	s.process.Destroy()
	p.log.Error("another process wrote into a session, whose claude was killed", "session", s.key,
		"claude_session", s.session, "pid", *intruder)
	if p.config.Owners != nil {
		p.config.Owners.Tell(domain.KeySessionEdited.Of(s.session), wording.SessionIntruded(*intruder, s.key))
	}
}
