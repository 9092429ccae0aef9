// Package permission asks people what claude may not decide by itself: whether it may use a tool, which of several ways it is
// to go, whether a plan of its is good. A question is a message with buttons, or with numbers where there are none, and a row
// of the store: it outlives the host, and so does its answer.
package permission

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Store is what questions need of the store.
type Store interface {
	Ask(ctx context.Context, run int64, q store.Question, pieces ...store.Piece) (store.Question, error)
	Settle(ctx context.Context, id string, state store.QuestionState, answer json.RawMessage, said string) (store.Question, bool, error)
	TakeAnswer(ctx context.Context, id string) error
	Question(ctx context.Context, id string) (store.Question, error)
	Questions(ctx context.Context) ([]store.Question, error)
	Grant(ctx context.Context, grants ...store.Grant) error
	Grants(ctx context.Context, session string) ([]store.Grant, error)
}

// Options are what a desk works with.
type Options struct {
	Store Store
	// Patience is how long a question waits for its answer. Then it is answered with no.
	Patience time.Duration
	// May tells whether somebody may decide what claude does for anybody.
	May func(caller chat.Caller) bool
	// Deciders returns a chat of somebody who may, for turns of people who may not; false: nobody of them can be reached.
	Deciders func(ctx context.Context) (to chat.Address, ok bool)
	// Buttons is how many buttons a message in a chat may have.
	Buttons func(to chat.Address, kind chat.Kind) chat.ButtonLimits
	// Resume has a session's work gone on with, for who wants it. The same id does so once.
	Resume func(ctx context.Context, id, session string, caller chat.Caller) error
	// Pieces makes messages of a text.
	Pieces func(to chat.Address, kind chat.Kind, text string) []store.Piece
}

// Desk asks the questions and takes the answers.
type Desk struct {
	options Options
	log     hclog.Logger

	mu      sync.Mutex
	open    map[string]question     // the open questions by their ids
	given   map[string]question     // the questions whose answers no turn has taken yet
	waiters map[string]chan verdict // of the turns that wait for an answer
	reasons map[string]string       // the question whose refusal somebody, as channel:user, is about to give a reason for
}

// question is an open question as the desk knows it.
type question struct {
	row  store.Question
	body body
}

// New returns a desk that knows the questions of the host's earlier lives.
func New(ctx context.Context, options Options, log hclog.Logger) (*Desk, error) {
	d := &Desk{options: options, log: log, open: map[string]question{}, given: map[string]question{}, waiters: map[string]chan verdict{}, reasons: map[string]string{}}
	known, err := options.Store.Questions(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range known {
		if row.State == store.QuestionOpen {
			d.opened(row)
		} else if q, ok := d.read(row); ok {
			d.given[row.ID] = q
		}
	}
	return d, nil
}

func (d *Desk) opened(row store.Question) {
	q, ok := d.read(row)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[row.ID] = q
}

func (d *Desk) read(row store.Question) (question, bool) {
	q := question{row: row}
	err := json.Unmarshal(row.Body, &q.body)
	if err != nil {
		d.log.Warn("a question cannot be read", "question", row.ID, "error", err)
	}
	return q, err == nil
}

// idLetters are what ids are made of: nothing that is easily taken for something else.
const idLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// idLength is how long they are. Pairing codes are longer.
const idLength = 5

func newID() string {
	raw := make([]byte, idLength)
	_, _ = rand.Read(raw) // it never fails
	for i, b := range raw {
		raw[i] = idLetters[int(b)%len(idLetters)]
	}
	return string(raw)
}

// ID returns a question's id as it is, of what somebody typed.
func ID(typed string) (string, bool) {
	typed = strings.ToUpper(strings.TrimSpace(typed))
	return typed, len(typed) == idLength && strings.Trim(typed, idLetters) == ""
}

// Ask decides on what claude asks in a run's turn: by what was granted before, or else by asking people. It returns when they
// have answered, when nobody has in time, or when ctx ends; what it returns then does not count.
func (d *Desk) Ask(ctx context.Context, run *store.Run, q agent.Question) agent.Decision {
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

func (d *Desk) decide(ctx context.Context, run *store.Run, q agent.Question) (agent.Decision, error) {
	switch q.Tool {
	case "AskUserQuestion":
		return d.choices(ctx, run, q)
	case "ExitPlanMode":
		return d.one(ctx, run, q, planBody(q), 0)
	}
	granted, err := d.granted(ctx, run, q)
	if err != nil || granted {
		return agent.Decision{Allow: true}, err
	}
	return d.one(ctx, run, q, toolBody(q), 0)
}

// choices asks each of the questions of one AskUserQuestion, one after the other.
func (d *Desk) choices(ctx context.Context, run *store.Run, q agent.Question) (agent.Decision, error) {
	var input struct {
		Questions []choice `json:"questions"`
	}
	if err := json.Unmarshal(q.Input, &input); err != nil || len(input.Questions) == 0 || len(input.Questions) > maxChoices {
		return agent.Decision{Message: "The questions could not be read."}, nil
	}
	answers := map[string]string{}
	for i, c := range input.Questions {
		decision, err := d.one(ctx, run, q, choiceBody(c), i)
		if err != nil || !decision.Allow {
			return decision, err
		}
		answers[c.Question] = decision.Message
	}
	full := map[string]json.RawMessage{}
	if err := json.Unmarshal(q.Input, &full); err != nil {
		return agent.Decision{}, fmt.Errorf("read the questions: %w", err)
	}
	var err error
	if full["answers"], err = json.Marshal(answers); err != nil {
		return agent.Decision{}, err
	}
	given, err := json.Marshal(full)
	return agent.Decision{Allow: true, Input: given}, err
}

// one asks one question and waits for what people say.
func (d *Desk) one(ctx context.Context, run *store.Run, q agent.Question, b body, part int) (agent.Decision, error) {
	row, err := d.post(ctx, run, q, b, part)
	if err != nil {
		return agent.Decision{}, err
	}
	v, err := d.wait(ctx, row)
	if err != nil {
		return agent.Decision{}, err
	}
	return v.decision(b), nil
}

// post asks, unless the same is asked already.
func (d *Desk) post(ctx context.Context, run *store.Run, q agent.Question, b body, part int) (store.Question, error) {
	m := run.Message.Message
	to, kind := m.Address(), m.Chat.Kind
	b.Kind = kind
	if caller := callerOf(run); b.About != aboutChoice && m.Chat.Kind == chat.Direct && !d.options.May(caller) {
		decider, ok := d.options.Deciders(ctx)
		if !ok {
			return store.Question{}, errors.New("nobody who may decide can be reached")
		}
		to, b.Kind, b.For = decider, chat.Direct, m.Sender.Name()
	}
	encoded, err := json.Marshal(b)
	if err != nil {
		return store.Question{}, err
	}
	row := store.Question{
		ID: newID(), ClaudeSession: run.Message.ClaudeSession, Digest: digest(q, part), Authority: m.Authority,
		Asker: m.Channel + ":" + string(m.Sender.ID), To: to, Body: encoded, ExpiresAt: time.Now().Add(d.options.Patience),
	}
	pieces := d.message(row.ID, to, b)
	if b.For != "" {
		pieces = append(d.options.Pieces(m.Address(), m.Chat.Kind, b.elsewhere()), pieces...)
	}
	row, err = d.options.Store.Ask(ctx, run.ID, row, pieces...)
	if err == nil && row.State == store.QuestionOpen {
		d.opened(row)
	}
	return row, err
}

// message asks, with buttons where the chat has enough of them.
func (d *Desk) message(id string, to chat.Address, b body) []store.Piece {
	buttons := layout(id, b.options(), d.options.Buttons(to, b.Kind))
	pieces := d.options.Pieces(to, b.Kind, b.text(id, buttons != nil))
	pieces[len(pieces)-1].Buttons = buttons
	return pieces
}

// digest stands for what is asked.
func digest(q agent.Question, part int) string {
	var compact strings.Builder
	_ = json.NewEncoder(&compact).Encode(q.Input)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", q.Tool, part, compact.String()))
	return hex.EncodeToString(sum[:16])
}

// wait returns what people said to a question.
func (d *Desk) wait(ctx context.Context, row store.Question) (verdict, error) {
	if row.State == store.QuestionAnswered {
		d.used(row.ID)
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
	// What was answered between the asking and the waiting.
	now, err := d.options.Store.Question(ctx, row.ID)
	if err != nil {
		return verdict{}, err
	}
	if now.State == store.QuestionAnswered {
		return d.take(ctx, row.ID, now.Answer)
	}
	expiry := time.NewTimer(time.Until(row.ExpiresAt))
	defer expiry.Stop()
	select {
	case v := <-answered:
		return v, d.taken(ctx, row.ID)
	case <-ctx.Done():
		return verdict{}, d.leave(ctx, row)
	case <-expiry.C:
	}
	late, settled, err := d.settle(ctx, row.ID, store.QuestionExpired, verdict{}, expired(d.options.Patience, d.bodyOf(row)))
	if err == nil && !settled {
		return d.take(ctx, row.ID, late.Answer)
	}
	return verdict{Said: "Nobody answered in time."}, err
}

// leave returns why nobody waits for an answer any more. A question that is of no use any more is retired; one that was cut off,
// as by the host's end, stays open: the same may be asked again.
func (d *Desk) leave(ctx context.Context, row store.Question) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, agent.ErrWithdrawn) || errors.Is(cause, store.ErrFenced) {
		b := d.bodyOf(row)
		d.retire(context.WithoutCancel(ctx), question{row, b}, withdrawn(b))
	}
	return cause
}

func (d *Desk) take(ctx context.Context, id string, answer json.RawMessage) (verdict, error) {
	v, err := readVerdict(answer)
	if err != nil {
		return v, err
	}
	return v, d.taken(ctx, id)
}

// taken notes that an answer was taken: it is good for one question.
func (d *Desk) taken(ctx context.Context, id string) error {
	d.used(id)
	return d.options.Store.TakeAnswer(ctx, id)
}

func (d *Desk) used(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.given, id)
}

// settle ends an open question, or answers it.
func (d *Desk) settle(ctx context.Context, id string, state store.QuestionState, v verdict, said string) (store.Question, bool, error) {
	var answer json.RawMessage
	if state == store.QuestionAnswered {
		var err error
		if answer, err = json.Marshal(v); err != nil {
			return store.Question{}, false, err
		}
	}
	row, settled, err := d.options.Store.Settle(ctx, id, state, answer, said)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return row, settled, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.open[id]; settled && state == store.QuestionAnswered {
		d.given[id] = q
	} else {
		delete(d.given, id)
	}
	delete(d.open, id)
	for who, of := range d.reasons {
		if of == id {
			delete(d.reasons, who)
		}
	}
	if waiter := d.waiters[id]; settled && waiter != nil && state == store.QuestionAnswered {
		waiter <- v // there is room: a question is answered once
	}
	return row, settled, err
}

// End retires what a session asked and does not need to know any more: its run is over. An answer that it did not take is void,
// so that no later turn finds leave that was given to this one.
func (d *Desk) End(ctx context.Context, session string) {
	d.mu.Lock()
	open, given := ofSession(d.open, session), ofSession(d.given, session)
	d.mu.Unlock()
	for _, q := range open {
		d.retire(ctx, q, withdrawn(q.body))
	}
	for _, q := range given {
		d.retire(ctx, q, late(q.body))
	}
}

func (d *Desk) retire(ctx context.Context, q question, said string) {
	if _, _, err := d.settle(ctx, q.row.ID, store.QuestionWithdrawn, verdict{}, said); err != nil {
		d.log.Warn("a question could not be retired", "question", q.row.ID, "error", err)
	}
}

// ofSession returns the questions of a session's turns.
func ofSession(all map[string]question, session string) []question {
	var list []question
	for _, q := range all {
		if q.row.Session == session && q.body.About != aboutResume {
			list = append(list, q)
		}
	}
	return list
}

func (d *Desk) bodyOf(row store.Question) body {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[row.ID].body
}

func callerOf(run *store.Run) chat.Caller {
	m := run.Message.Message
	return chat.Caller{Session: run.Session.Key, Address: m.Address(), Kind: m.Chat.Kind, Sender: m.Sender, Authority: m.Authority}
}
