package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/sdk/chat"
)

// fresh tells of the new claude session, which began as the command was accepted. A turn that runs ends in the old one: its
// answer is not lost.
func (d desk) fresh(_ context.Context, call Call) (string, error) {
	said := "New conversation."
	if model := call.Session.Overrides.Model; model != "" {
		said = fmt.Sprintf("New conversation, with the model %s.", modelName(d.effective(call).Model))
	}
	if _, running := d.turns.Running(call.Caller.Session); running {
		said += " What is still running ends in the old one; /stop ends it now."
	}
	return said, nil
}

// stop says "stopped" only when it is true: Stop returns after the turn has ended, its tools with it. What was written
// after the command, which may have had to wait for its turn, is not meant by it.
func (d desk) stop(ctx context.Context, call Call) (string, error) {
	dropped := 0
	switch strings.ToLower(call.Args) {
	case "keep":
	case "":
		var err error
		if dropped, err = d.store.Clear(ctx, call.Caller.Session, domain.TurnLane, call.At); err != nil {
			return "", fmt.Errorf("drop what waits: %w", err)
		}
	default:
		return unknown("stop", call.Args, "Options: keep (what waits is answered)."), nil
	}
	stopped, err := d.turns.Stop(ctx, call.Caller.Session, call.At)
	if errors.Is(err, context.DeadlineExceeded) {
		return "The running turn did not stop yet. It is being killed; send /status to see.", nil
	}
	if err != nil {
		return "", fmt.Errorf("stop the turn: %w", err)
	}
	var said string
	switch {
	case stopped:
		said = "Stopped."
	case dropped > 0:
		said = "Nothing was running."
	default:
		return "Nothing is running.", nil
	}
	switch dropped {
	case 0:
		return said, nil
	case 1:
		return said + " One waiting message was dropped.", nil
	default:
		return fmt.Sprintf("%s %d waiting messages were dropped.", said, dropped), nil
	}
}

// aside has a question answered beside what runs.
func (d desk) aside(ctx context.Context, call Call) (string, error) {
	if call.Args == "" {
		return "What do you want to know? `/btw QUESTION` is answered beside what is running.", nil
	}
	written, err := d.host.Claude.Aside(ctx, call.Session.ClaudeSession, call.Args)
	said := answer.Parse(written, true).Text // what is meant for the host is left out
	switch {
	case errors.Is(err, client.ErrNoAside):
		return "This version of Claude Code takes no question beside what is running.", nil
	case errors.Is(err, client.ErrNotRunning):
		return "Nothing is running here. Ask it as a message of its own.", nil
	case errors.Is(err, context.DeadlineExceeded):
		return "Claude had no answer to this in time. It goes on with what is running.", nil
	case err != nil:
		return "", err
	case strings.TrimSpace(said) == "":
		return "Claude had no answer to this.", nil
	}
	return said, nil
}

// next has a waiting message answered before the others.
func (d desk) next(ctx context.Context, call Call) (string, error) {
	return d.waiting(ctx, call, d.store.Next, "It is next.")
}

// withdraw takes a waiting message back. Who may not use commands may take back their own.
func (d desk) withdraw(ctx context.Context, call Call) (string, error) {
	said, err := d.waiting(ctx, call, func(ctx context.Context, session string, seq int64) error {
		return d.store.Withdraw(ctx, session, seq, func(m domain.Message) bool {
			return call.Caller.Authority >= chat.Authorised || wrote(call.Caller, m)
		})
	}, "Taken back.")
	if errors.Is(err, domain.ErrNotYours) {
		return "You may only take back what you wrote yourself. Ask the owner of this bot.", nil
	}
	return said, err
}

// wrote tells whether somebody wrote a message.
func wrote(c chat.Caller, m domain.Message) bool {
	return m.Origin == "" && m.Sender.ID != "" && m.Sender.ID == c.Sender.ID && m.Channel == c.Address.Channel
}

// waiting does something with a waiting message, which is named by its number in the session.
func (d desk) waiting(ctx context.Context, call Call, do func(ctx context.Context, session string, seq int64) error, done string) (string, error) {
	seq, err := strconv.ParseInt(call.Args, 10, 64)
	if err != nil || seq < 1 {
		return fmt.Sprintf("Which message? `/queue` lists those that wait, with their numbers: `/%s NUMBER`.", call.Name), nil
	}
	err = do(ctx, call.Caller.Session, seq)
	if errors.Is(err, domain.ErrNotFound) {
		return "This message does not wait any more.", nil
	}
	return done, err
}

// session shows the conversation, or gives it a label.
func (d desk) session(ctx context.Context, call Call) (string, error) {
	switch word := firstWord(call.Args); strings.ToLower(word) {
	case "":
		return d.about(call), nil
	case "label":
		return d.label(ctx, call, oneLine(call.Args[len(word):], utf8.RuneCountInString(call.Args)+1))
	default:
		return unknown("session", call.Args, "Options: label TEXT, label - (takes the label away)."), nil
	}
}

func (d desk) about(call Call) string {
	s, now := call.Session, d.host.Now()
	var b strings.Builder
	fmt.Fprintf(&b, "**Session** %s\n", code(s.Key))
	if s.Label != "" {
		fmt.Fprintf(&b, "\n- label: %s", code(s.Label))
	}
	fmt.Fprintf(&b, "\n- %s chat", s.Kind)
	if s.Title != "" {
		fmt.Fprintf(&b, " %s", code(s.Title))
	}
	if s.Route.Channel != "" {
		fmt.Fprintf(&b, ", last message by %s", code(s.Route.Channel))
	}
	state := "goes on"
	switch {
	case s.ClaudeStarted:
	case s.ForkOf != "":
		state = "will begin as a copy of its parent's"
	default:
		state = "not begun yet"
	}
	fmt.Fprintf(&b, "\n- Claude's session: %s, %s", code(s.ClaudeSession), state)
	fmt.Fprintf(&b, "\n- first message: %s", d.when(s.CreatedAt))
	fmt.Fprintf(&b, "\n- this conversation: begun %s ago, %s", age(now.Sub(begun(s))), compacted(s.Compactions))
	if !s.InteractedAt.IsZero() {
		fmt.Fprintf(&b, "\n- last message: %s ago", age(now.Sub(s.InteractedAt)))
	}
	if !s.FlushedAt.IsZero() {
		fmt.Fprintf(&b, "\n- memories saved: %s ago", age(now.Sub(s.FlushedAt)))
	}
	fmt.Fprintf(&b, "\n- %s", spent(s.Usage))
	fmt.Fprintf(&b, "\n- chosen here: %s", or(chosen(s.Overrides), "nothing"))
	return b.String()
}

// chosen lists what people have chosen for a session.
func chosen(o domain.Overrides) string {
	var list []string
	for _, c := range []struct{ name, value string }{
		{"model", o.Model},
		{"effort", o.Effort},
		{"permissions", o.Permission},
		{"verbose", o.Verbose},
		{"reasoning", o.Reasoning},
		{"usage", o.Usage},
		{"queue", string(o.Queue.Mode)},
		{"drop", string(o.Queue.Drop)},
		{"send", o.Send},
		{"activation", o.Activation},
		{"speech", o.TTS},
	} {
		if c.value != "" {
			list = append(list, c.name+" "+oneLine(c.value, 60))
		}
	}
	if o.Queue.Debounce != nil {
		list = append(list, "debounce "+o.Queue.Debounce.String())
	}
	if o.Queue.Cap > 0 {
		list = append(list, fmt.Sprintf("cap %d", o.Queue.Cap))
	}
	return strings.Join(list, ", ")
}

func (d desk) label(ctx context.Context, call Call, label string) (string, error) {
	switch label {
	case "":
		return "A label needs a text: /session label TEXT. `/session label -` takes it away.", nil
	case "-":
		label = ""
	default:
		if _, err := session.ParseLabel(label); err != nil {
			return fmt.Sprintf("That is no label: %s.", err), nil
		}
	}
	if err := d.store.SetLabel(ctx, call.Caller.Session, label); err != nil {
		return "", err
	}
	if label == "" {
		return "This conversation has no label now.", nil
	}
	return fmt.Sprintf("This conversation is now labelled %s.", code(label)), nil
}

func begun(s domain.Session) time.Time {
	if s.ResetAt.After(s.CreatedAt) {
		return s.ResetAt
	}
	return s.CreatedAt
}

// when is a time as people read it.
func (d desk) when(t time.Time) string { return t.In(d.host.Zone).Format("2006-01-02 15:04 MST") }
