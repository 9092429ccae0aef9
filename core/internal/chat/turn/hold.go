package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
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
	// oneOutage is how long an intermittent cause is reported to the owners only once.
	oneOutage = time.Hour
)

// outage is the state of turns that are held for one class of failure.
type outage struct {
	over string // the notice to owners at its end; empty: none, because others send it

	mu    sync.Mutex
	held  map[string]heldTurn // by message id
	since time.Time           // no turn that needs the resource could use it since then; zero: the last one could
	told  string              // the cause that the owners know of; empty: none
	last  string              // the cause of the last notice
	at    time.Time           // when that was sent
}

// heldTurn is a turn that is held.
type heldTurn struct{ since, seen time.Time }

// newOutages returns an outage for each class of failure that is temporary and not caused by a message.
func newOutages() map[agent.Class]*outage {
	return map[agent.Class]*outage{
		// During an upgrade, or while the machine is short of memory or processes.
		agent.Unavailable: {over: wording.ClaudeAvailable},
		agent.NoSpace:     {over: wording.SpaceAgain},
		agent.ChannelAway: {}, // The supervisor notifies the owners, and the chat cannot be reached.
	}
}

// hold schedules another try of a turn that could not begin or end. It notifies its chat once, and the owners of the
// cause.
func (h *Handler) hold(ctx context.Context, run *conversation.Run, f *agent.Failure) error {
	o := h.outages[f.Class]
	why := strings.TrimPrefix(f.Error(), f.Class.String()+": ")
	cause := why
	if f.Class == agent.NoSpace {
		cause = f.Detail // The rest names the file, which differs each time.
	}
	wait, old, begins := o.add(run.Head.UUID, cause)
	h.log.Warn("a turn is held and tried again", "session", run.Session.Key, "run", run.ID, "again_in", wait.Round(time.Millisecond), "class", f.Class, "error", why)
	if old && o.over != "" {
		h.tellHeld(ctx, run, f)
	}
	if told := heldBecause(f.Class, cause); begins && told != "" && h.options.Owners != nil {
		// A host that was killed meanwhile does not repeat the notice.
		of := sha256.Sum256([]byte(cause))
		h.options.Owners.Tell(domain.KeyHeldTurn.Of(f.Class, hex.EncodeToString(of[:8]), time.Now().UTC().Format("2006-01-02T15")), told)
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

// heldBecause is the notice that tells owners why turns are held; empty for a class that another package reports.
func heldBecause(class agent.Class, cause string) string {
	switch class {
	case agent.NoSpace:
		return wording.NoSpaceBecause(cause)
	case agent.Unavailable:
		return wording.ClaudeUnavailableBecause(cause)
	default:
		return ""
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
	o := h.outages[class]
	if o.end(run.Head.UUID, needs) && o.over != "" && h.options.Owners != nil {
		h.log.Info("turns are held no longer", "class", class)
		h.options.Owners.Tell(domain.KeyHeldOver.Of(time.Now().UnixNano()), o.over)
	}
}

// add notes a held turn. It returns how long to wait before the next try, whether the hold has lasted long enough for a
// notice, and whether the owners get a notice of the cause.
func (o *outage) add(id, why string) (wait time.Duration, old, begins bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	// Messages that were dropped meanwhile do not return.
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

// end notes that a turn has had the resource, if it was held or needs it. It reports whether the owners get a notice
// that the outage is over.
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
