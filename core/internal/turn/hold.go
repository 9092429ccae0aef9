package turn

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
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

// outage is what is known of turns that are held for one class of failure.
type outage struct {
	over string // what the owners are told once it is over; empty: they are told nothing, as others tell of it

	mu    sync.Mutex
	held  map[string]heldTurn // by the ids of their messages
	since time.Time           // no turn that needs what is missing has had it since then; zero: the last one has
	told  string              // the cause that the owners know of; empty: they know of none
	last  string              // the cause that they were told last
	at    time.Time           // when that was
}

// heldTurn is a turn that is held.
type heldTurn struct{ since, seen time.Time }

// newOutages returns an outage for each class of failure that is no fault of a message and passes.
func newOutages() map[agent.Class]*outage {
	return map[agent.Class]*outage{
		// While it is upgraded, or the machine is short of memory or processes.
		agent.Unavailable: {over: wording.ClaudeAvailable},
		agent.NoRoom:      {over: wording.SpaceAgain},
		agent.ChannelAway: {}, // The supervisor tells the owners, and nobody could tell the chat.
	}
}

// hold has a turn tried again later that could not begin or end. Its chat is told once, and the owners of the cause.
func (h *Handler) hold(ctx context.Context, run *conversation.Turn, f *agent.Failure) error {
	o := h.outages[f.Class]
	why := strings.TrimPrefix(f.Error(), f.Class.String()+": ")
	cause := why
	if f.Class == agent.NoRoom {
		cause = f.Detail // The rest tells the file, which is another one each time.
	}
	wait, old, begins := o.add(run.Message.UUID, cause)
	h.log.Warn("a turn is held and tried again", "session", run.Session.Key, "run", run.ID, "in", wait, "class", f.Class, "error", why)
	if old && o.over != "" {
		h.tellHeld(ctx, run, f)
	}
	if begins && o.over != "" && h.options.Owners != nil {
		// A host that was killed meanwhile does not tell it again.
		of := sha256.Sum256([]byte(cause))
		h.options.Owners.Tell(fmt.Sprintf("held:%s:%x:%s", f.Class, of[:8], time.Now().UTC().Format("2006-01-02T15")),
			heldBecause(f.Class, cause))
	}
	return &agent.HeldError{Wait: wait, Err: f}
}

// heldBecause says to owners why turns are held.
func heldBecause(class agent.Class, cause string) string {
	if class == agent.NoRoom {
		return wording.NoSpaceBecause(cause)
	}
	return wording.ClaudeUnavailableBecause(cause)
}

// tellHeld tells a run's chat that its message is kept, once for each class.
func (h *Handler) tellHeld(ctx context.Context, run *conversation.Turn, f *agent.Failure) {
	m := run.Message.Message
	if m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat {
		return
	}
	items := h.notice(run, h.trouble(run, f))
	if len(items) == 0 {
		return
	}
	if _, err := h.options.Store.Post(context.WithoutCancel(ctx), fmt.Sprintf("held:%s:%s", f.Class, run.Message.UUID), items...); err != nil {
		h.log.Warn("tell a chat that its message is kept", "run", run.ID, "error", err)
	}
}

// begun takes how a turn has ended that was tried. One that could begin ends the outage.
func (h *Handler) begun(run *conversation.Turn, err error) {
	var f *agent.Failure
	if errors.As(err, &f) && (f.Class == agent.Unavailable || f.Class == agent.Aborted) {
		return
	}
	h.endOutage(agent.Unavailable, run, true)
}

// handled takes that all files of a run could be had and kept.
func (h *Handler) handled(run *conversation.Turn) {
	files := slices.ContainsFunc(append([]domain.Queued{run.Message}, run.More...), func(q domain.Queued) bool { return len(q.Message.Media) > 0 })
	h.endOutage(agent.NoRoom, run, files)
	h.endOutage(agent.ChannelAway, run, files)
}

// endOutage takes that a run has had what runs are held for. That ends the outage where the run was held for it, or needs it.
func (h *Handler) endOutage(class agent.Class, run *conversation.Turn, needs bool) {
	o := h.outages[class]
	if o.end(run.Message.UUID, needs) && o.over != "" && h.options.Owners != nil {
		h.log.Info("turns are held no longer", "class", class)
		h.options.Owners.Tell(fmt.Sprint("held over:", time.Now().UnixNano()), o.over)
	}
}

// add takes that a turn is held. It returns how long to wait before it is tried again, whether that has gone on for long
// enough to be told, and whether the owners are to be told of the cause.
func (o *outage) add(id, why string) (wait time.Duration, old, begins bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	// What was dropped while it waited comes no more.
	maps.DeleteFunc(o.held, func(_ string, t heldTurn) bool { return now.Sub(t.seen) > 5*longestHold })
	if len(o.held) == 0 {
		o.since, o.told = time.Time{}, ""
	}
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
		o.told, o.last, o.at, begins = why, why, now, true
	}
	age := now.Sub(t.since)
	return min(max(age/2, shortestHold), longestHold), age >= quietHold, begins
}

// end takes that a turn has had what is missing, if it was held or needs it. It reports whether the owners are to be told that the
// outage is over.
func (o *outage) end(id string, needs bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, held := o.held[id]; !held && !needs {
		return false
	}
	delete(o.held, id)
	told := o.told != ""
	o.since, o.told = time.Time{}, ""
	return told
}
