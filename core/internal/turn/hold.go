package turn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/store"
)

const (
	// shortestHold and longestHold bound the pause before a turn that could not begin is tried again. It is half of the time
	// for which that has gone on.
	shortestHold = time.Second
	longestHold  = 2 * time.Minute
	// quietHold is how long nobody is told: it may pass by itself, as a shortage of memory does.
	quietHold = 5 * time.Second
	// oneOutage is how long the same cause, which comes and goes, is told to the owners only once.
	oneOutage = time.Hour
)

// outage is what is known of turns that cannot begin because claude cannot be started: while it is upgraded, or the machine
// is short of memory or processes.
type outage struct {
	mu    sync.Mutex
	held  map[string]heldTurn // by the ids of their messages
	since time.Time           // no turn has begun since then; zero: the last one has
	told  string              // the cause that the owners know of; empty: they know of none
	last  string              // the cause that they were told last
	at    time.Time           // when that was
}

// heldTurn is a turn that cannot begin.
type heldTurn struct{ since, seen time.Time }

// hold has a turn tried again later that could not begin. Its chat is told once, and the owners of the cause.
func (h *Handler) hold(ctx context.Context, run *store.Run, f *agent.Failure) error {
	why := strings.TrimPrefix(f.Error(), f.Class.String()+": ")
	wait, old, cause := h.outage.add(run.Message.UUID, why)
	h.log.Warn("a turn cannot begin and is tried again", "session", run.Session.Key, "run", run.ID, "in", wait, "error", why)
	if old {
		h.tellHeld(ctx, run, f)
	}
	if cause != "" && h.options.Owners != nil {
		h.options.Owners.Tell(fmt.Sprint("held:", time.Now().UnixNano()),
			fmt.Sprintf("Claude cannot be started:\n\n```\n%s\n```\n\nMessages are kept, and I go on trying.", strings.ReplaceAll(cause, "`", "'")))
	}
	return &agent.HeldError{Wait: wait, Err: f}
}

// tellHeld tells a run's chat that its message is kept, once.
func (h *Handler) tellHeld(ctx context.Context, run *store.Run, f *agent.Failure) {
	m := run.Message.Message
	if m.Origin == store.OriginFlush || m.Origin == store.OriginHeartbeat {
		return
	}
	pieces := h.notice(run, h.options.Trouble(run, f))
	if len(pieces) == 0 {
		return
	}
	if _, err := h.options.Store.Post(context.WithoutCancel(ctx), "held:"+run.Message.UUID, pieces...); err != nil {
		h.log.Warn("tell a chat that its message is kept", "run", run.ID, "error", err)
	}
}

// begun takes how a turn has ended that was tried. One that could begin ends the outage.
func (h *Handler) begun(run *store.Run, err error) {
	var f *agent.Failure
	if errors.As(err, &f) && (f.Class == agent.Unavailable || f.Class == agent.Aborted) {
		return
	}
	if h.outage.end(run.Message.UUID) && h.options.Owners != nil {
		h.log.Info("turns can begin again")
		h.options.Owners.Tell(fmt.Sprint("held over:", time.Now().UnixNano()), "Claude can be started again.")
	}
}

// add takes that a turn could not begin. It returns how long to wait before it is tried again, whether that has gone on for
// long enough to be told, and the cause if the owners are to be told.
func (o *outage) add(id, why string) (wait time.Duration, old bool, cause string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	// What was dropped while it waited comes no more.
	maps.DeleteFunc(o.held, func(_ string, t heldTurn) bool { return now.Sub(t.seen) > 5*longestHold })
	t, known := o.held[id]
	if !known {
		t.since = now
	}
	t.seen = now
	if o.held == nil {
		o.held = map[string]heldTurn{}
	}
	o.held[id] = t
	if o.since.IsZero() {
		o.since = now
	}
	if o.told == "" && now.Sub(o.since) >= quietHold && (o.last != why || now.Sub(o.at) >= oneOutage) {
		o.told, o.last, o.at, cause = why, why, now, why
	}
	age := now.Sub(t.since)
	return min(max(age/2, shortestHold), longestHold), age >= quietHold, cause
}

// end takes that a turn has begun. It reports whether the owners are to be told that the outage is over.
func (o *outage) end(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.held, id)
	told := o.told != ""
	o.since, o.told = time.Time{}, ""
	return told
}
