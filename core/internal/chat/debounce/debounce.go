// Package debounce decides how long a message waits for the next one of its writer, so that both are answered as one.
package debounce

import (
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The bounds of a burst: more messages, or a longer stream without a pause, are answered in parts.
const (
	maxMessages = 12
	maxBytes    = 50_000
	maxPauses   = 5
)

// How a person who is seen typing is waited for. Discord shows a signal for ten seconds.
const (
	typingLasts = 10 * time.Second
	typingMost  = 15 * time.Second      // from the first message of the burst
	typingEnds  = usual                 // from the signal that the person has stopped
	typingLate  = 50 * time.Millisecond // a signal this soon after a message was sent before it: nobody begins the next one so fast
)

// How the chat goes: a person who has written again this soon, or begun to, before there was an answer, is waited for longest, for some
// minutes.
const (
	soon       = 2 * time.Second
	remembered = 10 * time.Minute
)

// Judge decides how long messages wait. It forgets everything with its process, and of more than some thousand people what they did
// longest ago. It is safe for concurrent use.
type Judge struct {
	mu      sync.Mutex
	writers generations
}

// writer is a person in a session.
type writer struct {
	session string
	channel string
	sender  chat.UserID
}

// pace is how a person writes.
type pace struct {
	first time.Time // message of the burst
	last  time.Time // message
	until time.Time // the end of the wait for more
	quick time.Time // when a message, or typing, last came soon after a message; zero: never
	typed bool      // the burst waits, or waited, because its writer was seen typing
	wait  domain.Wait
}

// New returns a judge who has seen nothing yet.
func New() *Judge { return &Judge{writers: newGenerations()} }

// Message returns how a message that arrives now waits for more. Answering reports whether the turn of an earlier one runs. Package inbox
// calls it for each message for the agent that a person has written.
func (j *Judge) Message(c config.Inbound, session string, m domain.Message, answering bool, now time.Time) domain.Burst {
	if c.Debounce == 0 {
		return domain.Burst{}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.writers.pace(writer{session, m.Channel, m.Sender.ID})
	if p.goesOn(answering, now) {
		p.quick = now
	}
	if !now.Before(p.until) {
		p.first, p.typed = now, false
	}
	b := domain.Burst{By: string(m.Sender.ID), Messages: maxMessages, Bytes: maxBytes, Now: len(m.Media) > 0}
	switch {
	case c.Debounce != config.AutoDebounce:
		p.wait = domain.Wait{For: c.Debounce, Why: domain.WaitConfig}
		b.Gap, b.Wait = c.Debounce, maxPauses*c.Debounce
	case p.typed:
		p.wait = p.judge(m, now)
		b.Gap, b.Wait = typingMost, typingMost
	default:
		p.wait = p.judge(m, now)
		b.Gap, b.Wait = longest, maxPauses*longest
	}
	b.Pause = p.wait.For
	if b.Now {
		p.wait = domain.Wait{Why: domain.WaitFile}
	}
	p.last, p.until = now, now.Add(p.wait.For)
	if end := p.first.Add(b.Wait); p.until.After(end) {
		p.until = end
	}
	return b
}

// goesOn reports whether a person who writes, or types, now goes on with what they have written, rather than with what was answered.
func (p *pace) goesOn(answering bool, now time.Time) bool {
	return now.Before(p.until) || answering && now.Sub(p.last) <= soon
}

// judge returns how long a message waits by itself.
func (p *pace) judge(m domain.Message, now time.Time) domain.Wait {
	w := look(m)
	if w.For < longest && now.Sub(p.quick) <= remembered {
		return domain.Wait{For: longest, Why: domain.WaitPieces}
	}
	return w
}

// Typing notes that a person who may write is seen typing in a session, or has stopped, while the turn of an earlier message runs or not.
// If a message of the person waits for more, ok is true, and it waits until a new time.
func (j *Judge) Typing(c config.Inbound, session, channel string, sender chat.UserID, stopped, answering bool, now time.Time) (until time.Time, ok bool) {
	if c.Debounce != config.AutoDebounce {
		return time.Time{}, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.writers.find(writer{session, channel, sender})
	switch {
	case p == nil || now.Sub(p.last) < typingLate:
		return time.Time{}, false
	case !now.Before(p.until): // too late for this burst
		if !stopped && p.goesOn(answering, now) {
			p.quick = now
		}
		return time.Time{}, false
	}
	until = now.Add(typingLasts)
	if stopped {
		until = now.Add(typingEnds)
	}
	if end := p.first.Add(typingMost); until.After(end) {
		until = end
	}
	p.typed, p.until, p.wait = true, until, domain.Wait{For: until.Sub(p.last), Why: domain.WaitTyping}
	return until, true
}

// Last returns how the last message of a person in a session has waited; false: it is not known.
func (j *Judge) Last(session, channel string, sender chat.UserID) (domain.Wait, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.writers.find(writer{session, channel, sender})
	if p == nil {
		return domain.Wait{}, false
	}
	return p.wait, true
}
