package permission

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Ask decides what claude asks for in a run's turn: by earlier permissions, or else by asking people. It returns when
// they have answered, when the time is over, or when ctx ends; the result has no meaning then.
func (d *Approvals) Ask(ctx context.Context, run *conversation.Turn, q agent.Question) agent.Decision {
	decision, err := d.decide(ctx, run, q)
	switch {
	case err == nil:
		return decision
	case ctx.Err() != nil:
		return agent.Decision{Message: "The question was withdrawn."}
	default:
		d.log.Error("a question could not be asked", "session", run.Session.Key, "tool", q.Tool, "error", err)
		return agent.Decision{Message: "Nobody could be asked, because the host failed to. Go on without it."}
	}
}

func (d *Approvals) decide(ctx context.Context, run *conversation.Turn, q agent.Question) (agent.Decision, error) {
	done, err := d.claimQuestion(ctx, run.Session.Key+" "+digest(q, 0))
	if err != nil {
		return agent.Decision{}, err
	}
	defer done()
	choice, plan, granted := q.Tool == "AskUserQuestion", q.Tool == "ExitPlanMode", false
	if run.Owned && remembers(d.options.Workspace, run.Head.Message.Origin, q) {
		return agent.Decision{Allow: true}, nil
	}
	if !choice && !plan {
		granted, err = d.granted(ctx, run, q)
	}
	switch {
	case err != nil, granted:
		return agent.Decision{Allow: true}, err
	}
	if refusal := unattended(run.Head.Message, !choice && !plan); refusal != nil {
		return *refusal, nil
	}
	end, tooMany := d.begin(run)
	if tooMany != nil {
		return d.decline(ctx, run, q, tooMany)
	}
	defer end(ctx)
	switch {
	case choice:
		return d.choices(ctx, run, q)
	case plan:
		return d.one(ctx, run, q, planBody(q))
	default:
		return d.one(ctx, run, q, toolBody(q))
	}
}

// claimQuestion waits until nobody else asks the same question, and claims it until done is called. Parallel tools may ask the
// same, and an answer is valid for one of them.
func (d *Approvals) claimQuestion(ctx context.Context, what string) (done func(), err error) {
	over := make(chan struct{})
	for {
		d.mu.Lock()
		before := d.asking[what]
		if before == nil {
			d.asking[what] = over
		}
		d.mu.Unlock()
		if before == nil {
			return func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				delete(d.asking, what)
				close(over)
			}, nil
		}
		select {
		case <-before:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// choices asks the questions of one AskUserQuestion in turn. Their answers are taken together: claude gets all or none,
// and a resumed turn asks all of them again.
func (d *Approvals) choices(ctx context.Context, run *conversation.Turn, q agent.Question) (agent.Decision, error) {
	questions, ok := readChoices(q.Input)
	if !ok || len(questions) == 0 || len(questions) > maxChoices {
		return agent.Decision{Message: "The questions could not be read."}, nil
	}
	answers, asked := map[string]string{}, []string{}
	for i, c := range questions {
		b := choiceBody(c)
		id, v, err := d.askAndWait(ctx, run, q, b, i)
		if err != nil {
			return agent.Decision{}, err
		}
		asked = append(asked, id)
		if !v.Allow {
			return v.decision(b), d.taken(ctx, asked...)
		}
		answers[c.question] = v.Said
	}
	full := map[string]json.RawMessage{}
	err := json.Unmarshal(q.Input, &full)
	if err != nil {
		return agent.Decision{}, fmt.Errorf("read the questions: %w", err)
	}
	if err := d.taken(ctx, asked...); err != nil {
		return agent.Decision{}, err
	}
	if full["answers"], err = json.Marshal(answers); err != nil {
		return agent.Decision{}, err
	}
	given, err := json.Marshal(full)
	return agent.Decision{Allow: true, Input: given}, err
}

// one asks a single question and takes its answer.
func (d *Approvals) one(ctx context.Context, run *conversation.Turn, q agent.Question, b body) (agent.Decision, error) {
	id, v, err := d.askAndWait(ctx, run, q, b, 0)
	if err != nil {
		return agent.Decision{}, err
	}
	return v.decision(b), d.taken(ctx, id)
}

// askAndWait asks one question and waits for its answer, which is still to be taken.
func (d *Approvals) askAndWait(ctx context.Context, run *conversation.Turn, q agent.Question, b body, part int) (id string, v verdict, err error) {
	row, sent, err := d.post(ctx, run, q, b, part)
	if err != nil {
		return "", v, err
	}
	defer d.options.Chats.Asking(run.Head.Message.Address(), sent)()
	v, err = d.wait(ctx, row)
	return row.ID, v, err
}

// post asks a question, unless it is already open; sent reports whether it was sent now.
func (d *Approvals) post(ctx context.Context, run *conversation.Turn, q agent.Question, b body, part int) (row domain.Question, sent bool, err error) {
	m := run.Head.Message
	to, kind := m.Address(), m.Chat.Kind
	b.Kind, b.Purpose, b.Whose = kind, purpose(m.Origin), access.Audience(run.Caller.Authority)
	if caller := run.Caller; b.About != wording.AboutChoice && m.Chat.Kind == chat.Direct && !d.options.Conversations.Decides(caller) {
		decider, ok := d.options.Owners.Reachable(ctx)
		if !ok {
			return row, false, errors.New("nobody who may decide can be reached")
		}
		to, b.Kind, b.For = decider, chat.Direct, m.Sender.Name()
	}
	id := newID()
	items := d.message(id, to, &b)
	encoded, err := json.Marshal(b)
	if err != nil {
		return row, false, err
	}
	row = domain.Question{
		ID: id, ClaudeSession: run.Head.ClaudeSession, Digest: digest(q, part), Authority: run.Caller.Authority,
		Asker: m.Channel + ":" + string(m.Sender.ID), To: to, Body: encoded, ExpiresAt: time.Now().Add(d.options.Patience), Unseen: b.question("").Undelivered(),
	}
	if b.For != "" {
		items = append(d.options.Conversations.Notice(m.Address(), m.Chat.Kind, b.question("").Elsewhere()), items...)
	}
	if row, err = d.store(ctx, run.ID, row, items); err != nil {
		return row, false, err
	}
	if row.ID == id {
		d.log.Info("a question was asked", "question", id, "session", row.Session, "about", cmp.Or(q.Tool, string(b.About)), "in", to.Channel+":"+string(to.Chat))
	}
	return row, row.ID == id, nil
}

// store stores and registers a run's question, or returns the equal one that is already open.
func (d *Approvals) store(ctx context.Context, run int64, row domain.Question, items []domain.OutboxItem) (domain.Question, error) {
	d.storing.RLock()
	defer d.storing.RUnlock()
	row, err := d.options.Store.Ask(ctx, run, row, items...)
	if err == nil {
		d.askedBy(row, run)
	}
	return row, err
}

// message makes the question's message, with buttons if the chat has enough of them, else with numbers.
func (d *Approvals) message(id string, to chat.Address, b *body) []domain.OutboxItem {
	buttons := layout(id, b.options(), d.options.Conversations.Limits(to.Channel, b.Kind).Buttons)
	b.Numbered = buttons == nil
	items := d.options.Conversations.Notice(to, b.Kind, b.text(id, buttons != nil))
	items[len(items)-1].Buttons = buttons
	return items
}

// digest identifies the content of a question.
func digest(q agent.Question, part int) string {
	var compact strings.Builder
	_ = json.NewEncoder(&compact).Encode(q.Input)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", q.Tool, part, compact.String()))
	return hex.EncodeToString(sum[:16])
}

// wait returns the answer to a question.
func (d *Approvals) wait(ctx context.Context, row domain.Question) (verdict, error) {
	if row.State == domain.QuestionAnswered {
		return readVerdict(row.Answer)
	}
	answered := make(chan verdict, 1)
	d.mu.Lock()
	d.waiters[row.ID] = answered
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiters, row.ID)
	}()
	// It may have been answered between asking and waiting.
	now, err := d.options.Store.Question(ctx, row.ID)
	if err != nil {
		return verdict{}, err
	}
	switch now.State {
	case domain.QuestionAnswered:
		return readVerdict(now.Answer)
	case domain.QuestionUnseen:
		return undelivered, nil
	}
	expiry := time.NewTimer(time.Until(row.ExpiresAt))
	defer expiry.Stop()
	select {
	case v := <-answered:
		return v, nil
	case <-ctx.Done():
		return verdict{}, d.leave(ctx, row)
	case <-expiry.C:
	}
	late, settled, err := d.settle(ctx, row.ID, domain.QuestionExpired, verdict{}, wording.QuestionExpired(d.options.Patience, d.bodyOf(row).what()))
	if err == nil && !settled {
		return readVerdict(late.Answer)
	}
	return verdict{Said: "Nobody answered in time."}, err
}
