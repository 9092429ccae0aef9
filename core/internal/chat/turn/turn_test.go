package turn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A turn that runs tools without asking says so before it begins, once in all attempts, and does not run where it cannot.
// Behaviour: permission-mode-said.
func TestATurnWithoutQuestionsSaysSo(t *testing.T) {
	t.Parallel()
	const plain, ends = "⚡ Claude runs tools without asking in this turn.", "⚡ Claude runs tools without asking in this turn. `/elevated ask` ends that."
	for name, test := range map[string]struct {
		mode    string
		message domain.Message
		want    string
	}{
		"asks":                      {mode: "acceptEdits", message: domain.Message{Authority: chat.Owner}},
		"an owner's conversation":   {mode: "bypassPermissions", message: domain.Message{Authority: chat.Owner}, want: ends},
		"an owner's single message": {mode: "bypassPermissions", message: domain.Message{Authority: chat.Owner, Overrides: domain.Overrides{Permission: "bypassPermissions"}}, want: plain},
		"somebody's":                {mode: "bypassPermissions", message: domain.Message{Authority: chat.Other}, want: plain},
		"a plugin's":                {mode: "bypassPermissions", message: domain.Message{Authority: chat.Authorised, Origin: domain.OriginPlugin}, want: plain},
		"one that tells nobody":     {mode: "bypassPermissions", message: domain.Message{Silent: true}},
		"housekeeping":              {mode: "bypassPermissions", message: domain.Message{Origin: domain.OriginFlush}},
		"a heartbeat":               {mode: "bypassPermissions", message: domain.Message{Origin: domain.OriginHeartbeat}}, // its answer says it
	} {
		r, m := open(t, func(c *config.Config) { c.Agent.Claude.PermissionMode = test.mode }), message("hello")
		m.Authority, m.Overrides, m.Origin, m.Silent = max(test.message.Authority, chat.Other), test.message.Overrides, test.message.Origin, test.message.Silent
		r.accept(t, m)
		r.plays(func(context.Context, agent.Turn) (agent.Result, error) {
			var want []domain.OutboxItem
			if test.want != "" && len(r.asked()) == 1 {
				want = []domain.OutboxItem{{To: m.Address(), Text: test.want, Silent: true}}
			}
			if len(r.asked()) <= 2 {
				if diff := cmp.Diff(want, storetest.Sent(t, r.store, "telegram")); diff != "" {
					t.Errorf("%s, as attempt %d begins: %s", name, len(r.asked()), diff)
				}
			}
			return agent.Result{Text: "hi"}, &agent.Failure{Class: agent.Died}
		})
		if err := r.Handle(t.Context(), r.claim(t), nil); err == nil {
			t.Errorf("%s: it did not fail", name)
		}
		if err := r.Handle(t.Context(), r.crash(t), nil); err == nil || len(r.asked()) != 2 {
			t.Errorf("%s: %d turns, %v", name, len(r.asked()), err)
		}
		run := r.crash(t)
		must(t, r.store.Close())
		if err := r.Handle(t.Context(), run, nil); err == nil || (len(r.asked()) == 2) != (test.want != "") {
			t.Errorf("%s: the chat could not be told, and of %d turns the last one failed by %v", name, len(r.asked()), err)
		}
	}
}

// Behaviour: prompt-ended, recovery-overflow, given-up.
func TestHandle(t *testing.T) {
	t.Parallel()
	const tooLong = "Our conversation had become too long for the model. I began a new one and no longer know what was said before."
	const lost = "The record of our conversation is gone from this machine. I began a new one and no longer know what was said before."
	hi := answers(agent.Result{Text: "hi", Model: "m", InputTokens: 3})
	overflows := fails(agent.ContextOverflow)
	for name, test := range map[string]struct {
		silent   bool
		first    bool // of its session
		copied   bool // its session copies another
		attempts int
		failing  bool // a hook
		script   []step
		state    domain.RunState
		said     []string // of a question, only its beginning
		turns    int
		replaced bool   // the last turn is of another claude session
		hint     string // for the next turn
	}{
		"an answer":                  {script: []step{hi}, state: domain.RunDone, said: []string{"hi"}, turns: 1},
		"a plugin's silent turn":     {silent: true, script: []step{hi}, state: domain.RunDone, turns: 1},
		"a silent turn's long talk":  {silent: true, script: []step{overflows, hi}, state: domain.RunDone, turns: 2, replaced: true},
		"a failure is told":          {script: []step{fails(agent.Billing)}, state: domain.RunFailed, said: []string{notices[agent.Billing]}, turns: 1},
		"a long talk begins again":   {script: []step{overflows, hi}, state: domain.RunDone, said: []string{tooLong, "hi"}, turns: 2, replaced: true},
		"a message that is too long": {script: []step{overflows}, state: domain.RunFailed, said: []string{tooLong, notices[agent.ContextOverflow]}, turns: 2, replaced: true},
		"one that begins a session":  {first: true, script: []step{overflows}, state: domain.RunFailed, said: []string{notices[agent.ContextOverflow]}, turns: 1},
		"a copy of a long talk":      {copied: true, script: []step{overflows, hi}, state: domain.RunDone, said: []string{tooLong, "hi"}, turns: 2, replaced: true},
		"a lost transcript":          {attempts: 2, script: []step{fails(agent.TranscriptMissing), hi}, state: domain.RunDone, said: []string{lost, "hi"}, turns: 2, replaced: true},
		"a required hook that fails": {failing: true, script: []step{hi}, state: domain.RunFailed, said: []string{notices[agent.Hook]}},
		"claude always dies of it":   {attempts: 10, script: []step{fails(agent.Died)}, state: domain.RunFailed, said: []string{notices[agent.Died]}, turns: 1, hint: domain.HintCutOff},
		"the host always dies of it": {attempts: 11, script: []step{hi}, state: domain.RunFailed, said: []string{notices[agent.GivenUp]}, hint: domain.HintCutOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, m := open(t), message("hello")
			if m.Silent = test.silent; !test.first {
				r.begin(t, agent.Result{})
			}
			hook := &r.plugins.Entry("notes").Config().Hook
			if test.failing {
				hook.OnError = "fail"
			}
			in := r.inbound(m)
			if test.copied {
				in.Session, in.Parent = session+":thread:1", session
			}
			storetest.Accept(t, r.store, in)
			var run *domain.Run
			take := func(claimed *domain.Run) { run = claimed }
			for run == nil || run.Head.Attempts < test.attempts {
				r.restart(t)
				must(t, r.store.Claim(t.Context(), domain.TurnLane, domain.Anybodys, take))
			}
			old := run.Head.ClaudeSession
			r.plays(test.script...)
			must(t, r.Handle(t.Context(), run, nil))
			said, _ := r.told(t)
			same := len(said) == len(test.said)
			for i := range said {
				same = same && strings.HasPrefix(said[i], test.said[i])
			}
			if o := r.outcome(t); !same || o.State != test.state || len(r.asked()) != test.turns {
				t.Errorf("in %d turns %+v, the chat is told %q, want %q", len(r.asked()), o, said, test.said)
			}
			s, err := r.store.Session(t.Context(), in.Session)
			if err != nil || s.ClaudeStarted != (test.turns > 0 || !test.first) || (s.ClaudeSession != old) != test.replaced || cmp.Equal(r.retired, []string{old}) != test.replaced {
				t.Errorf("then the session is %+v, %v; retired %q", s, err, r.retired)
			}
			if test.replaced {
				again := r.asked()[1]
				if again.Session != s.ClaudeSession || again.Started || again.ForkOf != "" || again.Again || again.UUID != run.Head.UUID {
					t.Errorf("the second turn is %+v", again)
				}
			}
			history, err := r.store.Transcript(t.Context(), in.Session, 0, 1)
			if role := map[domain.RunState]chat.Role{domain.RunDone: chat.Assistant, domain.RunFailed: chat.System}[test.state]; err != nil || history[0].Role != role {
				t.Errorf("history %+v, %v", history, err)
			}
			hook.OnError = "skip"
			if prompt := r.next(t); strings.Contains(prompt, domain.HintCutOff) != (test.hint != "") {
				t.Errorf("the next turn is told %q", prompt)
			}
		})
	}
}

// A conversation that the API rejects is resumed by another process, which repairs it, and else replaced, once, if it had an answer
// before. What the API rejects may be a picture: the new conversation has none, even if the old one had no answer yet. Each try in
// the old one shows the same.
// Behaviour: recovery-rejected, file-inline.
func TestRejected(t *testing.T) {
	t.Parallel()
	hi, rejected := says("hi"), fails(agent.Rejected)
	for name, test := range map[string]struct {
		context int64
		picture bool
		script  []step
		turns   []string // of the old or a new session, with how many pictures
		said    []string
	}{
		"it is repaired":       {5000, false, []step{rejected, hi}, []string{"old 0", "old 0"}, []string{"hi"}},
		"it is not":            {5000, false, []step{rejected, rejected, hi}, []string{"old 0", "old 0", "new 0"}, []string{wording.BeganRejected, "hi"}},
		"the message is bad":   {5000, false, []step{rejected}, []string{"old 0", "old 0", "new 0", "new 0"}, []string{wording.BeganRejected, notices[agent.Rejected]}},
		"it had no answer yet": {0, false, []step{rejected}, []string{"old 0", "old 0"}, []string{notices[agent.Rejected]}},
		"the picture is bad":   {0, true, []step{rejected, rejected, hi}, []string{"old 1", "old 1", "new 0"}, []string{wording.BeganRejected, "hi"}},
		"its record is gone":   {0, true, []step{fails(agent.TranscriptMissing), hi}, []string{"old 1", "new 1"}, []string{wording.BeganLost, "hi"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, m := open(t), message("this")
			r.begin(t, agent.Result{ContextTokens: test.context})
			if test.picture {
				m.Media = r.stored(t, chat.Image, mediatest.Picture(t, "png"))
			}
			old := r.known(t).ClaudeSession
			r.plays(test.script...)
			r.do(t, m)
			var turns []string
			for _, asked := range r.asked() {
				turns = append(turns, fmt.Sprint(map[bool]string{true: "old ", false: "new "}[asked.Session == old], len(asked.Pictures)))
			}
			if said, _ := r.told(t); !cmp.Equal(said, test.said) || !cmp.Equal(turns, test.turns) {
				t.Errorf("in the turns %q the chat is told %q", turns, said)
			}
			if len(r.retired) == 0 || r.retired[0] != old || turns[1] == test.turns[0] && !r.asked()[1].Again {
				t.Errorf("no other process resumes it: %q, tried %q", r.retired, r.tries())
			}
		})
	}
}

// A process can be killed between the first line of its record and the message, which leaves a record that cannot be resumed: the
// message runs in a new conversation, and there is nothing to tell. Behaviour: recovery-overflow.
func TestARecordThatHasNothing(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.plays(fails(agent.TranscriptMissing), says("hi"))
	r.do(t, message("this"))
	asked := r.asked()
	if said, _ := r.told(t); !slices.Equal(said, []string{"hi"}) || len(asked) != 2 || asked[0].Session == asked[1].Session {
		t.Errorf("in %d turns the chat is told %q, want the answer alone, of a second conversation", len(asked), said)
	}
}

// A conversation that another one has taken the place of keeps no process behind what was left to answer in it.
// Behaviour: process-new-conversation.
// A message that begins a conversation is answered in a spare process, whose claude session the conversation keeps; others are not.
// Behaviour: process-spare.
func TestAConversationBeginsInASpareProcess(t *testing.T) {
	t.Parallel()
	const waiting = "0f0e0d0c-4a4b-4c4d-8e8f-101112131415"
	r := open(t)
	r.report(chat.Limits{MediaOut: []chat.MediaLimit{{Kind: chat.File, MaxBytes: 1000}}})
	r.spare = waiting
	r.begin(t, agent.Result{})
	if r.asked()[0].Session != waiting || r.known(t).ClaudeSession != waiting || !r.known(t).ClaudeStarted {
		t.Errorf("answered in %q, the conversation is %+v", r.asked()[0].Session, r.known(t))
	}
	folder := filepath.Join(r.workspace, outgoing.Folder(waiting))
	if entries, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(folder) {
		t.Errorf("folders for files to the chat: %v, %v; want %s only", entries, err, folder)
	}
	r.spare = "another"
	if r.next(t); r.asked()[0].Session != waiting || r.spare == "" {
		t.Errorf("the next message is answered in %q", r.asked()[0].Session)
	}
	again := open(t)
	again.accept(t, message("hello"))
	again.claim(t)
	first := again.known(t).ClaudeSession
	again.spare = "waiting"
	again.plays(says("hi"))
	must(t, again.Handle(t.Context(), again.crash(t), nil))
	if again.asked()[0].Session != first {
		t.Errorf("a message that Claude may have is answered in %q", again.asked()[0].Session)
	}
}

func TestWhatIsAnsweredInAReplacedConversation(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.begin(t, agent.Result{})
	r.accept(t, message("hello"))
	r.claim(t)
	old := r.known(t).ClaudeSession
	reset := r.inbound(message("reset"))
	reset.Lane, reset.Reset = domain.ControlLane, true
	storetest.Accept(t, r.store, reset)
	r.plays(says("hi"))
	must(t, r.Handle(t.Context(), r.crash(t), nil))
	if r.next(t); !cmp.Equal(r.retired, []string{old}) || r.asked()[0].Session == old {
		t.Errorf("retired %q, then asked in %q", r.retired, r.asked()[0].Session)
	}
}

func TestWhatClaudeIsTold(t *testing.T) {
	t.Parallel()
	r := open(t)
	notes, _ := r.hooked(t)
	r.begin(t, agent.Result{})
	notes.Prepend = "(the time)"
	m := message("do it")
	m.Authority, m.Timeout = chat.Owner, time.Minute
	r.accept(t, m)
	must(t, r.store.Consumed(t.Context(), r.claim(t).ID))
	r.crash(t)
	run := r.crash(t)
	r.plays(says("hi"))
	must(t, r.Handle(t.Context(), run, nil))
	want := agent.Turn{
		Key: session, Session: run.Head.ClaudeSession, Started: true, Profile: agent.Profile{Model: "opus", PermissionMode: "default"}, UUID: run.Head.UUID,
		Again: true, Authority: chat.Owner, Timeout: time.Minute,
	}
	ignored := cmp.Options{
		cmpopts.IgnoreFields(agent.Turn{}, "Prompt", "Watcher", "Steering", "Asker", "Tools"), cmpopts.IgnoreFields(agent.Profile{}, "SystemPrompt", "Skills", "Private"),
	}
	got := r.asked()[0]
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got.Prompt, "[Telegram Bob] do it") || !strings.Contains(got.Prompt, "(the time)") || got.Profile.SystemPrompt == "" {
		t.Errorf("it reads %q", got.Prompt)
	}
}

// The history, and programs that wait for the turn, get what the chat sees: no markers for the host, and nothing if the
// answer is NO_REPLY.
// Behaviour: no-reply, markers.
func TestMarkersStayWithTheHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"NO_REPLY": "", "hi": "hi", "[[reply_to_current]] The chart.\nMEDIA:charts/may.png": "The chart.",
	} {
		for _, silent := range []bool{false, true} {
			r, m := open(t), message("hello")
			m.Silent = silent
			r.plays(says(text))
			r.do(t, m)
			if o, history := r.outcome(t), r.history(t); o.Answer != want || want == "" && len(history) != 1 || want != "" && (len(history) != 2 || history[1].Text != want) {
				t.Errorf("%q, silent %t: %+v, the history has %+v", text, silent, o, history)
			}
		}
	}
}

// The host's own housekeeping asks no hooks, is not steered, and troubles the chat only if somebody there asked for it.
// Behaviour: memory-flush-when.
func TestHousekeeping(t *testing.T) {
	t.Parallel()
	for origin, told := range map[domain.Origin]bool{domain.OriginFlush: false, domain.OriginCompact: true} {
		r, m := open(t), message("hello")
		r.plugins.Entry("notes").Config().Hook.OnError = "fail" // it does not run
		m.Origin = origin
		r.plays(fails(agent.Server))
		r.do(t, m)
		if len(r.asked()) != 1 || r.asked()[0].Steering != nil {
			t.Errorf("%s: turns %+v", origin, r.asked())
		}
		said := r.said(t)
		if flushed := r.known(t).Flushed > 0; r.outcome(t).State != domain.RunFailed || (said != "") != told || flushed != (origin == domain.OriginFlush) {
			t.Errorf("%s: %+v, flushed %t, the chat is told %q", origin, r.outcome(t), flushed, said)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer string
		err    error
		state  domain.RunState
		said   string
	}{
		"an answer": {answer: "a six", state: domain.RunDone, said: "a six"},
		"no answer": {state: domain.RunDone},
		"a failure": {err: errors.New("why"), state: domain.RunFailed, said: wording.CommandFailed("roll")},
	} {
		r, m := open(t), message("/roll")
		spec := sdk.CommandSpec{Name: "roll", Summary: "Rolls a dice."}
		plugintest.Run(t, r.plugins, "notes", sdk.Command(spec, func(context.Context, sdk.CommandCall) (string, error) { return test.answer, test.err }))
		m.Command, m.Authority = &domain.Command{Name: "roll"}, chat.Authorised
		r.accept(t, m)
		var run *domain.Run
		must(t, r.store.Claim(t.Context(), domain.ControlLane, domain.Anybodys, func(claimed *domain.Run) { run = claimed }))
		must(t, r.Handle(t.Context(), run, nil))
		if said := r.said(t); said != test.said || r.outcome(t).State != test.state || len(r.asked()) != 0 {
			t.Errorf("%s: %+v, the chat is told %q in %d turns", name, r.outcome(t), said, len(r.asked()))
		}
	}
}

// A turn that is stopped is completed. One that is interrupted goes back, without its answer; what it has cost counts if it has lost
// its lane, which it may notice only as it ends.
// Behaviour: prompt-ended.
func TestATurnThatIsEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cause error // of the end of its context
		late  bool  // the lane is lost as Claude answers
		want  error
		state domain.RunState
		spent int64
	}{
		"stopped":             {cause: agent.ErrStopped, want: agent.ErrStopped, state: domain.RunCancelled, spent: 3},
		"the host's end":      {cause: agent.ErrShutdown, want: agent.ErrShutdown}, // the turn goes on
		"a lost lane":         {cause: domain.ErrFenced, want: domain.ErrFenced, spent: 3},
		"one lost at the end": {late: true, want: domain.ErrFenced, spent: 3},
	} {
		r := open(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		if r.plays(works(agent.Result{InputTokens: 3})); test.late {
			r.plays(r.loses(t, agent.Result{Text: "hi", InputTokens: 3}))
		} else {
			cancel(test.cause)
		}
		r.accept(t, message("hello"))
		err := r.Handle(ctx, r.claim(t), nil)
		cancel(nil)
		if o, usage, said := r.outcome(t), r.known(t).Usage, r.said(t); !errors.Is(err, test.want) || o.State != test.state || usage.InputTokens != test.spent || said != "" {
			t.Errorf("%s: error %v, ends as %+v, usage %+v, the chat is told %q", name, err, o, usage, said)
		}
		if test.state == domain.RunCancelled && !strings.Contains(r.next(t), domain.HintStopped) {
			t.Errorf("the next turn is told %q", r.asked()[0].Prompt)
		}
	}
}

// loses answers once another run may have the lane.
func (r *rig) loses(t *testing.T, result agent.Result) step {
	return func(context.Context, agent.Turn) (agent.Result, error) {
		r.restart(t)
		return result, nil
	}
}

// A turn that claude did not survive goes back, also from a new conversation. That its message was read in the lost one is not noted
// in the new one, however late it is.
// Behaviour: failure-told.
func TestATurnThatClaudeDidNotSurviveGoesBack(t *testing.T) {
	t.Parallel()
	unread := func(context.Context, agent.Turn) (agent.Result, error) {
		return agent.Result{}, &agent.Failure{Class: agent.Died}
	}
	for told, script := range map[string][]step{"": {fails(agent.Died)}, wording.BeganTooLong: {fails(agent.ContextOverflow), unread}} {
		synctest.Test(t, func(t *testing.T) {
			r := open(t)
			r.begin(t, agent.Result{})
			r.disk.slow = time.Second
			r.plays(script...)
			r.accept(t, message("hello"))
			failure, ok := errors.AsType[*agent.Failure](r.Handle(t.Context(), r.claim(t), nil))
			if said := r.said(t); !ok || failure.Class != agent.Died || r.outcome(t).State != "" || said != told {
				t.Errorf("error %v, ends as %+v, the chat is told %q", failure, r.outcome(t), said)
			}
			time.Sleep(time.Minute)
			if read := !r.crash(t).Head.ConsumedAt.IsZero(); read != (told == "") {
				t.Errorf("after %q it was read: %t", told, read)
			}
		})
	}
}

// A conversation that claude cannot resume is tried five times. Then the chat is told: another run would fail as well, so nobody is
// asked whether to continue. If it resumes at the last try it is answered, however many runs of its message ended with the host
// before.
// Behaviour: conversation-broken.
func TestAConversationThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	broken := fails(agent.Unresumable)
	for want, script := range map[string][]step{notices[agent.Unresumable]: {broken}, "hi": {broken, broken, broken, broken, says("hi")}} {
		synctest.Test(t, func(t *testing.T) {
			r := open(t)
			r.plays(script...)
			r.accept(t, message("hello"))
			run := r.claim(t)
			for range 8 {
				run = r.crash(t)
			}
			must(t, r.Handle(t.Context(), run, nil))
			if said, _ := r.told(t); !cmp.Equal(said, []string{want}) || !cmp.Equal(r.tries(), slices.Repeat([]string{"opus again"}, 5)) {
				t.Errorf("in the attempts %q the chat is told %q", r.tries(), said)
			}
			if prompt := r.next(t); strings.Contains(prompt, domain.HintCutOff) {
				t.Errorf("the next turn is told %q", prompt)
			}
		})
	}
}

// If a message leaves Claude nothing to read, the chat is told why at once, and Claude with the next message. Its other
// notes keep waiting, because the run has failed.
// Behaviour: file-accept.
func TestNothingToBeRead(t *testing.T) {
	t.Parallel()
	r, m := open(t), message("")
	m.Media = []chat.Media{{Kind: chat.Image, FileName: "a.png", Problem: "is too large"}}
	r.begin(t, agent.Result{})
	must(t, r.store.Note(t.Context(), session, domain.Note{Kind: domain.NoteHint, Text: "Note: wait."}))
	r.accept(t, m)
	preview, run := r.early(t, r.claim(t), "", true)
	r.plays(says("hi"))
	before := r.known(t).Usage
	must(t, r.Handle(t.Context(), run, nil))
	sent, o := storetest.Sent(t, r.store, "telegram"), r.outcome(t)
	if len(r.asked()) != 0 || o.State != domain.RunFailed || len(sent) != 1 || sent[0].Edits != preview || sent[0].Text != o.Answer || !strings.Contains(o.Answer, "is too large") {
		t.Errorf("in %d turns %+v, sent %+v", len(r.asked()), o, sent)
	}
	if prompt := r.next(t); r.known(t).Usage.Turns != before.Turns+1 || !strings.Contains(prompt, "is too large") || !strings.Contains(prompt, "Note: wait.") {
		t.Errorf("the next turn is told %q", prompt)
	}
}

// The chat is told once how many of its messages were dropped.
// Behaviour: queue-cap-told.
func TestDroppedMessagesAreTold(t *testing.T) {
	t.Parallel()
	for dropped, want := range map[int][]string{
		0: nil,
		1: {"1 message was dropped, because too many waited. Claude is told how it began."},
		5: {"5 messages were dropped, because too many waited. Claude is told how they began."},
	} {
		r, m := open(t), message("hello")
		m.Overrides.Queue = domain.QueueOverrides{Cap: 1, Drop: domain.DropSummarize}
		for range dropped + 1 {
			r.accept(t, m)
		}
		r.plays(fails(agent.Died), says("hi"))
		if err := r.Handle(t.Context(), r.claim(t), nil); err == nil {
			t.Error("it did not fail")
		}
		must(t, r.Handle(t.Context(), r.crash(t), nil))
		if got, _ := r.told(t); !cmp.Equal(got, append(want, "hi")) {
			t.Errorf("of %d dropped messages the chat is told %q", dropped, got)
		}
	}
}
