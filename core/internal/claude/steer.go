package claude

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
)

// A line can be withdrawn while it waits. The CLI keeps the ids of withdrawn lines and takes the same id again without
// running it, so the process is replaced before the message is run on its own. A new process, on the other hand, knows only
// the ids of messages that had turns of their own: those of steered lines are read from the transcript.

// steer writes the lines that wait for the running turn.
func (p *Pool) steer(ctx context.Context, s *session, t agent.Turn) {
	lines, err := t.Steer(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("messages wait for the end of the turn", "error", err)
	}
	for _, l := range lines {
		if l.UUID == "" || strings.TrimSpace(l.Text) == "" || strings.HasPrefix(l.Text, "/") || !s.expect(l.UUID) {
			s.log.Debug("a message waits for the end of the turn", "message", l.UUID)
			continue
		}
		s.say(line{uuid: l.UUID, text: l.Text})
	}
}

// expect follows a line with the running turn. It reports whether the line may be written.
func (s *session) expect(uuid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent[uuid] || !s.exchange.Expect(uuid) {
		return false
	}
	if s.before[uuid] {
		s.exchange.Consume(uuid)
		return false
	}
	return true
}

// withdraw takes back the lines that wait.
func (s *session) withdraw() {
	s.mu.Lock()
	ids := s.exchange.Unread()
	for _, id := range ids {
		s.spent[id] = true
	}
	s.mu.Unlock()
	for _, id := range ids {
		s.takeBack(exchange.WithdrawalID(id, ""), id)
	}
}

func (s *session) takeBack(request, line string) {
	s.request(request, map[string]any{"subtype": "cancel_async_message", "message_uuid": line})
}

// Withdraw takes back a line that a session's running turn was told, or is about to be. True: the turn will not see it any more,
// nor will a later one under the same id; false: claude has read it, or may have. The CLI answers within milliseconds, also
// while a tool runs.
func (p *Pool) Withdraw(ctx context.Context, session, line string) bool {
	const patience = 2 * time.Second
	s := p.running(session)
	if s == nil {
		return false
	}
	switch s.forgo(line) {
	case exchange.Consumed:
		return false
	case exchange.Cancelled:
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := exchange.WithdrawalID(line, uuid.NewString())
	answers, forget := s.expectAnswer(id)
	defer forget()
	s.takeBack(id, line)
	select {
	case e := <-answers:
		return e.Response.Response.Cancelled || s.forgo(line) == exchange.Cancelled // by another request
	case <-s.proc.Exited():
	case <-ctx.Done():
	}
	return false
}

// forgo returns what has become of a line that is not wanted any more. One that was not written yet will not be.
func (s *session) forgo(line string) exchange.LineState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exchange == nil || s.before[line] {
		return exchange.Consumed
	}
	state, written := s.exchange.Line(line)
	if !written {
		state = exchange.Cancelled
	}
	if !written || state == exchange.Waiting {
		s.spent[line] = true
	}
	return state
}

// serves reports whether an idle process can run a turn, if it adopts the model and effort.
func (s *session) serves(t agent.Turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cli.SameProcess(s.profile, t.Profile) && s.tools == (t.Tools != nil) && !s.spent[t.UUID]
}
