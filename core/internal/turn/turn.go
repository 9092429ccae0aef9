// Package turn answers a claimed message.
package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxAttempts is how often a message is tried whose runs end with the host or with claude. It is generous: being killed is
// mostly not the message's fault, and only a message that always takes them down must be stopped.
const maxAttempts = 10

// Store is what a turn needs of the store.
type Store interface {
	Consumed(ctx context.Context, run int64) error
	Rebind(ctx context.Context, run int64, notice ...store.Piece) (store.Session, error)
	Join(ctx context.Context, run int64) ([]store.Queued, error)
	Complete(ctx context.Context, run int64, c store.Completion) error
	Spent(ctx context.Context, session, claudeSession string, f store.TurnFigures) error
	Post(ctx context.Context, key string, pieces ...store.Piece) (int64, error)
}

// View shows a chat what a turn does while it goes on.
type View interface {
	// Progress is told how far the turn is. It does not block.
	Progress(p agent.Progress)
	// Tools answers a message that Claude sends to the host's tools.
	Tools(ctx context.Context, message json.RawMessage) (json.RawMessage, error)
	// End says that the turn is over, and returns what the chat has of it already.
	End() Sent
	// Anew begins once more, after End: the run is in a fresh claude session, and nothing that was shown of it counts any more.
	Anew(ctx context.Context)
	// Reply returns the answer, as far as the chat does not have it. It is called after End.
	Reply(ctx context.Context, r agent.Result) Reply
	// Close says that the run is completed, or is the turn's no longer. It is called last.
	Close()
}

// Reply is what a chat gets of an answer.
type Reply struct {
	Pieces []store.Piece        // none when there is nothing to send
	Files  []store.OutgoingFile // that the pieces deal with
}

// Sent is what a chat has of a turn's answer before it is complete.
type Sent struct {
	Begun   bool   // something of it was sent for good
	Shown   string // what was shown behind that
	Preview int64  // the piece that shows it; zero: there is none
}

// Options are what a handler works with.
type Options struct {
	Store Store
	// Command answers a command. Its answer is for the chat in any case; its error is for the log.
	Command func(ctx context.Context, run *store.Run) (answer string, err error)
	// Context asks the hooks what they add to the turn.
	Context func(ctx context.Context, turnID string, caller chat.Caller, prompt string) ([]string, error)
	// Profile says how Claude Code is run for the turn.
	Profile func(run *store.Run) agent.Profile
	// Run has Claude Code do a turn. Its error is an [*agent.Failure].
	Run func(ctx context.Context, t agent.Turn) (agent.Result, error)
	// Ask has people decide on what Claude asks. Over is told how a turn has ended, once its run is completed: no answer to what
	// it asked matters any more.
	Ask  func(ctx context.Context, run *store.Run, q agent.Question) agent.Decision
	Over func(ctx context.Context, run *store.Run, c store.Completion)
	// Prompt builds what Claude reads, and Steered what it reads of a message in the midst of a turn.
	// Their error is that of a context that ended.
	Prompt  func(ctx context.Context, run *store.Run, added []string) (string, error)
	Steered func(ctx context.Context, m store.Queued) (string, error)
	// Notice makes pieces of a text of the host's.
	Notice func(run *store.Run, text string) []store.Piece
	// Offer asks a run's chat whether its work, which is given up, is to be gone on with. An error means that it does not.
	Offer func(ctx context.Context, run *store.Run, why string) error
	// Undelivered makes pieces that tell a run's chat what of the session's earlier answers did not arrive.
	Undelivered func(run *store.Run, dead []store.DeadPiece) []store.Piece
	// Retries is how often a turn is tried again that the service failed, or had no capacity for.
	Retries int
	// Trouble is what the user is told of a failure.
	Trouble func(f *agent.Failure) string
	// Next is what must run before all that waits, after a turn with this result; nil: nothing.
	Next func(run *store.Run, result agent.Result) *store.Inbound
	// View begins to show the chat what the turn does.
	View func(ctx context.Context, run *store.Run) View
	// Retire is told of a claude session that will not be used again.
	Retire func(claudeSession string)
	// Zone is that of the days that turns count on.
	Zone *time.Location
}

// Handler answers claimed messages.
type Handler struct {
	options Options
	log     hclog.Logger
}

// New returns a handler.
func New(options Options, log hclog.Logger) *Handler {
	return &Handler{options: options, log: log}
}

// Handle answers the message of a run and completes the run. An error means that the run is not completed and goes back
// to its lane, but for [agent.ErrStopped]: the run is completed as cancelled. Nudged fires when messages wait that the
// running turn could be told.
func (h *Handler) Handle(ctx context.Context, run *store.Run, nudged <-chan struct{}) error {
	if run.Message.Message.Command != nil {
		return h.command(ctx, run)
	}
	if run.Message.Attempts > maxAttempts {
		return h.fail(ctx, run, agent.Result{}, Sent{Preview: run.Preview}, &agent.Failure{Class: agent.GivenUp, Detail: fmt.Sprintf("%d attempts", maxAttempts)})
	}
	view := h.options.View(ctx, run)
	defer view.Close()
	added, err := h.context(ctx, run)
	if err != nil {
		return h.fail(ctx, run, agent.Result{}, view.End(), err)
	}
	result, err := h.run(ctx, run, added, nudged, view)
	if run.Session.Replaced {
		h.options.Retire(run.Message.ClaudeSession)
	}
	sent := view.End()
	if err != nil {
		return h.fail(ctx, run, result, sent, err)
	}
	return h.reply(ctx, run, result, sent, view.Reply)
}

// command answers a slash command.
func (h *Handler) command(ctx context.Context, run *store.Run) error {
	answer, err := h.options.Command(ctx, run)
	done := store.Completion{State: store.RunDone, Answer: answer}
	if err != nil {
		h.log.Error("a command failed", "session", run.Session.Key, "error", err)
		done.State, done.Error = store.RunFailed, err.Error()
	}
	if answer == "" && run.Message.Message.Command.Plain {
		done.Transcript = []chat.TranscriptEntry{{Role: chat.User, Text: run.Message.Message.Written(), At: run.Message.ReceivedAt}}
	}
	if answer != "" {
		done.Pieces = h.notice(run, answer)
		// The history shows what was chosen; what matters to the agent, the command notes for its next turn.
		done.Transcript = []chat.TranscriptEntry{{Role: chat.System, Text: run.Message.Message.Written() + " → " + answer, At: time.Now()}}
	}
	return h.complete(ctx, run, done)
}

// context asks the hooks. They join the turns of people, plugins and the heartbeat, not the host's own housekeeping.
func (h *Handler) context(ctx context.Context, run *store.Run) ([]string, error) {
	if housekeeping(run) {
		return nil, nil
	}
	texts := []string{run.Message.Message.Text}
	for _, m := range run.More {
		texts = append(texts, m.Message.Text)
	}
	added, err := h.options.Context(ctx, fmt.Sprint(run.ID), Caller(run), strings.Join(texts, "\n"))
	if err != nil {
		return nil, &agent.Failure{Class: agent.Hook, Err: err}
	}
	return added, nil
}

// housekeeping tells whether a run is for the conversation itself, not for something that is said in it.
func housekeeping(run *store.Run) bool {
	origin := run.Message.Message.Origin
	return origin == store.OriginFlush || origin == store.OriginCompact
}

// run has Claude do the turn. Where the claude session cannot go on, the message runs once more in a fresh one. The chat is
// told of it whatever comes then: the notice is posted by the step that begins the fresh one.
func (h *Handler) run(ctx context.Context, run *store.Run, added []string, nudged <-chan struct{}, view View) (agent.Result, error) {
	prompt, err := h.options.Prompt(ctx, run, added)
	if err != nil {
		return agent.Result{}, err
	}
	var marks sync.WaitGroup // the consumption marks being written
	var consumed atomic.Bool
	defer func() {
		if marks.Wait(); consumed.Load() {
			run.Message.ConsumedAt = time.Now()
		}
	}()
	t := agent.Turn{
		Key:       run.Session.Key,
		Session:   run.Message.ClaudeSession,
		Started:   run.Session.ClaudeStarted,
		ForkOf:    run.Session.ForkOf,
		Profile:   h.options.Profile(run),
		UUID:      run.Message.UUID,
		Attempt:   run.Message.Attempts,
		Consumed:  !run.Message.ConsumedAt.IsZero(),
		Prompt:    prompt,
		Authority: run.Message.Message.Authority,
		Timeout:   run.Message.Message.Timeout,
		OnConsumed: func() {
			consumed.Store(true)
			marks.Go(func() { h.consumed(context.WithoutCancel(ctx), run) })
		},
		Progress: view.Progress, Tools: view.Tools,
		Ask: func(ctx context.Context, q agent.Question) agent.Decision { return h.options.Ask(ctx, run, q) },
	}
	if run.Message.Message.Origin == "" {
		t.Nudged = nudged
		t.Steer = func(ctx context.Context) ([]agent.Line, error) { return h.steer(ctx, run) }
	}
	result, err := h.try(ctx, run, t)
	notice := fresh(t, err)
	if notice == "" {
		return result, err
	}
	marks.Wait() // or a late one would mark the fresh session
	h.log.Warn("the claude session cannot go on; the message runs in a fresh one", "session", run.Session.Key, "error", err)
	view.End() // or it would show more of what is taken back
	session, err := h.options.Store.Rebind(ctx, run.ID, h.notice(run, notice)...)
	if err != nil {
		return agent.Result{}, fmt.Errorf("begin a fresh claude session: %w", err)
	}
	h.options.Retire(t.Session)
	consumed.Store(false)
	move(run, session)
	view.Anew(ctx)
	// A conversation that begins is told what one that goes on was told before.
	if t.Prompt, err = h.options.Prompt(ctx, run, added); err != nil {
		return agent.Result{}, err
	}
	t.Session, t.Started, t.ForkOf, t.Attempt, t.Consumed = session.ClaudeSession, false, "", 1, false
	// What the lost session had been told in the midst of the turn the fresh one does not know: it is not covered, and waits.
	return h.try(ctx, run, t)
}

// move has a run be of its session's new claude session, in which nothing of its answer is said. What else there is of the
// session stays.
func move(run *store.Run, s store.Session) {
	run.Said, run.Preview = "", 0
	run.Message.ClaudeSession, run.Message.ConsumedAt = s.ClaudeSession, time.Time{}
	for i := range run.More {
		run.More[i].ClaudeSession = s.ClaudeSession
	}
	of := &run.Session
	of.ClaudeSession, of.Replaced, of.ClaudeStarted, of.ResetAt = s.ClaudeSession, s.Replaced, s.ClaudeStarted, s.ResetAt
	of.ForkOf, of.Starter = s.ForkOf, s.Starter
	of.ContextTokens, of.Compactions, of.Flushed = s.ContextTokens, s.Compactions, s.Flushed
}

// steer takes the messages that wait to be told to the running turn.
func (h *Handler) steer(ctx context.Context, run *store.Run) ([]agent.Line, error) {
	joined, err := h.options.Store.Join(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	lines := make([]agent.Line, len(joined))
	for i, m := range joined {
		text, err := h.options.Steered(ctx, m)
		if err != nil {
			return nil, err
		}
		lines[i] = agent.Line{UUID: m.UUID, Text: text}
	}
	return lines, nil
}

// consumed marks the message as read by Claude. It only speeds a recovery up, so a failure is no reason to end the turn.
func (h *Handler) consumed(ctx context.Context, run *store.Run) {
	if err := h.options.Store.Consumed(ctx, run.ID); err != nil && !errors.Is(err, store.ErrFenced) {
		h.log.Warn("mark a message as consumed", "run", run.ID, "error", err)
	}
}

// fresh is the notice with which a turn begins anew, or "" if that would not help: in a session that has just begun, and not as
// a copy of another one, it is the message that is too long.
func fresh(t agent.Turn, err error) string {
	var failure *agent.Failure
	if !errors.As(err, &failure) {
		return ""
	}
	switch failure.Class {
	case agent.ContextOverflow:
		if !t.Started && t.ForkOf == "" {
			return ""
		}
		return "Our conversation had become too long for the model. I began a new one and no longer know what was said before."
	case agent.TranscriptMissing:
		return "The record of our conversation is gone from this machine. I began a new one and no longer know what was said before."
	default:
		return ""
	}
}

// reply sends the answer and completes the run, in one transaction.
func (h *Handler) reply(ctx context.Context, run *store.Run, r agent.Result, sent Sent, reply func(context.Context, agent.Result) Reply) error {
	visible := answer.Parse(r.Text, true).Text
	done := store.Completion{
		State:   store.RunDone,
		Covered: r.Covered,
		Turn:    h.figures(run, r),
		Answer:  visible,
		Then:    h.options.Next(run, r),
	}
	if !run.Message.Message.Silent {
		said := reply(ctx, r)
		done.Pieces, done.Files = onto(run, sent.Preview, said.Pieces), said.Files
	}
	if visible != "" && (run.Message.Message.Silent || sent.Begun || speaks(done.Pieces)) { // not what the agent says in order to say nothing
		done.Transcript = []chat.TranscriptEntry{{Role: chat.Assistant, Text: visible, At: time.Now()}}
	}
	return h.complete(ctx, run, done)
}

// onto has the first piece take the preview's place. With no piece the preview is taken back.
func onto(run *store.Run, preview int64, pieces []store.Piece) []store.Piece {
	switch {
	case preview == 0:
	case len(pieces) == 0:
		return []store.Piece{{To: run.Message.Message.Address(), Edits: preview}}
	default:
		pieces[0].Edits, pieces[0].OrSend = preview, true
	}
	return pieces
}

// speaks tells whether pieces say anything.
func speaks(pieces []store.Piece) bool {
	return slices.ContainsFunc(pieces, func(p store.Piece) bool { return p.Text != "" || len(p.Media) > 0 })
}

func (h *Handler) figures(run *store.Run, r agent.Result) *store.TurnFigures {
	return &store.TurnFigures{
		Usage: store.Usage{
			Turns: 1, InputTokens: r.InputTokens, CacheTokens: r.CacheTokens, OutputTokens: r.OutputTokens, CostMicros: r.CostMicros,
		},
		Day:   time.Now().In(h.options.Zone).Format(time.DateOnly),
		Model: r.Model, ContextTokens: r.ContextTokens, ContextWindow: r.ContextWindow,
		Compactions: int64(r.Compactions), Flush: run.Message.Message.Origin == store.OriginFlush,
	}
}

// fail tells the user what went wrong and completes the run; a turn that was stopped ends without a word, because who
// stopped it says so, and one that the host's end cut off goes back to its lane.
func (h *Handler) fail(ctx context.Context, run *store.Run, r agent.Result, sent Sent, err error) error {
	now := time.Now()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, agent.ErrStopped):
		if err := h.complete(ctx, run, store.Completion{
			State: store.RunCancelled, Covered: r.Covered, Turn: h.figures(run, r), Pieces: h.left(run, sent),
			Transcript: []chat.TranscriptEntry{{Role: chat.System, Text: "stopped", At: now}},
			Notes:      []store.Note{{Kind: store.NoteHint, At: now, Text: envelope.HintStopped}},
		}); err != nil {
			return err
		}
		return agent.ErrStopped
	case errors.Is(cause, store.ErrFenced):
		if pieces := h.left(run, sent); len(pieces) > 0 {
			if _, err := h.options.Store.Post(context.WithoutCancel(ctx), "", pieces...); err != nil {
				h.log.Warn("leave what an interrupted turn has shown", "run", run.ID, "error", err)
			}
		}
		figures := h.figures(run, r)
		figures.Flush = false // it was cut short
		h.spent(ctx, run, figures)
		return cause
	case cause != nil:
		return cause
	}
	var failure *agent.Failure
	if !errors.As(err, &failure) || again(failure) && run.Message.Attempts < maxAttempts {
		return err
	}
	h.log.Error("a turn failed", "session", run.Session.Key, "run", run.ID, "class", failure.Class, "error", failure)
	said := h.options.Trouble(failure)
	done := store.Completion{
		State: store.RunFailed, Error: failure.Error(), Covered: r.Covered, Turn: h.figures(run, r), Answer: said,
		Transcript: []chat.TranscriptEntry{{Role: chat.System, Text: said, At: now}},
	}
	cutOff := again(failure) || failure.Class == agent.GivenUp
	if cutOff {
		done.Notes = []store.Note{{Kind: store.NoteHint, At: now, Text: envelope.HintCutOff}}
	}
	switch m := run.Message.Message; {
	case m.Origin == store.OriginFlush, m.Origin == store.OriginHeartbeat: // nobody asked for these; the log has it
	case cutOff && m.Origin == "" && !m.Silent && h.offer(ctx, run, said):
		done.Pieces = onto(run, sent.Preview, nil)
	default:
		done.Pieces = onto(run, sent.Preview, h.notice(run, said))
	}
	return h.complete(ctx, run, done)
}

// offer tells why a run is given up, and asks whether it is to be gone on with.
func (h *Handler) offer(ctx context.Context, run *store.Run, why string) bool {
	err := h.options.Offer(context.WithoutCancel(ctx), run, why)
	if err != nil {
		h.log.Warn("nobody is asked whether to go on", "run", run.ID, "error", err)
	}
	return err == nil
}

// left is what stays in the chat of an answer that was broken off: what was shown of it.
func (h *Handler) left(run *store.Run, sent Sent) []store.Piece {
	if sent.Shown == "" {
		return onto(run, sent.Preview, nil)
	}
	return onto(run, sent.Preview, h.notice(run, sent.Shown))
}

// again tells whether another attempt may find what this one left: the next one looks into claude's transcript first.
func again(f *agent.Failure) bool {
	return f.Class == agent.Died || f.Class == agent.Unavailable
}

// notice is what the chat is told by the host; a silent turn tells it nothing.
func (h *Handler) notice(run *store.Run, text string) []store.Piece {
	if run.Message.Message.Silent {
		return nil
	}
	return h.options.Notice(run, text)
}

// complete ends the run. The message has been answered, so the end of its context does not count any more.
func (h *Handler) complete(ctx context.Context, run *store.Run, c store.Completion) error {
	if speaks(c.Pieces) {
		c.Undelivered = func(dead []store.DeadPiece) []store.Piece { return h.options.Undelivered(run, dead) }
	}
	if err := h.options.Store.Complete(context.WithoutCancel(ctx), run.ID, c); err != nil {
		if errors.Is(err, store.ErrFenced) && c.Turn != nil {
			h.spent(ctx, run, c.Turn)
		}
		return fmt.Errorf("complete run %d: %w", run.ID, err)
	}
	if run.Lane == store.TurnLane {
		h.options.Over(context.WithoutCancel(ctx), run, c)
	}
	return nil
}

// spent counts what a turn cost that somebody interrupted.
func (h *Handler) spent(ctx context.Context, run *store.Run, f *store.TurnFigures) {
	if err := h.options.Store.Spent(context.WithoutCancel(ctx), run.Session.Key, run.Message.ClaudeSession, *f); err != nil {
		h.log.Warn("count what an interrupted turn cost", "run", run.ID, "error", err)
	}
}

// Caller is who a run's message is of.
func Caller(run *store.Run) chat.Caller {
	m := run.Message.Message
	return chat.Caller{Session: run.Session.Key, Address: m.Address(), Kind: m.Chat.Kind, Sender: m.Sender, Authority: m.Authority}
}
