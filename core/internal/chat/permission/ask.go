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

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Ask decides what claude asks for in a run's turn: by earlier permissions, or else by asking people. It returns when
// they have answered, when the time is over, or when ctx ends; the result has no meaning then.
func (d *Approvals) Ask(ctx context.Context, run *conversation.Run, q agent.Question) agent.Decision {
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

func (d *Approvals) decide(ctx context.Context, run *conversation.Run, q agent.Question) (agent.Decision, error) {
	w := &waiter{
		run: run.ID, session: run.Session.Key, digests: []string{digest(q, 0)}, over: make(chan struct{}),
	}
	if !d.options.Conversations.Decides(run.Caller) {
		w.sender = nameOf(run.Caller)
	}
	if err := d.waiters.add(ctx, w); err != nil {
		return agent.Decision{}, err
	}
	defer d.waiters.remove(w)
	if run.Owned && remembers(run.Agent.Workspace, run.Head.Message.Origin, q) {
		return agent.Decision{Allow: true}, nil
	}
	if q.Tool == tools.JobsTool {
		if mayRunJob(run, q) {
			return agent.Decision{Allow: true}, nil
		}
		q.Suggested = nil // a rule for the tool would allow every command
	}
	leave := q.Elicits == nil && q.Tool != "AskUserQuestion" && q.Tool != "ExitPlanMode"
	if leave {
		if granted, err := d.granted(ctx, run, q); err != nil || granted {
			return agent.Decision{Allow: granted}, err
		}
	}
	if refusal := unattended(run.Head.Message, leave); refusal != nil {
		return *refusal, nil
	}
	return d.askPeople(ctx, run, w, q)
}

// askPeople asks, unless too many questions are open.
func (d *Approvals) askPeople(ctx context.Context, run *conversation.Run, w *waiter, q agent.Question) (agent.Decision, error) {
	if tooMany := d.waiters.count(w); tooMany != nil {
		return d.decline(ctx, run, q, tooMany)
	}
	if !d.options.Dispatcher.Pause(run.ID) {
		d.waiters.discount(w)
		return d.decline(ctx, run, q, &bound{key: "other conversations", of: wording.OfOthers})
	}
	defer func() {
		d.waiters.discount(w)
		d.options.Dispatcher.Resume(ctx, run.ID)
	}()
	switch {
	case q.Elicits != nil:
		return d.elicit(ctx, run, w, q)
	case q.Tool == "AskUserQuestion":
		return d.choices(ctx, run, w, q)
	case q.Tool == "ExitPlanMode":
		return d.one(ctx, run, w, q, planBody(q))
	default:
		return d.one(ctx, run, w, q, toolBody(q))
	}
}

// decline answers a question that is not asked because too many are open. The chat gets one notice a turn.
func (d *Approvals) decline(ctx context.Context, run *conversation.Run, q agent.Question, tooMany *bound) (agent.Decision, error) {
	d.log.Warn("a question was not asked: too many are open",
		"bound", tooMany.key, "session", run.Session.Key, "run", run.ID, "tool", q.Tool)
	m := run.Head.Message
	text := wording.TooManyQuestions(asks(q), tooMany.most, tooMany.of)
	items := d.options.Conversations.Notice(m.Address(), m.Chat.Kind, text)
	if _, err := d.options.Store.Post(ctx, domain.KeyTooManyQuestions.Of(run.ID), items...); err != nil {
		return agent.Decision{}, fmt.Errorf("tell that a question was not asked: %w", err)
	}
	return agent.Decision{Message: fmt.Sprintf("Nobody was asked about this use of %s: too many questions are waiting for answers already. "+
		"Go on without it, and do not try it again in this turn.", q.Tool)}, nil
}

// choices asks the questions of one AskUserQuestion in turn. Their answers are taken together: claude gets all or none,
// and a resumed turn asks all of them again.
func (d *Approvals) choices(ctx context.Context, run *conversation.Run, w *waiter, q agent.Question) (agent.Decision, error) {
	questions, ok := readChoices(q.Input)
	if !ok || len(questions) == 0 || len(questions) > maxChoices {
		return agent.Decision{Message: "The questions could not be read."}, nil
	}
	answers, asked := map[string]string{}, []string{}
	for i, c := range questions {
		b := choiceBody(c)
		id, v, err := d.await(ctx, run, w, q, i, b)
		if err != nil {
			return agent.Decision{}, err
		}
		asked = append(asked, id)
		if !v.Allow {
			return v.decision(b.About), d.options.Store.TakeAnswers(ctx, asked...)
		}
		answers[c.question] = v.Said
	}
	full := map[string]json.RawMessage{}
	err := json.Unmarshal(q.Input, &full)
	if err != nil {
		return agent.Decision{}, fmt.Errorf("read the questions: %w", err)
	}
	if err := d.options.Store.TakeAnswers(ctx, asked...); err != nil {
		return agent.Decision{}, err
	}
	if full["answers"], err = json.Marshal(answers); err != nil {
		return agent.Decision{}, err
	}
	given, err := json.Marshal(full)
	return agent.Decision{Allow: true, Input: given}, err
}

// one asks a single question and takes its answer.
func (d *Approvals) one(ctx context.Context, run *conversation.Run, w *waiter, q agent.Question, b body) (agent.Decision, error) {
	id, v, err := d.await(ctx, run, w, q, 0, b)
	if err != nil {
		return agent.Decision{}, err
	}
	return v.decision(b.About), d.options.Store.TakeAnswers(ctx, id)
}

// errClosed is the error for a question that was closed while its turn waited for it.
var errClosed = errors.New("the question was closed")

// await asks one part of a question and waits for its answer, which is still to be taken.
func (d *Approvals) await(
	ctx context.Context, run *conversation.Run, w *waiter, q agent.Question, part int, b body,
) (id string, v verdict, err error) {
	d.waiters.asks(w, digest(q, part))
	for {
		row, sent, err := d.post(ctx, run, q, part, b)
		if err != nil {
			return "", v, err
		}
		answered := d.options.Chats.Asking(run.Head.Message.Address(), sent)
		v, err := d.wait(ctx, run, row, b)
		answered()
		// The end of an earlier run may have closed it in the moment in which this one asked the same.
		if !errors.Is(err, errClosed) {
			return row.ID, v, err
		}
	}
}

// post asks a question, unless it is already open; sent reports whether it was sent now.
func (d *Approvals) post(
	ctx context.Context, run *conversation.Run, q agent.Question, part int, b body,
) (row domain.Question, sent bool, err error) {
	m := run.Head.Message
	b.Kind, b.Purpose, b.Whose = m.Chat.Kind, purpose(m.Origin), access.Audience(run.Caller.Authority)
	row = domain.Question{Digest: digest(q, part), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(run.Agent.Claude.AskTimeout)}
	to := recipient{at: m.Address(), kind: m.Chat.Kind}
	var before []domain.OutboxItem
	next := d.next(ctx, run, row, b)
	if m.Chat.Kind == chat.Direct && !d.decides(run, b) {
		b.For = m.Sender.Name()
	}
	if !d.asksHere(ctx, run, b) {
		if len(next.due) == 0 {
			return row, false, errors.New("no one who may decide can be reached")
		}
		to, next.due = next.due[0], next.due[1:]
		before = d.options.Conversations.Notice(m.Address(), m.Chat.Kind, b.question("").Elsewhere())
	}
	row.Further = next.further || len(next.due) > 0
	row, sent, err = d.store(ctx, run, row, b, to, before)
	if sent {
		at := row.To()
		d.log.Info("a question was asked", "question", row.ID, "session", row.Session,
			"about", cmp.Or(q.Tool, string(b.About)), "in", at.Channel+":"+string(at.Chat))
	}
	return row, sent, err
}

// store stores a run's question with the message that asks it, after other items, or returns the equal one that is
// already open; stored reports which.
func (d *Approvals) store(
	ctx context.Context, run *conversation.Run, row domain.Question, b body, to recipient, before []domain.OutboxItem,
) (known domain.Question, stored bool, err error) {
	id, m := newID(), run.Head.Message
	message, items := d.compose(id, b, to)
	row.ID, row.ClaudeSession, row.Authority = id, run.Head.ClaudeSession, run.Caller.Authority
	row.Messages = []domain.QuestionMessage{message}
	if m.Sender.ID != "" {
		row.Asker = m.Channel + ":" + string(m.Sender.ID)
	}
	row.Unseen = b.question("").Undelivered()
	if row.Body, err = json.Marshal(b); err != nil {
		return row, false, err
	}
	known, err = d.options.Store.Ask(ctx, run.ID, row, append(before, items...)...)
	return known, err == nil && known.ID == id, err
}

// compose returns the message that asks a question in a chat, with buttons if the chat has enough of them, else with numbers. A person
// who is asked elsewhere talks with the agent there, too, so their words must be a reply, as in a group.
func (d *Approvals) compose(id string, b body, to recipient) (domain.QuestionMessage, []domain.OutboxItem) {
	if b.Kind = to.kind; to.person != "" {
		b.Kind = chat.Group
	}
	buttons := layout(id, b.options(), d.options.Conversations.Limits(to.at.Channel, to.kind).Buttons)
	items := d.options.Conversations.Notice(to.at, to.kind, b.text(id, buttons != nil))
	items[len(items)-1].Buttons = buttons
	pinned := b.About != wording.AboutResume && d.options.Conversations.Can(to.at.Channel, remote.Pin)
	return domain.QuestionMessage{Person: to.person, Numbered: buttons == nil, Pinned: pinned}, items
}

// digest identifies the content of a question.
func digest(q agent.Question, part int) string {
	var compact strings.Builder
	_ = json.NewEncoder(&compact).Encode(q.Input)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", q.Tool, part, compact.String()))
	return hex.EncodeToString(sum[:16])
}

// recheck is how long a waiting turn does not look whether more people are to be asked. A changed config, or a channel that
// runs again, has its effect after that.
const recheck = time.Minute

// wait returns the answer to a question once it is no longer open. Until then it has more people asked, and reminds those who were.
func (d *Approvals) wait(ctx context.Context, run *conversation.Run, row domain.Question, b body) (verdict, error) {
	changed, unwatch := d.options.Store.WatchQuestions()
	defer unwatch()
	wake, reminded := time.NewTimer(0), false // it may have changed before it was watched
	defer wake.Stop()
	for row.State == domain.QuestionOpen {
		select {
		case <-changed:
		case <-wake.C:
		case <-ctx.Done():
			return verdict{}, d.abandon(ctx, row)
		}
		var err error
		if row, err = d.options.Store.Question(context.WithoutCancel(ctx), row.ID); err != nil { // the end of ctx is handled above
			return verdict{}, err
		}
		if row.State != domain.QuestionOpen {
			break
		}
		if !time.Now().Before(row.ExpiresAt) {
			over := wording.QuestionExpired(run.Agent.Claude.AskTimeout, read(row).body.what())
			if row, _, err = d.retire(ctx, read(row), domain.QuestionExpired, over); err != nil {
				return verdict{}, err
			}
			break
		}
		next := d.pursue(ctx, run, row, b)
		if at := remindAt(row); !reminded && !at.After(time.Now()) {
			reminded = d.remind(ctx, row)
		} else if !reminded && at.Before(next) {
			next = at
		}
		wake.Reset(time.Until(next))
	}
	switch row.State {
	case domain.QuestionAnswered:
		return readVerdict(row.Answer)
	case domain.QuestionUnseen:
		return verdict{Said: "The question could not be delivered, so nobody has answered it."}, nil
	case domain.QuestionExpired:
		return verdict{Said: "Nobody answered in time."}, nil
	default:
		return verdict{}, errClosed
	}
}

// abandon returns why an answer is no longer awaited. It retires a question that is no longer useful; one that was
// interrupted, such as by the host's end, stays open, because it may be asked again.
func (d *Approvals) abandon(ctx context.Context, row domain.Question) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, agent.ErrWithdrawn) || errors.Is(cause, domain.ErrFenced) {
		d.withdraw(context.WithoutCancel(ctx), read(row))
	}
	return cause
}
