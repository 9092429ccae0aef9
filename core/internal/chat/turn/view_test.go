package turn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// early has an earlier attempt of a run show a preview, if it is to, after a part of the answer. It returns the preview and the run's
// next attempt.
func (r *rig) early(t *testing.T, run *domain.Run, said string, shows bool) (preview int64, again *domain.Run) {
	t.Helper()
	sent := domain.Early{Said: said}
	if said != "" {
		sent.Items = []domain.OutboxItem{{To: run.Head.Message.Address(), Text: said}}
	}
	if shows {
		sent.Preview = &domain.OutboxItem{To: run.Head.Message.Address(), Text: "…"}
	}
	preview, err := r.store.Early(t.Context(), run.ID, sent)
	must(t, err)
	for range len(sent.Items) + min(1, int(preview)) {
		list, err := r.store.ClaimDeliveries(t.Context(), "telegram", 1)
		must(t, err)
		must(t, r.store.Delivered(t.Context(), list[0].ID, []chat.MessageID{"m"}))
	}
	return preview, r.crash(t)
}

// What earlier attempts have sent of an answer is not sent again, and the preview becomes the answer.
// Behaviour: preview-tools, preview-left.
func TestPreviewAtTheEndOfATurn(t *testing.T) {
	t.Parallel()
	answered, shown, gone := says("hello there"), domain.OutboxItem{OrSend: true}, domain.OutboxItem{}
	with := func(item domain.OutboxItem, text string) []domain.OutboxItem {
		item.Text = text
		return []domain.OutboxItem{item}
	}
	for name, test := range map[string]struct {
		said    string
		preview bool
		script  []step
		cause   error
		want    []domain.OutboxItem // with preview they edit it, but for those after the first
		state   domain.RunState
		history int // entries after that of the message
	}{
		"an answer":             {preview: true, script: []step{answered}, want: with(shown, "hello there"), state: domain.RunDone, history: 1},
		"no preview":            {script: []step{answered}, want: with(gone, "hello there"), state: domain.RunDone, history: 1},
		"the rest of an answer": {said: "hello", preview: true, script: []step{answered}, want: with(shown, "there"), state: domain.RunDone, history: 1},
		"all was sent":          {said: "hello there", script: []step{answered}, state: domain.RunDone, history: 1},
		"a silent answer":       {preview: true, script: []step{says("NO_REPLY")}, want: with(gone, ""), state: domain.RunDone},
		"a failure":             {preview: true, script: []step{fails(agent.Server)}, want: with(shown, notices[agent.Server]), state: domain.RunFailed, history: 1},
		"stopped":               {preview: true, script: []step{works(agent.Result{})}, cause: agent.ErrStopped, want: with(gone, ""), state: domain.RunCancelled, history: 1},
		"interrupted":           {preview: true, script: []step{works(agent.Result{})}, cause: domain.ErrFenced, want: with(gone, "")},
		"nothing is shown":      {script: []step{works(agent.Result{})}, cause: domain.ErrFenced},
		"the host's end":        {preview: true, script: []step{works(agent.Result{})}, cause: agent.ErrShutdown},
		"a lost conversation": {
			said: "hello", preview: true, script: []step{fails(agent.TranscriptMissing), answered},
			want: append(with(gone, ""), domain.OutboxItem{Text: wording.BeganLost}, domain.OutboxItem{Text: "hello there"}), state: domain.RunDone, history: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			r.plays(test.script...)
			r.accept(t, message("hi"))
			preview, run := r.early(t, r.claim(t), test.said, test.preview)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.cause != nil {
				cancel(test.cause)
			}
			if err := r.Handle(ctx, run, nil); (err != nil) != (test.cause != nil) {
				t.Fatal(err)
			}
			for i := range test.want {
				test.want[i].To = run.Head.Message.Address()
			}
			if test.preview && len(test.want) > 0 {
				test.want[0].Edits = preview
			}
			if diff := cmp.Diff(test.want, storetest.Sent(t, r.store, "telegram")); diff != "" {
				t.Error(diff)
			}
			if o, history := r.outcome(t), r.history(t); o.State != test.state || len(history) != test.history+min(1, len(o.State)) {
				t.Errorf("%+v: %+v", o, history)
			}
		})
	}
}

// A run that is given up is offered to be continued, where somebody wrote its message and can be asked; what its attempts have
// shown goes.
// Behaviour: given-up, preview-left.
func TestARunThatIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*rig, *domain.Message)
		want   string // the text that takes the preview's place; empty: it is deleted
		asked  bool
		stays  bool // the preview
	}{
		"a person's":          {change: func(*rig, *domain.Message) {}, asked: true},
		"nobody can be asked": {change: func(r *rig, _ *domain.Message) { r.disk.full.Store(true) }, want: notices[agent.GivenUp]},
		"a plugin's":          {change: func(_ *rig, m *domain.Message) { m.Origin = domain.OriginPlugin }, want: notices[agent.GivenUp]},
		"a heartbeat's":       {change: func(_ *rig, m *domain.Message) { m.Origin = domain.OriginHeartbeat }, stays: true},
		"a silent one":        {change: func(_ *rig, m *domain.Message) { m.Silent = true }},
	} {
		r, m := open(t), message("hello")
		test.change(r, &m)
		r.accept(t, m)
		run := r.claim(t)
		for range 9 {
			run = r.crash(t)
		}
		preview, run := r.early(t, run, "", true)
		must(t, r.Handle(t.Context(), run, nil))
		var want []domain.OutboxItem
		if !test.stays {
			want = []domain.OutboxItem{{To: m.Address(), Text: test.want, Edits: preview, OrSend: test.want != ""}}
		}
		sent := storetest.Sent(t, r.store, "telegram")
		if test.asked {
			if len(sent) == 0 || !strings.HasPrefix(sent[0].Text, notices[agent.GivenUp]) {
				t.Fatalf("%s: sent %+v", name, sent)
			}
			sent = sent[1:]
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Whoever continues a run that was given up has its message repeated, or the work continued if Claude has read that.
// Behaviour: given-up.
func TestARunThatIsContinued(t *testing.T) {
	t.Parallel()
	for read, want := range map[bool]string{false: "hello", true: "Go on from where you left off."} {
		r := open(t)
		r.plays(fails(agent.Died))
		r.accept(t, message("hello"))
		run := r.claim(t)
		for run.Head.Attempts < 10 || !read && run.Head.Attempts < 11 {
			run = r.crash(t)
		}
		must(t, r.Handle(t.Context(), run, nil))
		open, err := r.store.Questions(t.Context())
		if err != nil || len(open) != 1 {
			t.Fatalf("asked %+v, %v", open, err)
		}
		bob := chat.Caller{Session: session, Address: message("").Address(), Kind: chat.Direct, Sender: chat.Sender{ID: "bob"}, Authority: chat.Other}
		if _, _, err := r.questions.Answer(t.Context(), bob, open[0].ID, "go"); err != nil {
			t.Fatal(err)
		}
		if got := r.claim(t).Head.Message.Text; got != want {
			t.Errorf("read %t: it continues with %q", read, got)
		}
	}
}

// The files of an answer are noted with it, and removed only once it is durable.
// Behaviour: files-out-once.
func TestTheFilesOfAnAnswer(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.report(chat.Limits{MediaOut: []chat.MediaLimit{{Kind: chat.File, MaxBytes: 1000}}})
	r.begin(t, agent.Result{})
	folder := filepath.Join(r.workspace, outgoing.Folder(r.known(t).ClaudeSession))
	for name, content := range map[string]string{"a.txt": "a file", "empty.txt": ""} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	left := func() []string {
		list, err := filepath.Glob(folder + "/*")
		must(t, err)
		return list
	}
	r.plays(r.loses(t, agent.Result{Text: "here it is"}), says("here it is"))
	r.accept(t, message("send it"))
	if err := r.Handle(t.Context(), r.claim(t), nil); !errors.Is(err, domain.ErrFenced) || len(left()) != 2 {
		t.Errorf("%v, there are left %q", err, left())
	}
	must(t, r.Handle(t.Context(), r.claim(t), nil))
	sent := storetest.Sent(t, r.store, "telegram")
	if len(sent) != 3 || len(sent[1].Media) != 1 || !strings.Contains(sent[2].Text, "empty.txt") || !cmp.Equal(left(), []string{folder + "/empty.txt"}) {
		t.Errorf("sent %+v, there are left %q", sent, left())
	}
	r.plays(says("more"))
	r.do(t, message("and more"))
	if got := r.said(t); got != "more" {
		t.Errorf("then it sends %q", got)
	}
}
