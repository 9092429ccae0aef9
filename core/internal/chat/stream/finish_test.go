package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// visibleIn returns what people see of items, in order.
func visibleIn(items []domain.OutboxItem) (list []string) {
	for _, item := range items {
		if item.Text != "" || len(item.Media) == 0 {
			list = append(list, item.Text)
		}
		for _, m := range item.Media {
			list = append(list, m.FileName)
		}
	}
	return list
}

// Behaviour: answer-restarted.
func TestFinishSendsWhatTheChatDoesNotHave(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text       string
		said       string // by an earlier attempt
		preview    int64
		done       []agent.Step
		head, tail string
		want       []string
	}{
		"nothing was sent":           {text: "One", want: []string{"Bot: One"}},
		"nothing was sent, and more": {text: "One", head: "_head_", tail: "_tail_", want: []string{"Bot: _head_\n\nOne\n\n_tail_"}},
		"a part":                     {text: "One\n\nTwo", said: "One", tail: "_tail_", want: []string{"Two\n\n_tail_"}},
		"in code":                    {text: "```go\na\nb\n```", said: "```go\na", want: []string{"```go\nb\n```"}},
		"all":                        {text: "One", said: "One", head: "_head_"},
		"all but the tail":           {text: "One", said: "One", tail: "_tail_", want: []string{"_tail_"}},
		"all, by an earlier text":    {text: "One", said: "One", done: []agent.Step{{Text: "One"}}},
		"another":                    {text: "One", said: "Two", want: []string{"_The answer began again:_\n\nOne"}},
		"something before":           {text: "One", said: "Ze", done: []agent.Step{{Text: "Zero"}}, want: []string{"ro", "One"}},
		"silence":                    {preview: 3, want: []string{""}},
		"a file at the end":          {text: "One\nMEDIA:/a", tail: "_tail_", want: []string{"Bot: One\n\n_tail_"}},
		"a file":                     {text: "One\nMEDIA:/a\nTwo", want: []string{"Bot: One", "Two"}},
	} {
		o := stream.Options{Prefix: "Bot:", Rule: chunk.Rule{Limit: chat.TextLimit{Max: 100, Unit: chat.Runes}}}
		s := stream.New(o, &fixture{}, &domain.Run{Said: tt.said, Preview: tt.preview})
		s.Progress(agent.Progress{Done: tt.done})
		s.End()
		got := s.Finish(answer.Parse(tt.text, true), stream.Rest{Head: tt.head, Tail: tt.tail})
		if diff := cmp.Diff(tt.want, visibleIn(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if tt.preview != 0 && got[0].Edits != tt.preview {
			t.Errorf("%s: the preview stays: %+v", name, got)
		}
	}
}

// Files stand where the text says; those of what was said come first.
// Behaviour: files-place.
func TestFinishPlacesFiles(t *testing.T) {
	t.Parallel()
	a := answer.Parse("MEDIA:/zero\nOne.\nMEDIA:/one\n\nTwo.\nMEDIA:/two\nMEDIA:/three\nThree.", true)
	var files []stream.Placed
	for _, m := range a.Media {
		files = append(files, stream.Placed{At: m.At, Media: []chat.Media{{FileName: m.Path}}})
	}
	for name, tt := range map[string]struct {
		run  domain.Run
		done []agent.Step
		want []string
	}{
		"nothing was sent":        {run: domain.Run{Preview: 3}, want: []string{"/zero", "_head_\n\nOne.", "/one", "Two.", "/two", "/three", "Three.\n\n_tail_"}},
		"a part":                  {run: domain.Run{Said: "One."}, want: []string{"/zero", "/one", "_head_\n\nTwo.", "/two", "/three", "Three.\n\n_tail_"}},
		"a part, and some of it":  {run: domain.Run{Said: "One.\n\nTw"}, want: []string{"/zero", "/one", "_head_\n\no.", "/two", "/three", "Three.\n\n_tail_"}},
		"all":                     {run: domain.Run{Said: a.Text}, want: []string{"/zero", "/one", "/two", "/three", "_head_\n\n_tail_"}},
		"all, by an earlier text": {domain.Run{Said: a.Text}, []agent.Step{{Text: a.Text}}, []string{"/zero", "/one", "/two", "/three", "_head_\n\n_tail_"}},
	} {
		s := stream.New(stream.Options{Rule: chunk.Rule{Limit: chat.TextLimit{Max: 200, Unit: chat.Runes}}}, &fixture{}, &tt.run)
		s.Progress(agent.Progress{Done: tt.done})
		s.End()
		got := s.Finish(a, stream.Rest{Head: "_head_", Tail: "_tail_", Files: files})
		if diff := cmp.Diff(tt.want, visibleIn(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if tt.run.Preview != 0 && (got[0].Edits != tt.run.Preview || !got[0].OrSend) {
			t.Errorf("%s: the preview stays: %+v", name, got)
		}
	}
}

// The answer of a long turn is a new message, if the preview can be deleted.
// Behaviour: preview-notify.
func TestTheAnswerOfALongTurnIsANewMessage(t *testing.T) {
	t.Parallel()
	text := []domain.OutboxItem{{Text: "hello there"}}
	edited := []domain.OutboxItem{{Text: "hello there", Edits: 5, OrSend: true}}
	for name, test := range map[string]struct {
		after, took time.Duration
		preview     int64
		lasting     bool // it cannot be deleted
		items, want []domain.OutboxItem
	}{
		"a long turn":             {after: time.Minute, took: time.Minute, preview: 5, items: text, want: append(text, domain.OutboxItem{Edits: 5})},
		"a short turn":            {after: time.Minute, took: 59 * time.Second, preview: 5, items: text, want: edited},
		"never":                   {took: time.Hour, preview: 5, items: text, want: edited},
		"it cannot be deleted":    {after: time.Minute, took: time.Minute, preview: 5, lasting: true, items: text, want: edited},
		"nothing is shown":        {after: time.Minute, took: time.Minute, items: text, want: text},
		"there is nothing to say": {after: time.Minute, took: time.Minute, preview: 5, want: []domain.OutboxItem{{Edits: 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := stream.Options{NotifyAfter: test.after, Began: time.Now().Add(-test.took)}
				s := stream.New(o, &fixture{deletes: !test.lasting}, &domain.Run{Preview: test.preview})
				got := s.Replace(append([]domain.OutboxItem(nil), test.items...))
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// The time for which a turn waits for people is known, also if it waits for several of them, or ends meanwhile.
// Behaviour: turn-summary.
func TestTheTimeThatPeopleTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := stream.New(stream.Options{}, &fixture{}, &domain.Run{})
		pass(time.Minute)
		s.Pause()
		pass(time.Minute)
		s.Pause()
		s.Resume()
		pass(time.Minute)
		s.Resume()
		pass(time.Minute)
		if got := s.Waited(); got != 2*time.Minute {
			t.Errorf("waited %v", got)
		}
		s.Pause()
		pass(time.Minute)
		if got := s.Waited(); got != 3*time.Minute {
			t.Errorf("waited %v, and still waits", got)
		}
		if got := s.Again(stream.Options{}).Waited(); got != 3*time.Minute {
			t.Errorf("in a new conversation it has waited %v", got)
		}
	})
}

// What an interrupted turn has shown of its answer stays, in place of the preview.
// Behaviour: preview-left.
func TestWhatWasShownOfAnInterruptedAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode stream.Mode
		turn func(u *turn)
		want string
	}{
		"a preview":             {stream.Preview, func(u *turn) { u.write("One") }, "One"},
		"more than the preview": {stream.Preview, func(u *turn) { u.write("One", " two") }, "One two"},
		"tools only":            {stream.Preview, func(u *turn) { u.use(bash("make")); pass(time.Second) }, ""},
		"a draft":               {stream.Draft, func(u *turn) { u.write("One") }, "One"},
		"blocks":                {stream.Blocks, func(u *turn) { u.write("One") }, ""},
		"nothing":               {stream.Preview, func(*turn) {}, ""},
		"what goes on":          {stream.Preview, func(u *turn) { u.resume("One.\n\n", 7); u.write("One.\n\nTwo") }, "Two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, stream.Options{Mode: tt.mode})
				tt.turn(u)
				u.stream.End()
				if got := u.stream.Shown(); got != tt.want {
					t.Errorf("shown %q, want %q", got, tt.want)
				}
				left := u.stream.ReplaceQuietly([]domain.OutboxItem{{Text: tt.want}})
				if preview := u.fixture.preview; len(left) != 1 || left[0].Edits != preview || left[0].OrSend != (preview != 0) {
					t.Errorf("left is %+v, the preview is %d", left, preview)
				}
			})
		})
	}
}
