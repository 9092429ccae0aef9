package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ownChat is the conversation of questions that name none.
const ownChat = "main"

// stopTime is how long the gateway waits for a stopped turn to end.
const stopTime = 10 * time.Second

// patience is how long a question of the operator waits while its turn, or one before it, cannot begin or end. With a longer
// pause before the next attempt, such as that of a usage limit, it does not wait at all.
const patience = time.Minute

// Prompt is a text for Claude.
type Prompt struct {
	// Key identifies the turn: a further prompt with it waits for the same turn and gets the same answer. The empty key is
	// different for each prompt.
	Key     string
	Session string       // whose conversation continues
	To      chat.Address // the chat whose conversation continues, if there is no Session; zero: that of all questions that name none
	Kind    chat.Kind    // of that chat
	Text    string
	Deliver bool          // the chat sees the answer
	Timeout time.Duration // zero: as configured
	// Stays says that the turn goes on when nobody waits for it any more, so that a program that lost its connection can ask again
	// with the same key. It has no effect without a key. A plugin's turn always goes on.
	Stays bool
}

// Progress is what is known of a turn that has not ended, or its end.
type Progress struct {
	Waiting int     // how many messages were waiting before it, in the first value
	Text    string  // the whole answer so far; only for the operator
	Held    string  // why the turn, or one before it, cannot begin or end yet, if anything prevents it; only for the operator
	Answer  *Answer // the end; nil: the turn has not ended
}

// Answer is the end of a turn.
type Answer struct {
	Session string
	State   domain.RunState // [domain.RunDone], or how the turn failed
	Text    string          // of the answer; of a turn that failed, why, if it is known
}

// Ask runs a turn and yields its progress: at first that it waits, then what is new, and last the end. An error is the last value,
// too; it is a [Refusal] for a turn that cannot be run.
//
// A plugin's turn lasts as long as it takes, and its end is final. If a turn of the operator was cancelled, its key asks again.
// When ctx ends and nobody else waits for such a turn, it is stopped, or withdrawn if it has not begun, unless p.Stays is set. If
// it cannot begin or end for a minute, or its next attempt is more than a minute away, it is stopped in the same way and fails.
func (g *Gateway) Ask(ctx context.Context, c Caller, p Prompt) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		if err := g.ask(ctx, c, p, func(p Progress) bool { return yield(p, nil) }); err != nil {
			yield(Progress{}, err)
		}
	}
}

// ask returns nil once show has returned false.
func (g *Gateway) ask(ctx context.Context, c Caller, p Prompt, show func(Progress) bool) error {
	m, own, err := g.conversation(ctx, p)
	if err == nil {
		err = c.Reach(m.Channel)
	}
	if err == nil && p.Deliver {
		err = g.sendable(c, m.Channel)
	}
	if err != nil {
		return err
	}
	m.Text, m.Silent, m.Timeout, m.Sender = p.Text, !p.Deliver, p.Timeout, chat.Sender{DisplayName: "the command line", IsBot: true}
	p.Stays = p.Stays && p.Key != ""
	if c.plugin != "" {
		m.Sender.DisplayName, p.Stays = c.plugin, true
		select {
		case c.turns <- struct{}{}:
			defer func() { <-c.turns }()
		default:
			return Refusal{Full, fmt.Sprintf("too many turns at a time: at most %d are allowed", maxTurns)}
		}
	}
	if p.Key == "" {
		p.Key = rand.Text()
	}
	for again := 0; ; again++ {
		end, cancelled, err := g.run(ctx, c, question{own, m.Channel, c.attempt(p.Key, again)}, m, p.Stays, show)
		switch {
		case err != nil:
			return err
		case !cancelled:
			if end != nil {
				show(Progress{Answer: end})
			}
			return nil
		}
	}
}

// attempt returns the key of a question, after the given number of turns with it were cancelled.
func (c Caller) attempt(key string, again int) domain.Key {
	if again > 0 {
		key += fmt.Sprint("\x00", again) // no header holds this byte
	}
	return c.key(domain.KeyOperatorTurn, domain.KeyPluginTurn, key)
}

// run submits the turn of a question, if it does not exist yet, and waits for its end, which is nil if show has returned false.
// Cancelled means that a turn of the operator was cancelled before this call.
func (g *Gateway) run(
	ctx context.Context, c Caller, of question, m domain.Message, stays bool, show func(Progress) bool,
) (end *Answer, cancelled bool, err error) {
	if err := g.asked.join(ctx, of); err != nil {
		return nil, false, err
	}
	unwanted := false // the turn is stopped if nobody else waits for it
	defer func() {
		if g.asked.leave(of, unwanted) {
			g.stop(context.WithoutCancel(ctx), of)
			g.asked.stopped(of)
		}
	}()
	completed, unwatch := g.options.Store.Watch(of.channel, of.key.EventID())
	defer unwatch()
	var f *follower
	if c.plugin == "" {
		switch end, err := g.end(ctx, of); {
		case err != nil && !errors.Is(err, domain.ErrNotFound):
			return nil, false, err
		case end != nil && end.State == domain.RunCancelled:
			return nil, true, nil
		}
		f = g.follow(of.session, of.message())
		defer f.close()
	}
	accepted, err := g.options.Intake.Turn(ctx, of.key, m)
	switch {
	case err != nil:
		return nil, false, err
	case accepted.Verdict == chat.Rejected:
		return nil, false, Refusal{Full, accepted.Reason}
	}
	if !show(Progress{Waiting: accepted.Waiting}) {
		return nil, false, nil
	}
	end, unwanted, err = g.await(ctx, of, completed, f, stays, show)
	return end, false, err
}

// await waits for the end of a question's turn, or until the question is unwanted.
func (g *Gateway) await(
	ctx context.Context, of question, completed <-chan struct{}, f *follower, stays bool, show func(Progress) bool,
) (end *Answer, unwanted bool, err error) {
	held := newHolding()
	defer held.end()
	for {
		end, err := g.end(ctx, of)
		if end != nil || err != nil && ctx.Err() == nil {
			return end, false, err
		}
		for done := false; !done; {
			select {
			case <-f.hears():
				now := Progress{Text: answer.Parse(f.progress().Text, false).Text, Held: held.note(f.held())}
				if !show(now) {
					return nil, false, nil
				}
			case <-held.over():
				return &Answer{Session: of.session, State: domain.RunFailed, Text: held.why}, true, nil
			case <-completed:
				done = true
			case <-g.options.Closing:
				return nil, false, Refusal{
					Closing, "the host is shutting down; the turn continues in its next process, and the same question with the same key waits for it",
				}
			case <-ctx.Done():
				return nil, !stays, ctx.Err()
			}
		}
	}
}

// end returns the end of a question's turn; nil: it has not ended.
func (g *Gateway) end(ctx context.Context, of question) (*Answer, error) {
	o, err := g.options.Store.Outcome(ctx, of.channel, of.key.EventID())
	if err != nil || o.State == "" {
		return nil, err
	}
	if o.State != domain.RunDone {
		o.Answer = cmp.Or(o.Answer, o.Error)
	}
	return &Answer{Session: of.session, State: o.State, Text: o.Answer}, nil
}

// holding measures how long a turn has been held.
type holding struct {
	why   string // why it is held; empty: it is not
	timer *time.Timer
}

func newHolding() *holding {
	timer := time.NewTimer(patience)
	timer.Stop()
	return &holding{timer: timer}
}

// note records whether the turn is held, and returns why.
func (h *holding) note(now hold) (why string) {
	switch {
	case now.why == "":
		h.timer.Stop()
	case now.wait > patience:
		h.timer.Reset(0)
	case h.why == "":
		h.timer.Reset(patience)
	}
	h.why = now.why
	return h.why
}

// over receives a value when the turn has been held for too long.
func (h *holding) over() <-chan time.Time { return h.timer.C }

func (h *holding) end() { h.timer.Stop() }

// conversation returns a message of the conversation in which a question is asked, and the key of its session.
func (g *Gateway) conversation(ctx context.Context, p Prompt) (domain.Message, string, error) {
	m := domain.Message{Channel: p.To.Channel, Chat: chat.Chat{ID: p.To.Chat, Kind: p.Kind}, Thread: p.To.Thread}
	switch {
	case p.Session != "":
		s, err := g.options.Store.Session(ctx, p.Session)
		if errors.Is(err, domain.ErrNotFound) {
			return domain.Message{}, "", Refusal{Invalid, fmt.Sprintf("there is no session %q; `clawhost sessions` lists them", p.Session)}
		}
		if err != nil {
			return domain.Message{}, "", err
		}
		m = domain.Message{Channel: s.Route.Channel, Chat: chat.Chat{ID: s.Route.Chat, Kind: s.Kind, Title: s.Title}, Thread: s.Route.Thread}
	case p.To == chat.Address{}:
		m = domain.Message{Channel: session.CLI, Chat: chat.Chat{ID: ownChat, Kind: chat.Direct}}
	}
	own, err := g.options.Intake.Session(ctx, m.Channel, m.Chat, m.Thread)
	if err == nil && p.Session != "" && own != p.Session {
		err = Refusal{Invalid, fmt.Sprintf("nobody can be asked in the session %q any more, because its chat has another one", p.Session)}
	}
	return m, own, err
}

// stop withdraws the turn of a question that nobody waits for any more, or ends it. It tries several times, because a turn that
// is about to be held or tried again is neither waiting nor running for a moment.
func (g *Gateway) stop(ctx context.Context, of question) {
	const tries = 3
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for range tries {
		err := g.options.Store.WithdrawEvent(ctx, of.session, of.channel, of.key.EventID())
		stopped := err == nil
		if errors.Is(err, domain.ErrNotFound) {
			stopped, err = g.options.Turns.StopMessage(ctx, of.session, of.message())
		}
		if err != nil {
			g.log.Warn("a question that nobody waits for could not be stopped", "session", of.session, "error", err)
		}
		if stopped || err != nil {
			return
		}
	}
}
