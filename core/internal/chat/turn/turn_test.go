package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/chat/turn"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A turn that runs tools without asking says so before it begins, and does not run where it cannot.
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
		r := &fixture{mode: test.mode, results: []outcome{{result: agent.Result{Text: "hi"}}}}
		run := message(1)
		run.Head.Message = test.message
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		var want []domain.OutboxItem
		if test.want != "" {
			want = []domain.OutboxItem{{Text: test.want, Silent: true}}
		}
		if diff := cmp.Diff(want, r.posted); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(want) > 0 && !slices.Equal(r.keys, []string{"unasked:u"}) {
			t.Errorf("%s is posted as %q, so another attempt would say it again", name, r.keys)
		}
	}
	r := &fixture{mode: "bypassPermissions", postErr: errors.New("disk full")}
	if err := r.handler().Handle(t.Context(), message(1), nil); !errors.Is(err, r.postErr) || len(r.turns) > 0 {
		t.Errorf("the chat could not be told: %v, %d turns ran", err, len(r.turns))
	}
}

// Whoever is told something is told first what did not arrive; a silent turn tells nobody.
// Behaviour: dead-letter.
func TestWhatDidNotArriveIsTold(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][]domain.OutboxItem{"hi": item(turn.Undelivered([]string{"news"})), "NO_REPLY": nil} {
		r := &fixture{results: []outcome{{result: agent.Result{Text: said}}}}
		if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
			t.Fatal(err)
		}
		var got []domain.OutboxItem
		if tell := r.completed[0].Undelivered; tell != nil {
			got = tell([]domain.DeadLetter{{Text: "news"}})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", said, diff)
		}
	}
}

// Behaviour: prompt-ended, recovery-overflow, given-up.
func TestHandle(t *testing.T) {
	t.Parallel()
	answered := outcome{result: agent.Result{Text: "hi", Model: "m", InputTokens: 3}}
	deaf := message(1)
	deaf.Head.Message.Silent = true
	first := message(1)
	first.Session.ClaudeStarted = false
	copied := message(1)
	copied.Session.ClaudeStarted, copied.Session.ForkOf = false, "parent"
	silent := message(1)
	silent.Head.Message.Silent = true
	for name, test := range map[string]struct {
		run     *domain.Run
		results []outcome
		addErr  error
		state   domain.RunState
		said    []string
		turns   int
		rebound int
		notes   int // hints for the next turn
	}{
		"an answer":                  {run: message(1), results: []outcome{answered}, state: domain.RunDone, said: []string{"hi"}, turns: 1},
		"a plugin's silent turn":     {run: silent, results: []outcome{answered}, state: domain.RunDone, turns: 1},
		"a silent turn's long talk":  {run: deaf, results: []outcome{failure(agent.ContextOverflow), answered}, state: domain.RunDone, turns: 2, rebound: 1},
		"a failure is told":          {run: message(1), results: []outcome{failure(agent.Auth)}, state: domain.RunFailed, said: []string{trouble(agent.Auth)}, turns: 1},
		"a long talk begins anew":    {run: message(1), results: []outcome{failure(agent.ContextOverflow), answered}, state: domain.RunDone, said: []string{"Our conversation had become too long for the model. I began a new one and no longer know what was said before.", "hi"}, turns: 2, rebound: 1},
		"a message that is too long": {run: message(1), results: []outcome{failure(agent.ContextOverflow), failure(agent.ContextOverflow)}, state: domain.RunFailed, said: []string{"Our conversation had become too long for the model. I began a new one and no longer know what was said before.", trouble(agent.ContextOverflow)}, turns: 2, rebound: 1},
		"one that begins a session":  {run: first, results: []outcome{failure(agent.ContextOverflow)}, state: domain.RunFailed, said: []string{trouble(agent.ContextOverflow)}, turns: 1},
		"a copy of a long talk":      {run: copied, results: []outcome{failure(agent.ContextOverflow), answered}, state: domain.RunDone, said: []string{"Our conversation had become too long for the model. I began a new one and no longer know what was said before.", "hi"}, turns: 2, rebound: 1},
		"a lost transcript":          {run: message(2), results: []outcome{failure(agent.TranscriptMissing), answered}, state: domain.RunDone, said: []string{"The record of our conversation is gone from this machine. I began a new one and no longer know what was said before.", "hi"}, turns: 2, rebound: 1},
		"a required hook that fails": {run: message(1), addErr: errors.New("down"), state: domain.RunFailed, said: []string{trouble(agent.Hook)}},
		"claude always dies of it":   {run: message(10), results: []outcome{failure(agent.Died)}, state: domain.RunFailed, said: []string{trouble(agent.Died)}, turns: 1, notes: 1},
		"the host always dies of it": {run: message(11), state: domain.RunFailed, said: []string{trouble(agent.GivenUp) + ", unread"}, notes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &fixture{results: test.results, addErr: test.addErr}
			if err := r.handler().Handle(t.Context(), test.run, nil); err != nil {
				t.Fatal(err)
			}
			if len(r.completed) != 1 {
				t.Fatalf("completed %d times", len(r.completed))
			}
			c := r.completed[0]
			said := r.offered
			for _, p := range append(r.noticed, c.Items...) {
				said = append(said, p.Text)
			}
			if diff := cmp.Diff(test.said, said); diff != "" || c.State != test.state {
				t.Errorf("%s %s", c.State, diff)
			}
			if len(r.turns) != test.turns || r.rebound != test.rebound || r.consumed != test.turns {
				t.Errorf("%d turns, %d rebound, %d consumed", len(r.turns), r.rebound, r.consumed)
			}
			if test.rebound > 0 {
				if r.marked != 1 {
					t.Error("the first turn's mark is of the second session")
				}
				if again := r.turns[1]; again.Session != "fresh" || again.Started || again.ForkOf != "" || again.Again || again.UUID != "u" ||
					!strings.HasSuffix(again.Prompt, "(fresh begins)") {
					t.Errorf("the second turn is %+v", again)
				}
				if test.run.Head.ClaudeSession != "fresh" {
					t.Error("what is asked, sent and spent from then on is of the lost session")
				}
				if diff := cmp.Diff([]string{"old"}, r.retired); diff != "" {
					t.Error(diff)
				}
			}
			if len(c.Transcript) != 1 || c.Transcript[0].Role != map[domain.RunState]chat.Role{domain.RunDone: chat.Assistant, domain.RunFailed: chat.System}[test.state] {
				t.Errorf("transcript %+v", c.Transcript)
			}
			if len(c.Notes) != test.notes {
				t.Errorf("hints for the next turn: %+v", c.Notes)
			}
		})
	}
}

// A conversation that the API rejects is resumed by another process, which repairs it, and else replaced, once, if it had an answer
// before.
// Behaviour: recovery-rejected.
func TestRejected(t *testing.T) {
	t.Parallel()
	answered, rejected := outcome{result: agent.Result{Text: "hi"}}, failure(agent.Rejected)
	for name, test := range map[string]struct {
		context  int64
		results  []outcome
		sessions []string // of the turns
		said     []string
	}{
		"it is repaired":       {5000, []outcome{rejected, answered}, []string{"old", "old"}, []string{"hi"}},
		"it is not":            {5000, []outcome{rejected, rejected, answered}, []string{"old", "old", "fresh"}, []string{wording.BeganRejected, "hi"}},
		"the message is bad":   {5000, []outcome{rejected, rejected, rejected, rejected}, []string{"old", "old", "fresh", "fresh"}, []string{wording.BeganRejected, trouble(agent.Rejected)}},
		"it had no answer yet": {0, []outcome{rejected, rejected}, []string{"old", "old"}, []string{trouble(agent.Rejected)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, run := &fixture{results: test.results}, message(1)
			run.Session.ContextTokens = test.context
			if err := r.handler().Handle(t.Context(), run, nil); err != nil {
				t.Fatal(err)
			}
			var said, sessions []string
			for _, p := range append(r.noticed, r.completed[0].Items...) {
				said = append(said, p.Text)
			}
			for _, turn := range r.turns {
				sessions = append(sessions, turn.Session)
			}
			if diff := cmp.Diff(test.said, said); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.sessions, sessions); diff != "" {
				t.Errorf("conversations of the turns: %s", diff)
			}
			if len(r.retired) == 0 || r.retired[0] != "old" || !r.turns[1].Again {
				t.Errorf("no other process resumes it: %q, %+v", r.retired, r.turns[1])
			}
		})
	}
}

// What the API rejects may be a picture: the new conversation has none, even if the old one had no answer yet. Each try in the
// old one shows the same.
// Behaviour: file-inline.
func TestARejectedPictureIsLeftOut(t *testing.T) {
	t.Parallel()
	rejected := failure(agent.Rejected)
	r := &fixture{results: []outcome{rejected, rejected, {result: agent.Result{Text: "hi"}}}, pictures: []agent.Picture{{Path: "/media/p", Type: "image/png"}}}
	if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
		t.Fatal(err)
	}
	var shown []int
	for _, turn := range r.turns {
		shown = append(shown, len(turn.Pictures))
	}
	if diff := cmp.Diff([]int{1, 1, 0}, shown); diff != "" || r.turns[2].Session != "fresh" || r.completed[0].Items[0].Text != "hi" {
		t.Errorf("pictures of the turns: %s; %+v", diff, r.completed)
	}

	r = &fixture{results: []outcome{failure(agent.TranscriptMissing), {result: agent.Result{Text: "hi"}}}, pictures: r.pictures}
	if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
		t.Fatal(err)
	}
	if len(r.turns) != 2 || len(r.turns[1].Pictures) != 1 {
		t.Errorf("a conversation whose record is gone: %+v", r.turns)
	}
}

// A conversation that another one has taken the place of keeps no process behind what was left to answer in it.
// Behaviour: process-new-conversation.
func TestWhatIsAnsweredInAReplacedConversation(t *testing.T) {
	t.Parallel()
	for replaced, want := range map[bool][]string{false: nil, true: {"old"}} {
		r := &fixture{results: []outcome{{result: agent.Result{Text: "hi"}}}}
		run := message(1)
		run.Session.Replaced = replaced
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.retired); diff != "" || len(r.turns) != 1 {
			t.Errorf("replaced %t: %s", replaced, diff)
		}
	}
}

func TestWhatClaudeIsTold(t *testing.T) {
	t.Parallel()
	r := &fixture{results: []outcome{{}}, added: []hook.Added{{Prepend: "(the time)"}}}
	run := message(3)
	run.Head.ConsumedAt = time.Unix(1, 0)
	run.Head.Message.Authority = chat.Owner
	if err := r.handler().Handle(t.Context(), run, nil); err != nil {
		t.Fatal(err)
	}
	got := r.turns[0]
	got.Watcher, got.Steering, got.Asker, got.Tools = nil, nil, nil, nil
	want := agent.Turn{Key: "s", Session: "old", Started: true, Profile: agent.Profile{Model: "m"}, UUID: "u", Again: true, Prompt: "[host] hello (the time)", Authority: chat.Owner}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The history and whoever waits for the turn have what the chat sees: nothing of what is meant for the host, and so nothing of
// what is said in order to say nothing.
// Behaviour: no-reply, markers.
func TestMarkersStayWithTheHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"NO_REPLY": "", "hi": "hi", "[[reply_to_current]] The chart.\nMEDIA:charts/may.png": "The chart.",
	} {
		for _, silent := range []bool{false, true} {
			r := &fixture{results: []outcome{{result: agent.Result{Text: text}}}}
			run := message(1)
			run.Head.Message.Silent = silent
			if err := r.handler().Handle(t.Context(), run, nil); err != nil {
				t.Fatal(err)
			}
			c := r.completed[0]
			if c.Answer != want {
				t.Errorf("%q, silent %t: the answer is %q", text, silent, c.Answer)
			}
			if entries := c.Transcript; want == "" && len(entries) > 0 || want != "" && (len(entries) != 1 || entries[0].Text != want) {
				t.Errorf("%q, silent %t: the history has %+v", text, silent, entries)
			}
		}
	}
}

// The host's own housekeeping asks no hooks, is not steered, and troubles the chat only if somebody there asked for it.
// Behaviour: memory-flush-when.
func TestHousekeeping(t *testing.T) {
	t.Parallel()
	for _, origin := range []domain.Origin{domain.OriginFlush, domain.OriginCompact} {
		r := &fixture{results: []outcome{failure(agent.Server)}, addErr: errors.New("a hook is down")}
		run := message(1)
		run.Head.Message.Origin = origin
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		if r.turns[0].Steering != nil {
			t.Error("it can be steered")
		}
		c := r.completed[0]
		if told := origin == domain.OriginCompact; c.State != domain.RunFailed || (len(c.Items) != 0) != told || c.Turn.Flush != (origin == domain.OriginFlush) {
			t.Errorf("%s: %+v", origin, c)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	run := message(1)
	run.Lane, run.Head.Message.Command = domain.ControlLane, &domain.Command{Name: "status"}
	for name, test := range map[string]struct {
		answer string
		err    error
		state  domain.RunState
		pieces int
	}{
		"an answer": {answer: "fine", state: domain.RunDone, pieces: 1},
		"no answer": {state: domain.RunDone},
		"a failure": {answer: "it failed", err: errors.New("why"), state: domain.RunFailed, pieces: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &fixture{command: test.answer, cmdErr: test.err}
			if err := r.handler().Handle(t.Context(), run, nil); err != nil {
				t.Fatal(err)
			}
			if c := r.completed[0]; c.State != test.state || len(c.Items) != test.pieces || len(r.turns) != 0 {
				t.Errorf("%+v, %d turns", c, len(r.turns))
			}
		})
	}
}

// Behaviour: prompt-ended.
func TestTheEndOfAContext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cause     error
		err       error
		cancelled bool
	}{
		"stopped":        {cause: agent.ErrStopped, err: agent.ErrStopped, cancelled: true},
		"the host's end": {cause: agent.ErrShutdown, err: agent.ErrShutdown},
		"a lost lane":    {cause: domain.ErrFenced, err: domain.ErrFenced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &fixture{results: []outcome{{result: agent.Result{InputTokens: 3}, err: errBlocks}}}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(test.cause)
			if err := r.handler().Handle(ctx, message(1), nil); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if lost := errors.Is(test.cause, domain.ErrFenced); (r.spent == 3) != lost {
				t.Errorf("spent %d", r.spent)
			}
			if test.cancelled {
				if len(r.completed) != 1 || r.completed[0].State != domain.RunCancelled || len(r.completed[0].Items) != 0 ||
					len(r.completed[0].Notes) != 1 || r.completed[0].Notes[0].Text != domain.HintStopped {
					t.Errorf("completed %+v", r.completed)
				}
			} else if len(r.completed) != 0 {
				t.Errorf("completed %+v, want the run to go back", r.completed)
			}
		})
	}
}

// Behaviour: failure-told.
func TestATurnThatClaudeDidNotSurviveGoesBack(t *testing.T) {
	t.Parallel()
	r := &fixture{results: []outcome{failure(agent.Died)}}
	var f *agent.Failure
	if err := r.handler().Handle(t.Context(), message(1), nil); !errors.As(err, &f) || f.Class != agent.Died {
		t.Error(err)
	}
	if len(r.completed) != 0 {
		t.Errorf("completed %+v", r.completed)
	}
}

// A conversation that claude cannot resume is tried five times, and then the chat is told: another run would fail as well,
// so nobody is asked whether to continue.
// Behaviour: conversation-broken.
func TestAConversationThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fixture{results: slices.Repeat([]outcome{failure(agent.Unresumable)}, 5)}
		if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
			t.Fatal(err)
		}
		c := r.completed[0]
		if diff := cmp.Diff(item(trouble(agent.Unresumable)), c.Items); diff != "" || c.State != domain.RunFailed || len(c.Notes)+len(r.offered) != 0 {
			t.Errorf("%+v, offered %q: %s", c, r.offered, diff)
		}
		for _, tried := range r.turns {
			if tried.Again {
				t.Errorf("it is tried again, though claude never got the message")
			}
		}
	})
}

// A conversation that resumes at the last try is answered, however many runs of its message ended with the host before.
// Behaviour: conversation-broken.
func TestAConversationThatIsResumedAtLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &fixture{results: append(slices.Repeat([]outcome{failure(agent.Unresumable)}, 4), outcome{result: agent.Result{Text: "hi"}})}
		if err := r.handler().Handle(t.Context(), message(9), nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(item("hi"), r.completed[0].Items); diff != "" {
			t.Error(diff)
		}
	})
}

func TestABeginningAnewIsToldAlsoWhereTheTurnGoesBack(t *testing.T) {
	t.Parallel()
	r := &fixture{results: []outcome{failure(agent.ContextOverflow), failure(agent.Died)}}
	if err := r.handler().Handle(t.Context(), message(1), nil); err == nil || len(r.completed) != 0 {
		t.Fatalf("error %v, completed %+v", err, r.completed)
	}
	if len(r.noticed) != 1 {
		t.Errorf("the chat is told %+v", r.noticed)
	}
}

func TestALostLaneDropsTheResult(t *testing.T) {
	t.Parallel()
	r := &fixture{results: []outcome{{result: agent.Result{InputTokens: 3}}}, refuse: domain.ErrFenced}
	if err := r.handler().Handle(t.Context(), message(1), nil); !errors.Is(err, domain.ErrFenced) {
		t.Error(err)
	}
	if r.spent != 3 {
		t.Errorf("spent %d, want what it cost all the same", r.spent)
	}
}

// Where there is nothing for Claude to read the chat is told why, and Claude with what comes next. What else waits to be told to it
// goes on waiting: the run has failed.
// Behaviour: file-accept.
func TestNothingToBeRead(t *testing.T) {
	t.Parallel()
	r := &fixture{unusable: &prompt.Unusable{Reply: "I could not take it.", Event: "A file was sent."}}
	run := message(1)
	run.Preview = 5
	if err := r.handler().Handle(t.Context(), run, nil); err != nil {
		t.Fatal(err)
	}
	if len(r.turns) != 0 || len(r.completed) != 1 {
		t.Fatalf("%d turns, completed %+v", len(r.turns), r.completed)
	}
	c := r.completed[0]
	if c.State != domain.RunFailed || len(c.Items) != 1 || c.Items[0].Text != "I could not take it." || c.Items[0].Edits != 5 || c.Turn != nil {
		t.Errorf("completed %+v", c)
	}
	if len(c.Notes) != 1 || c.Notes[0].Kind != domain.NoteEvent || c.Notes[0].Text != "A file was sent." {
		t.Errorf("noted %+v", c.Notes)
	}
}

// The chat is told once how many of its messages were dropped.
// Behaviour: queue-cap-told.
func TestDroppedMessagesAreTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dropped int
		want    string
	}{
		"none": {},
		"one":  {dropped: 1, want: "1 message was dropped, because too many waited. Claude is told how it began."},
		"many": {dropped: 5, want: "5 messages were dropped, because too many waited. Claude is told how they began."},
	} {
		r := &fixture{results: []outcome{{result: agent.Result{Text: "hi"}}}}
		run := message(1)
		run.Dropped = test.dropped
		if err := r.handler().Handle(t.Context(), run, nil); err != nil {
			t.Fatal(err)
		}
		var want []string
		if test.want != "" {
			want = []string{test.want}
		}
		var got []string
		for _, p := range r.posted {
			got = append(got, p.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(want) > 0 && !slices.Equal(r.keys, []string{fmt.Sprint("dropped for run ", run.ID)}) {
			t.Errorf("%s: it is %q, so that another run would say it again", name, r.keys)
		}
	}
}
