package claude

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// A line that is written while a tool runs is steered into the turn: the CLI shows it to the model behind the tool's
// result, and one result covers both. A line that missed the last tool waits until the turn is over, and then the CLI runs
// it by itself, several together. Such turns are followed, too: a session at rest is one whose lines are all accounted for.
//
// A line can be withdrawn while it waits. The CLI keeps the ids of withdrawn lines and takes the same id again without
// running it, so the process is replaced before the message is run on its own. A new process, on the other hand, knows only
// the ids of messages that had turns of their own: those of steered lines are read from the transcript.

// fortune is what became of a steered line.
type fortune int

const (
	waiting fortune = iota
	consumed
	cancelled
)

// steered is a line that was written into a turn.
type steered struct {
	uuid    string
	fortune fortune
	turn    int // where its turn is, or will be, in track.over, once it is consumed
}

// expect begins to follow a line that is about to be written. It tells whether it may be.
func (t *track) expect(uuid string) bool {
	if t.finished || uuid == t.uuid || t.find(uuid) != nil {
		return false
	}
	t.steered = append(t.steered, steered{uuid: uuid})
	return true
}

// find returns a steered line.
func (t *track) find(uuid string) *steered {
	for i := range t.steered {
		if t.steered[i].uuid == uuid {
			return &t.steered[i]
		}
	}
	return nil
}

// consume notes that the model will see a line, and tells whether it is a steered one.
func (t *track) consume(uuid string) bool {
	l := t.find(uuid)
	if l == nil {
		return false
	}
	if l.fortune == waiting {
		l.fortune, l.turn = consumed, len(t.over)
	}
	return true
}

// steeredLifecycle takes what the CLI tells of a steered line. One that was consumed is told to be cancelled when its turn
// is stopped or fails: the model has seen it all the same.
func (t *track) steeredLifecycle(uuid, state string) {
	switch state {
	case "started", "completed":
		t.consume(uuid)
	case "cancelled":
		t.cancel(uuid)
	}
}

func (t *track) cancel(uuid string) {
	if l := t.find(uuid); l != nil && l.fortune == waiting {
		l.fortune = cancelled
		t.settle()
	}
}

// withdrawal begins the ids of the requests that withdraw a line, which goes on with the line's and with one of its own.
const withdrawal = "withdraw "

// withdrawn takes the answer to a request to withdraw a line. Where it is no, the CLI has taken the line up and says so.
func (t *track) withdrawn(e *protocol.Event) {
	if ids, ok := strings.CutPrefix(e.Response.RequestID, withdrawal); ok && e.Response.Response.Cancelled {
		line, _, _ := strings.Cut(ids, " ")
		t.cancel(line)
	}
}

// taken is how many steered lines the model has seen.
func (t *track) taken() int {
	n := 0
	for _, l := range t.steered {
		if l.fortune == consumed {
			n++
		}
	}
	return n
}

// runs tells whether a turn of steered lines runs or is about to.
func (t *track) runs() bool {
	return slices.ContainsFunc(t.steered, func(l steered) bool { return l.fortune == consumed && l.turn == len(t.over) })
}

// settle finishes the track once the line's turn is over and no steered one is left to be run.
func (t *track) settle() {
	waits := slices.ContainsFunc(t.steered, func(l steered) bool { return l.fortune == waiting })
	t.finished = len(t.over) > 0 && !waits && !t.runs()
}

// forgetEchoes is called when the CLI rests after the line's turn: nothing will run for the lines that were taken up since.
func (t *track) forgetEchoes() {
	for i := range t.steered {
		if l := &t.steered[i]; l.fortune == consumed && l.turn == len(t.over) {
			l.turn--
		}
	}
	t.settle()
}

// covered are the steered lines that need no run of their own. Those of the line's own turn are part of its conversation,
// however it ended. Others need none if their answer is in the result, or if they were stopped.
func (t *track) covered(stopped bool) []string {
	var ids []string
	for _, l := range t.steered {
		if l.fortune != consumed {
			continue
		}
		answered := t.succeeded() && l.turn < len(t.over) && t.over[l.turn].succeeded()
		if l.turn == 0 || answered || stopped {
			ids = append(ids, l.uuid)
		}
	}
	return ids
}

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

// expect follows a line with the running turn. It tells whether the line may be written.
func (s *session) expect(uuid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent[uuid] || !s.track.expect(uuid) {
		return false
	}
	if s.before[uuid] {
		s.track.consume(uuid)
		return false
	}
	return true
}

// withdraw takes back the lines that wait.
func (s *session) withdraw() {
	s.mu.Lock()
	var ids []string
	for _, l := range s.track.steered {
		if l.fortune == waiting {
			ids = append(ids, l.uuid)
			s.spent[l.uuid] = true
		}
	}
	s.mu.Unlock()
	for _, id := range ids {
		s.takeBack(withdrawal+id, id)
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
	case consumed:
		return false
	case cancelled:
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := withdrawal + line + " " + uuid.NewString()
	answers, forget := s.expectAnswer(id)
	defer forget()
	s.takeBack(id, line)
	select {
	case e := <-answers:
		return e.Response.Response.Cancelled || s.forgo(line) == cancelled // by another request
	case <-s.exited:
	case <-ctx.Done():
	}
	return false
}

// forgo tells what has become of a line that is not wanted any more. One that was not written yet will not be.
func (s *session) forgo(line string) fortune {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.track == nil || s.before[line] {
		return consumed
	}
	l := s.track.find(line)
	switch {
	case l == nil:
		s.spent[line] = true
		return cancelled
	case l.fortune == waiting:
		s.spent[line] = true
	}
	return l.fortune
}

// serves tells whether an idle process can run a turn, if it adopts the model and effort.
func (s *session) serves(t agent.Turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sameProcess(s.profile, t.Profile) && s.tools == (t.Tools != nil) && !s.spent[t.UUID]
}
