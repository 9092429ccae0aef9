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
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ownChat is the conversation of questions that name no session.
const ownChat = "main"

// stopTime is how long the gateway waits for a stopped turn to end.
const stopTime = 10 * time.Second

// Prompt is a text for Claude.
type Prompt struct {
	Session string // whose conversation continues; empty: that of all questions that name none
	Text    string // at most [wire.MaxText] bytes
}

// Answer is the end of a turn.
type Answer struct {
	Session string
	Text    string // of the answer; of a turn that failed, why
	Failed  bool
}

// Ask runs a turn that the chat does not see, and shows its answer as it grows: each call of show has the whole text so
// far. The same key again waits for the same turn; the empty key never repeats. When ctx ends, the turn is stopped, or
// withdrawn if it has not begun. The error is a [Refusal] for a question that cannot be asked.
func (g *Gateway) Ask(ctx context.Context, key string, q Prompt, show func(text string)) (Answer, error) {
	if strings.TrimSpace(q.Text) == "" {
		return Answer{}, Refusal("the question is empty")
	}
	if len(q.Text) > wire.MaxText {
		return Answer{}, Refusal(fmt.Sprintf("the question has %d bytes, and at most %d can be asked", len(q.Text), wire.MaxText))
	}
	m, err := g.conversation(ctx, q.Session)
	if err != nil {
		return Answer{}, err
	}
	m.Text, m.Silent, m.Sender = q.Text, true, chat.Sender{DisplayName: "the command line", IsBot: true}
	if key == "" {
		key = rand.Text()
	}
	id := chat.EventID(hashed("ask", key))
	completed, unwatch := g.options.Store.Watch(m.Channel, id)
	defer unwatch()
	message := store.MessageUUID(m.Channel, id)
	follower := g.options.Followed.Follow(message)
	defer follower.Close()
	accepted, err := g.options.Intake.Turn(ctx, id, m)
	switch {
	case err != nil:
		return Answer{}, err
	case accepted.Verdict == chat.Rejected:
		return Answer{}, Refusal(accepted.Reason)
	}
	for {
		state, said, failure, done, err := g.options.Store.Outcome(ctx, m.Channel, id)
		switch {
		case err == nil && done && state == domain.RunDone:
			return Answer{Session: accepted.Session, Text: said}, nil
		case err == nil && done:
			return Answer{Session: accepted.Session, Text: why(state, said, failure), Failed: true}, nil
		case err != nil && ctx.Err() == nil:
			return Answer{}, err
		}
		for done := false; !done; {
			select {
			case <-follower.News():
				show(answer.Parse(follower.Progress().Text, false).Text)
			case <-completed:
				done = true
			case <-g.options.Closing:
				return Answer{}, Refusal("the host is shutting down; the turn continues in its next process, and the same question with the same key waits for it")
			case <-ctx.Done():
				g.stop(context.WithoutCancel(ctx), accepted.Session, accepted.Number, message)
				return Answer{}, ctx.Err()
			}
		}
	}
}

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

// conversation returns a message of the conversation in which a question is asked.
func (g *Gateway) conversation(ctx context.Context, key string) (domain.Message, error) {
	if key == "" {
		return domain.Message{Channel: session.CLI, Chat: chat.Chat{ID: ownChat, Kind: chat.Direct}}, nil
	}
	s, err := g.options.Store.Session(ctx, key)
	if errors.Is(err, domain.ErrNotFound) {
		return domain.Message{}, Refusal(fmt.Sprintf("there is no session %q; `clawhost sessions` lists them", key))
	}
	if err != nil {
		return domain.Message{}, err
	}
	m := domain.Message{Channel: s.Route.Channel, Chat: chat.Chat{ID: s.Route.Chat, Kind: s.Kind, Title: s.Title}, Thread: s.Route.Thread}
	switch own, err := g.options.Intake.Session(ctx, m.Channel, m.Chat, m.Thread); {
	case err != nil:
		return domain.Message{}, err
	case own != key:
		return domain.Message{}, Refusal(fmt.Sprintf("nobody can be asked in the session %q any more, because its chat has another one", key))
	}
	return m, nil
}

// stop ends the turn of a question that nobody waits for any more, or withdraws it.
func (g *Gateway) stop(ctx context.Context, session string, number int64, message string) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := g.options.Store.Withdraw(ctx, session, number, func(domain.Message) bool { return true })
	if errors.Is(err, domain.ErrNotFound) {
		_, err = g.options.Turns.StopMessage(ctx, session, message)
	}
	if err != nil {
		g.log.Warn("a question that nobody waits for could not be stopped", "session", session, "error", err)
	}
}
