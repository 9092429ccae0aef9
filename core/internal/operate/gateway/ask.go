package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/text/answer"
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
	// Key identifies the turn: a further prompt with it waits for the same turn and gets the same answer. Each session has its own
	// keys of the operator, whose further prompt must have the same text. The empty key is different for each prompt.
	Key     string
	Session string       // whose conversation continues
	Agent   string       // who answers; empty: the session's agent, or the one that answers in the chat
	To      chat.Address // the chat whose conversation continues, if there is no Session; zero: that of all questions that name none
	Kind    chat.Kind    // of that chat
	Text    string
	Deliver bool          // the chat sees the answer
	Timeout time.Duration // zero: as configured
	// Untrusted says that others have written the text or parts of it: the turn runs as nobody's.
	Untrusted bool
	Beside    string          // what others have written, for the agent to know and not to follow
	Uploads   []chat.MediaRef // files of the plugin
	// Conversation is the name of a conversation of the plugin's own beside that of the chat; empty: the chat's.
	Conversation string
	// Progress says that a plugin gets the progress, too.
	Progress bool
	// Stays says that the turn goes on when no caller waits for it any more, so that a program that lost its connection can ask again
	// with the same key. It has no effect without a key. A plugin's turn always goes on.
	Stays bool
}

// Progress is what is known of a turn.
type Progress struct {
	Session string
	Waiting int            // how many messages were waiting before it
	Text    string         // the whole answer so far
	Held    string         // why the turn, or one before it, cannot begin or end yet, if anything prevents it
	End     domain.Outcome // zero: it has not ended
}

// Ask runs a turn and yields its progress: at first that it waits, then what is new, and last the end. An error is the last value,
// too; it is a [Refusal] for a turn that cannot be run.
//
// A plugin's turn lasts as long as it takes, and its end is final. If a turn of the operator was cancelled, its key asks again.
// When ctx ends and no other caller waits for such a turn, it is stopped, or withdrawn if it has not begun, unless p.Stays is set. If
// it cannot begin or end for a minute, or its next attempt is more than a minute away, it is stopped in the same way and fails.
func (g *Gateway) Ask(ctx context.Context, c Caller, p Prompt) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		last, err := g.ask(ctx, c, p, func(p Progress) bool { return yield(p, nil) })
		if err != nil || last.End.State != "" {
			yield(last, err)
		}
	}
}

// ask returns the end of a turn; none once show has returned false.
func (g *Gateway) ask(ctx context.Context, c Caller, p Prompt, show func(Progress) bool) (last Progress, err error) {
	m, own, err := g.message(ctx, c, p)
	if err != nil {
		return last, err
	}
	stays := p.Stays && p.Key != "" || c.plugin != ""
	if c.plugin != "" {
		select {
		case c.turns <- struct{}{}:
			defer func() { <-c.turns }()
		default:
			return last, Refusal{Full, fmt.Sprintf("too many turns at a time: at most %d are allowed", maxTurns)}
		}
	}
	w, err := g.join(ctx, c, question{session: own, channel: m.Channel}, cmp.Or(p.Key, rand.Text()))
	if err != nil {
		return last, err
	}
	unwanted := false // the turn is stopped if no other caller waits for it
	defer func() {
		if g.leave(w, unwanted) {
			g.stop(context.WithoutCancel(ctx), w)
			g.stopped(w)
		}
	}()
	completed, unwatch := g.options.Store.Watch(w.channel, w.key.EventID())
	defer unwatch()
	if len(p.Uploads) > 0 { // a turn that is known has its files, which the plugin may not have any more
		_, err := g.options.Store.Outcome(ctx, w.channel, w.key.EventID())
		if errors.Is(err, domain.ErrNotFound) {
			m.Media, err = g.attached(ctx, c, p)
		}
		if err != nil {
			return last, err
		}
	}
	accepted, err := g.options.Intake.Turn(ctx, w.key, session.AgentOf(own), m)
	switch {
	case errors.Is(err, domain.ErrOtherRequest):
		return last, Refusal{Reused, fmt.Sprintf("the key %q was used with another text; repeat that, or use another key for this question", p.Key)}
	case err != nil:
		return last, err
	case accepted.Verdict == chat.Rejected:
		g.drop(ctx, w.channel, m.Media)
		return last, Refusal{Full, accepted.Reason}
	}
	crashpoint.Pass("begun") // The turn is durable, its program does not know it yet.
	last = Progress{Session: own, Waiting: accepted.Waiting}
	if !show(last) {
		return last, nil
	}
	var news <-chan struct{}
	if c.plugin == "" || p.Progress {
		news = w.news
	}
	held := newHolding()
	defer held.end()
	for {
		last.End, err = g.options.Store.Outcome(ctx, w.channel, w.key.EventID())
		if last.End.State != "" || err != nil && ctx.Err() == nil {
			return last, err
		}
		for done := false; !done; {
			select {
			case <-news:
				now, hold := g.progress(w)
				last.Text, last.Held = answer.Parse(now.Text, false).Text, hold.why
				if c.plugin == "" {
					held.note(hold)
				}
				if !show(last) {
					return last, nil
				}
			case <-held.over():
				unwanted, last.End = true, domain.Outcome{State: domain.RunFailed, Error: held.why}
				return last, nil
			case <-completed:
				done = true
			case <-g.options.Closing:
				return last, errClosing
			case <-ctx.Done():
				unwanted = !stays
				return last, ctx.Err()
			}
		}
	}
}

// errClosing refuses to wait for a turn any longer.
var errClosing = Refusal{
	Closing, "the host is shutting down; the turn continues in its next process, and the same question with the same key waits for it",
}

// join adds the caller to those who wait for a question. If the operator asks again what was cancelled, it is another question each
// time.
func (g *Gateway) join(ctx context.Context, c Caller, of question, key string) (*waiter, error) {
	for again := 0; ; again++ {
		attempt := key
		if c.plugin == "" {
			attempt = of.session + "\x00" + key // no header holds this byte
		}
		if again > 0 {
			attempt += fmt.Sprint("\x00", again)
		}
		of.key = c.key(domain.KeyOperatorTurn, domain.KeyPluginTurn, attempt)
		w, err := g.waiters.join(ctx, of)
		if err != nil || c.plugin != "" {
			return w, err
		}
		o, err := g.options.Store.Outcome(ctx, of.channel, of.key.EventID())
		if errors.Is(err, domain.ErrNotFound) || err == nil && o.State != domain.RunCancelled {
			return w, nil
		}
		if g.leave(w, false); err != nil {
			return nil, err
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
func (h *holding) note(now hold) {
	switch {
	case now.why == "":
		h.timer.Stop()
	case now.wait > patience:
		h.timer.Reset(0)
	case h.why == "":
		h.timer.Reset(patience)
	}
	h.why = now.why
}

// over receives a value when the turn has been held for too long.
func (h *holding) over() <-chan time.Time { return h.timer.C }

func (h *holding) end() { h.timer.Stop() }

// message returns the message of a prompt that the caller may give, and the key of its session.
func (g *Gateway) message(ctx context.Context, c Caller, p Prompt) (m domain.Message, own string, err error) {
	agent, err := g.agent(p)
	if err != nil {
		return m, "", err
	}
	m = domain.Message{Channel: p.To.Channel, Chat: chat.Chat{ID: p.To.Chat, Kind: p.Kind}, Thread: p.To.Thread}
	switch {
	case p.Session != "":
		s, err := g.options.Store.Session(ctx, p.Session)
		if errors.Is(err, domain.ErrNotFound) {
			return m, "", Refusal{Invalid, fmt.Sprintf("there is no session %q; `clawhost sessions` lists them", p.Session)}
		}
		if err != nil {
			return m, "", err
		}
		m.Channel, m.Chat, m.Thread = s.Route.Channel, chat.Chat{ID: s.Route.Chat, Kind: s.Kind, Title: s.Title}, s.Route.Thread
		if n, err := session.Parse(p.Session); err == nil && n.Channel == session.CLI { // it has no route
			m.Channel, m.Chat.ID = n.Channel, chat.ID(n.User)
		}
	case p.To == chat.Address{}:
		m.Channel, m.Chat = session.CLI, chat.Chat{ID: ownChat, Kind: chat.Direct}
	}
	if err = c.Reach(m.Channel); err == nil && p.Deliver {
		err = g.sendable(c, m.Channel)
	}
	if err != nil {
		return m, "", err
	}
	m.Text, m.Silent, m.Timeout, m.Sender = p.Text, !p.Deliver, p.Timeout, chat.Sender{DisplayName: cmp.Or(c.plugin,
		"the command line"), IsBot: true}
	m.SameText = c.plugin == "" // a plugin may word its prompt in another way after a restart
	if p.Untrusted {
		m.Authority = chat.Other
	}
	m.Beside = p.Beside
	own, err = g.options.Intake.Session(ctx, agent, m.Address(), m.Chat)
	if p.Conversation != "" {
		m.Apart, m.Conversation = true, session.OfPlugin(c.plugin, p.Conversation)
		own = session.PluginsOf(own, m.Conversation)
	}
	if err == nil && p.Session != "" && own != p.Session {
		err = Refusal{Invalid, fmt.Sprintf("nobody can be asked in the session %q any more, because its chat has another one", p.Session)}
	}
	return m, own, err
}

// agent returns the agent that a prompt is for; empty: the one that answers in the chat.
func (g *Gateway) agent(p Prompt) (string, error) {
	name := p.Agent
	if p.Session != "" {
		name = session.AgentOf(p.Session)
	}
	if p.Agent != "" && p.Agent != name {
		return "", Refusal{NoAgent, fmt.Sprintf("the session %q is of the agent %q, not of %q", p.Session, name, p.Agent)}
	}
	if name == "" || g.options.Conversations.Agent(name) != nil {
		return name, nil
	}
	var names []string
	for _, a := range g.options.Conversations.Agents() {
		names = append(names, a.Label)
	}
	return "", Refusal{NoAgent, fmt.Sprintf("there is no agent %q; there are %s", name, strings.Join(names, ", "))}
}

// stop withdraws the turn of a question that no caller waits for any more, or ends it. It tries several times, because a turn that
// is about to be held or tried again is neither waiting nor running for a moment.
func (g *Gateway) stop(ctx context.Context, of *waiter) {
	const tries = 3
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for range tries {
		err := g.options.Store.WithdrawEvent(ctx, of.session, of.channel, of.key.EventID())
		stopped := err == nil
		if errors.Is(err, domain.ErrNotFound) {
			stopped, err = g.options.Dispatcher.StopMessage(ctx, of.session, of.message)
		}
		if err != nil {
			g.log.Warn("an abandoned question could not be stopped", "session", of.session, "error", err)
		}
		if stopped || err != nil {
			return
		}
	}
}
