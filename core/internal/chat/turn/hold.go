package turn

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/notice"
)

const (
	// shortestHold and longestHold bound the pause before a turn that could not begin is tried again. The pause is half
	// of the time since the first attempt.
	shortestHold = time.Second
	longestHold  = 2 * time.Minute
	// quietHold is the delay before a notice: the cause may pass, such as a shortage of memory.
	quietHold = 5 * time.Second
)

// Outages know which turns are held, and for what. They are safe for concurrent use.
type Outages struct {
	of map[agent.Class]*outage // each class of failure that is temporary and not caused by a message
}

// NewOutages returns those of a host in which no turn is held.
func NewOutages() *Outages {
	return &Outages{of: map[agent.Class]*outage{
		// During an upgrade, or while the machine is short of memory or processes.
		agent.Unavailable: {code: health.ClaudeUnusable},
		agent.NoSpace:     {code: health.DiskFull},
		agent.ChannelAway: {}, // The plugin is reported, and the chat cannot be reached.
	}}
}

// Problems implements [health.Source].
func (o *Outages) Problems(context.Context) (list []health.Report) {
	for _, class := range []agent.Class{agent.Unavailable, agent.NoSpace} {
		if why, out := o.of[class].cause(); out {
			list = append(list, health.Report{Code: o.of[class].code, Detail: notice.Quote(why), Advice: wording.AdviceKept})
		}
	}
	return list
}

// outage is the state of turns that are held for one class of failure.
type outage struct {
	code health.Code // of the problem; empty: others report it

	mu   sync.Mutex
	held map[string]heldTurn // by message id
	out  bool                // the last turn that needs the resource could not use it
	why  string
}

// heldTurn is a turn that is held.
type heldTurn struct{ since, seen time.Time }

// hold schedules another try of a turn that could not begin or end. It notifies its chat once.
func (h *Handler) hold(ctx context.Context, run *conversation.Run, f *agent.Failure) error {
	o := h.options.Outages.of[f.Class]
	why := strings.TrimPrefix(f.Error(), f.Class.String()+": ")
	cause := why
	if f.Class == agent.NoSpace {
		cause = f.Detail // The rest names the file, which differs each time.
	}
	wait, old := o.add(run.Head.UUID, cause)
	h.log.Warn("a turn is held and tried again", "session", run.Session.Key, "run", run.ID, "again_in", wait.Round(time.Millisecond), "class", f.Class, "error", why)
	if old && o.code != "" {
		h.tellHeld(ctx, run, f)
	}
	return &agent.HeldError{Wait: wait, Err: f, Why: heldFor(f.Class, cause)}
}

// heldFor is why a turn is held, for programs that wait for its answer.
func heldFor(class agent.Class, cause string) string {
	switch class {
	case agent.NoSpace:
		return wording.NoSpaceFor(notice.Quote(cause))
	case agent.Unavailable:
		return wording.ClaudeUnavailableFor(notice.Quote(cause))
	default:
		return wording.ChannelAwayFor
	}
}

// tellHeld tells a run's chat that its message is kept, once for each class.
func (h *Handler) tellHeld(ctx context.Context, run *conversation.Run, f *agent.Failure) {
	m := run.Head.Message
	if m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat {
		return
	}
	items := h.notice(run, h.trouble(run, f))
	if len(items) == 0 {
		return
	}
	if _, err := h.options.Store.Post(context.WithoutCancel(ctx), domain.KeyHeldTurn.Of(f.Class, run.Head.UUID), items...); err != nil {
		h.log.Warn("cannot tell a chat that its message is kept", "run", run.ID, "error", err)
	}
}

// noteStarted handles the end of a turn that was tried. A turn that could begin ends the outage.
func (h *Handler) noteStarted(run *conversation.Run, err error) {
	var f *agent.Failure
	if errors.As(err, &f) && (f.Class == agent.Unavailable || f.Class == agent.Aborted) {
		return
	}
	h.endOutage(agent.Unavailable, run, true)
}

// handled notes that all files of a run could be fetched and stored.
func (h *Handler) handled(run *conversation.Run) {
	files := slices.ContainsFunc(run.All(), func(q domain.Queued) bool { return len(q.Message.Media) > 0 })
	h.endOutage(agent.NoSpace, run, files)
	h.endOutage(agent.ChannelAway, run, files)
}

// endOutage notes that a run could use the resource that runs are held for. That ends the outage if the run was held for
// it, or needs it.
func (h *Handler) endOutage(class agent.Class, run *conversation.Run, needs bool) {
	if h.options.Outages.of[class].end(run.Head.UUID, needs) {
		h.log.Info("turns are held no longer", "class", class)
	}
}

// add notes a held turn. It returns how long to wait before the next try, and whether the hold has lasted long enough for a
// notice.
func (o *outage) add(id, why string) (wait time.Duration, old bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	// Messages that were dropped meanwhile do not return.
	maps.DeleteFunc(o.held, func(_ string, t heldTurn) bool { return now.Sub(t.seen) > 5*longestHold })
	t, known := o.held[id]
	if !known {
		t.since = now
	}
	t.seen = now
	if o.held == nil {
		o.held = map[string]heldTurn{}
	}
	o.held[id], o.out, o.why = t, true, why
	age := now.Sub(t.since)
	return min(max(age/2, shortestHold), longestHold), age >= quietHold
}

// cause returns why the last turn that needs the resource could not use it; false: it could.
func (o *outage) cause() (why string, out bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.why, o.out
}

// end notes that a turn has had the resource, if it was held or needs it. It reports whether that ends an outage.
func (o *outage) end(id string, needs bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, held := o.held[id]; !held && !needs {
		return false
	}
	delete(o.held, id)
	out := o.out
	o.out = false
	return out
}
