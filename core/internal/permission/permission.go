// Package permission asks people what claude may not decide by itself: whether it may use a tool, which of several
// options it should choose, whether they approve its plan. A question is a message with buttons, or with numbers where
// a chat has none, and a row of the store. It and its answer survive a restart of the host.
package permission

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Store is what questions need of the store.
type Store interface {
	Ask(ctx context.Context, run int64, q domain.Question, items ...domain.OutboxItem) (domain.Question, error)
	Settle(ctx context.Context, id string, state domain.QuestionState, answer json.RawMessage, said string, grants ...domain.Grant) (domain.Question, bool, error)
	TakeAnswers(ctx context.Context, ids ...string) error
	Question(ctx context.Context, id string) (domain.Question, error)
	Redraft(ctx context.Context, id string, body json.RawMessage) error
	Questions(ctx context.Context) ([]domain.Question, error)
	Grants(ctx context.Context, session string) ([]domain.Grant, error)
	Post(ctx context.Context, key string, items ...domain.OutboxItem) (int64, error)
	SentItem(ctx context.Context, item int64) (chat.MessageID, time.Time, error)
	// Unfinished reports whether a session's turn was begun in a claude session and is not completed.
	Unfinished(ctx context.Context, session, claudeSession string) (bool, error)
}

// Options are the settings and collaborators of approvals.
type Options struct {
	Store Store
	Turns Turns
	// Patience is how long a question waits for its answer. After that the answer is no.
	Patience time.Duration
	// Workspace is the agent's working folder, with its memory.
	Workspace     string
	Conversations Conversations
	Owners        Owners
	Chats         Chats
	Intake        Intake
}

// Conversations knows the settings of chats.
type Conversations interface {
	// Decides reports whether a person may decide what Claude does for everyone.
	Decides(caller chat.Caller) bool
	// Limits returns what a channel can do in one kind of chat.
	Limits(channel string, kind chat.Kind) chat.Limits
	// Notice makes messages of the host's texts.
	Notice(to chat.Address, kind chat.Kind, text string) []domain.OutboxItem
}

// Owners decide in place of people who may not.
type Owners interface {
	// Reachable returns a chat of one of them; false: none can be reached.
	Reachable(ctx context.Context) (to chat.Address, ok bool)
}

// Chats show turns.
type Chats interface {
	// Asking is called with the chat of a turn that waits for people from now on, until answered is called. Sent
	// reports whether a message was sent for it now, there or to a person who may decide; false: it was sent before.
	Asking(at chat.Address, sent bool) (answered func())
}

// Intake takes messages for sessions.
type Intake interface {
	// Tell accepts a text for a session, as if the caller had written it. The same id is accepted once.
	Tell(ctx context.Context, id chat.EventID, session string, caller chat.Caller, text string) error
	// Repeat accepts messages of a session that were given up, again, to be answered together. The same id is accepted
	// once.
	Repeat(ctx context.Context, id chat.EventID, session string, messages []domain.Message) error
}

// Approvals asks the questions and takes the answers.
type Approvals struct {
	options Options
	log     hclog.Logger

	// settling is held, before mu, while the result of a question changes. It is a channel of one.
	settling chan struct{}

	// storing is held, before mu, for reading while a question is stored and registered, and for writing while one is
	// looked up: people may see a question and answer it before the turn that asks has registered it.
	storing sync.RWMutex

	mu      sync.Mutex
	open    map[string]question      // by id
	given   map[string]question      // the questions whose answers no turn has taken yet
	waiters map[string]chan verdict  // of the turns that wait for an answer
	asking  map[string]chan struct{} // what is being asked, by session and digest; closed when the asking ends
	busy    map[string]int           // open questions of turns, by session and by sender
}

// place is where a person, as channel:user, writes.
type place struct {
	Who string       `json:"who"`
	At  chat.Address `json:"at"`
}

// pendingReason makes a person's next message at a place the reason for their refusal.
type pendingReason struct {
	place
	Since time.Time `json:"since"`
}

// question is an open question in memory.
type question struct {
	row   domain.Question
	body  body
	run   int64    // the last one that asked it; zero: of the previous process
	plain *Written // the plain message that is being taken as the answer; nil: none
	by    string   // who is answering it, as channel:user
}

// New returns approvals that know the open questions of previous processes.
func New(ctx context.Context, options Options, log hclog.Logger) (*Approvals, error) {
	d := &Approvals{options: options, log: log, settling: make(chan struct{}, 1), open: map[string]question{}, given: map[string]question{}, waiters: map[string]chan verdict{}, asking: map[string]chan struct{}{}, busy: map[string]int{}}
	known, err := options.Store.Questions(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range known {
		if row.State == domain.QuestionOpen {
			d.opened(row, 0)
		} else if q, ok := d.read(row); ok {
			d.given[row.ID] = q
		}
	}
	return d, nil
}

// opened registers an open question of a run, unless it is known; false: it cannot be read.
func (d *Approvals) opened(row domain.Question, run int64) (question, bool) {
	q, ok := d.read(row)
	q.run = run
	if !ok {
		return q, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.open[row.ID]; ok {
		return known, true
	}
	d.open[row.ID] = q
	return q, true
}

func (d *Approvals) read(row domain.Question) (question, bool) {
	q := question{row: row}
	err := json.Unmarshal(row.Body, &q.body)
	if err != nil {
		d.log.Warn("a question cannot be read", "question", row.ID, "error", err)
	}
	return q, err == nil
}

// idLetters excludes letters that are easily mistaken for others.
const idLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// idLength is the length of ids. Pairing codes are longer.
const idLength = 5

func newID() string {
	raw := make([]byte, idLength)
	_, _ = rand.Read(raw) // it never fails
	for i, b := range raw {
		raw[i] = idLetters[int(b)%len(idLetters)]
	}
	return string(raw)
}

// ID returns the question's id that a person typed, in its normal form.
func ID(typed string) (string, bool) {
	typed = strings.ToUpper(strings.TrimSpace(typed))
	return typed, len(typed) == idLength && strings.Trim(typed, idLetters) == ""
}

// taken records that questions are closed, and that their answers, which are valid for one turn, were taken.
func (d *Approvals) taken(ctx context.Context, ids ...string) error {
	// The answer may have been read from the store before settle registered it.
	d.settling <- struct{}{}
	defer func() { <-d.settling }()
	d.mu.Lock()
	for _, id := range ids {
		delete(d.open, id)
		delete(d.given, id)
	}
	d.mu.Unlock()
	return d.options.Store.TakeAnswers(ctx, ids...)
}

// settle ends an open question, or answers it, with the permissions that this grants.
func (d *Approvals) settle(ctx context.Context, id string, state domain.QuestionState, v verdict, said string, grants ...domain.Grant) (domain.Question, bool, error) {
	var answer json.RawMessage
	if state == domain.QuestionAnswered {
		var err error
		if answer, err = json.Marshal(v); err != nil {
			return domain.Question{}, false, err
		}
	}
	// One at a time, so that an answer is registered once its question is found settled.
	d.settling <- struct{}{}
	defer func() { <-d.settling }()
	row, settled, err := d.options.Store.Settle(ctx, id, state, answer, said, grants...)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return row, settled, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.open[id]
	switch {
	case settled && state == domain.QuestionAnswered:
		q.row = row
		d.given[id] = q
	case settled, err != nil:
		delete(d.given, id)
	}
	delete(d.open, id)
	if settled && state != domain.QuestionAnswered {
		d.log.Info("a question was not answered", "question", id, "session", row.Session, "about", q.subject(), "outcome", string(state))
	}
	if waiter := d.waiters[id]; settled && waiter != nil && state == domain.QuestionAnswered {
		waiter <- v // never blocks: a question is answered once
	}
	return row, settled, err
}

func (d *Approvals) bodyOf(row domain.Question) body {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[row.ID].body
}
