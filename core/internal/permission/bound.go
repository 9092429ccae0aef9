package permission

import (
	"cmp"
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/wording"
)

const (
	// maxOfSession bounds the open questions of one session.
	maxOfSession = 16
	// maxOfSender bounds the open questions of one person who may not decide.
	maxOfSender = 4
)

// Turns are the running turns. A turn that waits for people frees its place.
type Turns interface {
	// Pause records that a run waits for one more answer. False: too many runs wait.
	Pause(run int64) bool
	// Resume records that a run waits for one answer less, and returns when it may continue, or when ctx ends.
	Resume(ctx context.Context, run int64)
}

// begin counts a question, and returns the function to call when the run no longer waits for it. If too many are open
// it returns the bound and counts nothing.
func (d *Approvals) begin(run *conversation.Turn) (end func(context.Context), tooMany *bound) {
	caller := run.Caller
	bounds := []bound{{"session " + caller.Session, maxOfSession, wording.OfConversation}}
	if !d.options.Conversations.Decides(caller) {
		bounds = append(bounds, bound{"sender " + nameOf(caller), maxOfSender, wording.OfSender})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range bounds {
		if d.busy[b.key] >= b.most {
			return nil, &b
		}
	}
	if !d.options.Turns.Pause(run.ID) {
		return nil, &bound{of: wording.OfOthers}
	}
	for _, b := range bounds {
		d.busy[b.key]++
	}
	return func(ctx context.Context) {
		d.mu.Lock()
		for _, b := range bounds {
			if d.busy[b.key]--; d.busy[b.key] == 0 {
				delete(d.busy, b.key)
			}
		}
		d.mu.Unlock()
		d.options.Turns.Resume(ctx, run.ID)
	}, nil
}

// bound is a limit of open questions.
type bound struct {
	key  string
	most int
	of   wording.Crowd
}

// decline answers a question that nobody is asked because too many are open. The chat gets one notice a turn.
func (d *Approvals) decline(ctx context.Context, run *conversation.Turn, q agent.Question, tooMany *bound) (agent.Decision, error) {
	d.log.Warn("a question was not asked: too many are open", "bound", cmp.Or(tooMany.key, "other conversations"), "session", run.Session.Key, "run", run.ID, "tool", q.Tool)
	m := run.Head.Message
	text := wording.TooManyQuestions(q.Tool, tooMany.most, tooMany.of)
	items := d.options.Conversations.Notice(m.Address(), m.Chat.Kind, text)
	if _, err := d.options.Store.Post(ctx, fmt.Sprint("refused:", run.ID), items...); err != nil {
		return agent.Decision{}, fmt.Errorf("tell that a question was not asked: %w", err)
	}
	return agent.Decision{Message: fmt.Sprintf("Nobody was asked about this use of %s: too many questions are waiting for answers already. "+
		"Go on without it, and do not try it again in this turn.", q.Tool)}, nil
}
