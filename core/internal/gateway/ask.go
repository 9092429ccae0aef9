package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/follow"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ownChat is the conversation of questions that name no session.
const ownChat = "main"

// stopTime is how long the gateway waits for a stopped turn to end.
const stopTime = 10 * time.Second

// patience is how long a question waits while its turn, or one before it, cannot begin or end. With a longer pause before the
// next attempt, such as that of a usage limit, it does not wait at all.
const patience = time.Minute

// Prompt is a text for Claude.
type Prompt struct {
	Session string // whose conversation continues; empty: that of all questions that name none
	Text    string // at most [wire.MaxText] bytes
	// Stays says that the turn goes on when nobody waits for it any more, so that a program that lost its connection can ask again
	// with the same key. It has no effect without a key.
	Stays bool
}

// Answer is the end of a turn.
type Answer struct {
	Session string
	Text    string // of the answer; of a turn that failed, why
	Failed  bool
}

// Progress is what is known of a turn that has not ended.
type Progress struct {
	Text string // the whole answer so far
	Held string // why the turn, or one before it, cannot begin or end yet; empty: nothing prevents it
}

// Ask runs a turn that the chat does not see, and shows its progress. A further call with the same key waits for the same turn
// and returns the same answer. If that turn was cancelled, the call asks again. The empty key is different for each call.
//
// When ctx ends and nobody else waits for the turn, the turn is stopped, or withdrawn if it has not begun, unless q.Stays is
// set. A turn that cannot begin or end for a minute, or whose next attempt is more than a minute away, is stopped in the
// same way and fails. The error is a [Refusal] for a question that cannot be asked.
func (g *Gateway) Ask(ctx context.Context, key string, q Prompt, show func(Progress)) (Answer, error) {
	if strings.TrimSpace(q.Text) == "" {
		return Answer{}, Refusal("the question is empty")
	}
	if len(q.Text) > wire.MaxText {
		return Answer{}, Refusal(fmt.Sprintf("the question has %d bytes, and at most %d can be asked", len(q.Text), wire.MaxText))
	}
	m, own, err := g.conversation(ctx, q.Session)
	if err != nil {
		return Answer{}, err
	}
	m.Text, m.Silent, m.Sender = q.Text, true, chat.Sender{DisplayName: "the command line", IsBot: true}
	q.Stays = q.Stays && key != ""
	if key == "" {
		key = rand.Text()
	}
	for again := 0; ; again++ {
		answer, cancelled, err := g.ask(ctx, question{own, m.Channel, attempt(key, again)}, m, q.Stays, show)
		if !cancelled || err != nil {
			return answer, err
		}
	}
}

// attempt returns the key of a question, after the given number of turns with its key were cancelled.
func attempt(key string, again int) domain.Key {
	if again > 0 {
		key += fmt.Sprint("\x00", again) // no header holds this byte
	}
	return hashed(domain.KeyOperatorTurn, key)
}

// ask submits the turn of a question, if it does not exist yet, and waits for it. Cancelled means that the turn was cancelled
// before this call.
func (g *Gateway) ask(ctx context.Context, of question, m domain.Message, stays bool, show func(Progress)) (_ Answer, cancelled bool, err error) {
	if err := g.asked.join(ctx, of); err != nil {
		return Answer{}, false, err
	}
	var stop func() // ends the turn if nobody else waits for it
	defer func() { g.asked.leave(of, stop) }()
	state, _, _, done, err := g.options.Store.Outcome(ctx, of.channel, of.key.EventID())
	switch {
	case err == nil && done && state == domain.RunCancelled:
		return Answer{}, true, nil
	case err != nil && !errors.Is(err, domain.ErrNotFound):
		return Answer{}, false, err
	}
	completed, unwatch := g.options.Store.Watch(of.channel, of.key.EventID())
	defer unwatch()
	message := store.MessageUUID(of.channel, of.key.EventID())
	follower := g.options.Followed.Follow(of.session, message)
	defer follower.Close()
	accepted, err := g.options.Intake.Turn(ctx, of.key, m)
	switch {
	case err != nil:
		return Answer{}, false, err
	case accepted.Verdict == chat.Rejected:
		return Answer{}, false, Refusal(accepted.Reason)
	}
	end := func() { g.stop(context.WithoutCancel(ctx), message, of) }
	held := newHolding()
	defer held.end()
	for {
		state, said, failure, done, err := g.options.Store.Outcome(ctx, of.channel, of.key.EventID())
		switch {
		case err == nil && done && state == domain.RunDone:
			return Answer{Session: of.session, Text: said}, false, nil
		case err == nil && done:
			return Answer{Session: of.session, Text: why(state, said, failure), Failed: true}, false, nil
		case err != nil && ctx.Err() == nil:
			return Answer{}, false, err
		}
		for done := false; !done; {
			select {
			case <-follower.News():
				held.note(follower.Held())
				show(Progress{Text: answer.Parse(follower.Progress().Text, false).Text, Held: held.why})
			case <-held.over():
				stop = end
				return Answer{Session: of.session, Text: held.why, Failed: true}, false, nil
			case <-completed:
				done = true
			case <-g.options.Closing:
				return Answer{}, false, Refusal("the host is shutting down; the turn continues in its next process, and the same question with the same key waits for it")
			case <-ctx.Done():
				if !stays {
					stop = end
				}
				return Answer{}, false, ctx.Err()
			}
		}
	}
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

// note records whether the turn is held.
func (h *holding) note(now follow.Hold) {
	switch {
	case now.Why == "":
		h.timer.Stop()
	case now.Wait > patience:
		h.timer.Reset(0)
	case h.why == "":
		h.timer.Reset(patience)
	}
	h.why = now.Why
}

// over receives a value when the turn has been held for too long.
func (h *holding) over() <-chan time.Time { return h.timer.C }

func (h *holding) end() { h.timer.Stop() }

// why says why a turn has no answer.
func why(state domain.RunState, said, failure string) string {
	switch {
	case said != "":
		return said
	case failure != "":
		return failure
	default:
		return "the turn was " + string(state)
	}
}

// conversation returns a message of the conversation in which a question is asked, and the key of its session.
func (g *Gateway) conversation(ctx context.Context, key string) (domain.Message, string, error) {
	m := domain.Message{Channel: session.CLI, Chat: chat.Chat{ID: ownChat, Kind: chat.Direct}}
	if key != "" {
		s, err := g.options.Store.Session(ctx, key)
		if errors.Is(err, domain.ErrNotFound) {
			return domain.Message{}, "", Refusal(fmt.Sprintf("there is no session %q; `clawhost sessions` lists them", key))
		}
		if err != nil {
			return domain.Message{}, "", err
		}
		m = domain.Message{Channel: s.Route.Channel, Chat: chat.Chat{ID: s.Route.Chat, Kind: s.Kind, Title: s.Title}, Thread: s.Route.Thread}
	}
	own, err := g.options.Intake.Session(ctx, m.Channel, m.Chat, m.Thread)
	if err == nil && key != "" && own != key {
		err = Refusal(fmt.Sprintf("nobody can be asked in the session %q any more, because its chat has another one", key))
	}
	return m, own, err
}

// stop withdraws the turn of a question that nobody waits for any more, or ends it. It tries several times, because a turn that
// is about to be held or tried again is neither waiting nor running for a moment.
func (g *Gateway) stop(ctx context.Context, message string, of question) {
	const tries = 3
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for range tries {
		err := g.options.Store.WithdrawEvent(ctx, of.session, of.channel, of.key.EventID())
		stopped := err == nil
		if errors.Is(err, domain.ErrNotFound) {
			stopped, err = g.options.Turns.StopMessage(ctx, of.session, message)
		}
		if err != nil {
			g.log.Warn("a question that nobody waits for could not be stopped", "session", of.session, "error", err)
		}
		if stopped || err != nil {
			return
		}
	}
}
